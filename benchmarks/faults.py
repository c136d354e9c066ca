"""Which share of planted faults the certificate refuses: real calls of tiny models, read wrongly on purpose.

Each call is recorded by the listener from a model whose attention is not flat, then certified against a
reading of it that is false in one point, while the model's own out stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from attnscope.core.bias import RelativeBias, TensorBias
from attnscope.core.certificate import certify
from attnscope.core.engine import engine_of, normaliser_of
from attnscope.core.masks import from_tensor
from attnscope.core.scoring import Bound, Scoring
from attnscope.recording.site import Site
from benchmarks.tiny import PADDED, Run, build, recorded, runs

LEAST = {torch.float32: 1e-6, torch.bfloat16: 1e-3, torch.float16: 1e-3}
"""A head in which a fault changes no weight by so much is skipped."""

PEAK, LARGEST = 5.0, 0.3  # not flat: the largest score, and the largest weight of some row, are past these


@dataclass(frozen=True, eq=False)
class Reading:
    """What is believed of a call: its q, and its scoring."""

    q: Tensor
    scoring: Scoring


@dataclass
class Share:
    """Heads in which a fault was planted. skipped: by name, those in which it changes nothing to speak of."""

    heads: int = 0
    caught: int = 0
    skipped: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Of the heads that were not skipped, how many were refused."""
        return self.caught / max(self.heads, 1)


Plant = Callable[[Site], Reading | None]


def seen_by(site: Site) -> Tensor:
    """Which cells may be seen, (b h tq tk)."""
    bound = site.bound
    grid = bound.visible.tile(slice(0, site.tq), slice(0, site.tk))
    return grid.expand(site.batch, site.heads, -1, -1)


def _with_mask(site: Site, seen: Tensor) -> Reading:
    return Reading(site.q, replace(site.scoring, mask=from_tensor(seen)))


def scale_off(site: Site) -> Reading:
    """The scale 1% too large."""
    return Reading(site.q, replace(site.scoring, scale=1.01 * site.bound.scale))


def mask_off(site: Site) -> Reading | None:
    """Every row sees one key more to its right, where it does not see all."""
    seen = seen_by(site)
    later = seen.roll(1, dims=-1)
    later[..., 0] = False
    later &= seen.any(dim=-2, keepdim=True)  # padded keys are another fault
    return _with_mask(site, seen | later) if site.stack == "decoder" and site.kind == "self" else None


def window_off(site: Site) -> Reading | None:
    """Every row sees one key more to its left, where a window ends there."""
    seen = seen_by(site)
    if site.stack != "decoder" or bool(seen[:, :, -1].sum(dim=-1).max() == site.tk):
        return None
    earlier = seen.roll(-1, dims=-1)
    earlier[..., -1] = False
    return _with_mask(site, seen | earlier)


def heads_swapped(site: Site) -> Reading:
    """The query heads in another order."""
    return Reading(site.q.flip(1), site.scoring)


def padded_key(site: Site) -> Reading | None:
    """The padded key next to the text let in, in the padded text, wherever a row may look so far."""
    seen = seen_by(site).clone()
    hidden = ~seen[1].any(dim=0).any(dim=0)  # (tk): keys of the padded text that no row sees
    if not bool(hidden.any()) or int(hidden.sum()) != PADDED:
        return None
    key = PADDED - 1 if bool(hidden[0]) else site.tk - PADDED
    rows = seen[1].any(dim=-1)  # (h tq)
    if site.stack == "decoder" and site.kind == "self":
        rows = rows & (torch.arange(site.tq) >= key)
    seen[1, :, :, key] |= rows
    return _with_mask(site, seen)


def sink_dropped(site: Site) -> Reading | None:
    """A learned sink overlooked."""
    if site.scoring.sinks is None:
        return None
    return Reading(site.q, replace(site.scoring, sinks=None))


def cap_dropped(site: Site) -> Reading | None:
    """A softcap overlooked."""
    if site.scoring.softcap is None:
        return None
    return Reading(site.q, replace(site.scoring, softcap=None))


def bias_shifted(site: Site) -> Reading | None:
    """A bias by distance, shifted by one key."""
    bias = site.scoring.bias
    if isinstance(bias, RelativeBias):
        return Reading(site.q, replace(site.scoring, bias=RelativeBias(bias.table.roll(1, -1), bias.first)))
    if isinstance(bias, TensorBias):
        return Reading(site.q, replace(site.scoring, bias=TensorBias(bias.values.roll(1, -1))))
    return None


FAULTS: dict[str, Plant] = {
    "scale 1% off": scale_off,
    "mask off by one": mask_off,
    "window off by one": window_off,
    "head order swapped": heads_swapped,
    "one padded key let in": padded_key,
    "sink dropped": sink_dropped,
    "softcap dropped": cap_dropped,
    "bias shifted by one": bias_shifted,
}


def plant(fault: str, run: Run, into: Share) -> None:
    """Certifies every site of a run against the faulty reading, and counts its heads."""
    for site in run.recording.sites:
        wrong = FAULTS[fault](site)
        if wrong is None:
            continue
        changed = _changes(site.bound, wrong.scoring.bind(wrong.q, site.k))  # (b h)
        told = certify(wrong.q, site.k, site.v, site.out, wrong.scoring, route=site.route.rsplit("/", 1)[-1])
        for b, h in (changed < LEAST[run.dtype]).nonzero().tolist():
            if fault != "one padded key let in" or b == 1:
                into.skipped.append(_name(run, site, b, h))
        for b, h in (changed >= LEAST[run.dtype]).nonzero().tolist():
            into.heads += 1
            if told.verdict[b][h] == "refused":
                into.caught += 1
            else:
                into.missed.append(_name(run, site, b, h))


def _name(run: Run, site: Site, batch: int, head: int) -> str:
    return (
        f"{run.family} {run.attention} {site.stack} {site.kind} layer {site.layer} head {head} text {batch}"
    )


def _changes(right: Bound, wrong: Bound) -> Tensor:
    """The largest difference of a weight in each head, (b h)."""
    return (_grid(right) - _grid(wrong)).abs().amax(dim=(-2, -1))


def _grid(bound: Bound) -> Tensor:
    rows, cols = slice(0, bound.shape.tq), slice(0, bound.shape.tk)
    return engine_of(bound).weights(bound, rows, cols, normaliser_of(bound))


def flat(run: Run) -> list[str]:
    """The sites of a run whose attention is flat: a fault would not show there."""
    found = []
    for site in run.recording.sites:
        some = seen_by(site).sum(dim=-1) >= 4
        grid = _grid(site.bound).amax(dim=-1)[some]
        peak = (site.normaliser.peak)[some]
        if not (float(peak.max()) > PEAK and float(grid.max()) > LARGEST):
            found.append(
                f"{run.family} {site.name}: score {float(peak.max()):.2g}, weight {float(grid.max()):.2g}"
            )
    return found


def shares(
    dtype: torch.dtype, *, length: int, families: tuple[str, ...] | None = None, seed: int = 11
) -> dict[str, Share]:
    """By fault, the heads of all families in which it was planted, each by all its attentions."""
    found = {fault: Share() for fault in FAULTS}
    for run in _texts(dtype, length, families, seed):
        for fault, into in found.items():
            plant(fault, run, into)
    return found


def _texts(dtype: torch.dtype, length: int, families: tuple[str, ...] | None, seed: int) -> Iterator[Run]:
    chosen = {} if families is None else {"families": families}
    return runs(dtype, lengths=(length,), padded=True, seed=seed, **chosen)


def dropped_out() -> list[str]:
    """The verdicts, with their reasons, of a model in training, whose attention dropout is on."""
    model = build("BERT", "sdpa", torch.float32, attention_probs_dropout_prob=0.1).train()
    sites = recorded(model, 37).sites
    return [
        f"{verdict}: {reason}"
        for site in sites
        for words, reasons in zip(site.certificate.verdict, site.certificate.reason, strict=True)
        for verdict, reason in zip(words, reasons, strict=True)
    ]


def table(found: dict[torch.dtype, dict[str, Share]]) -> list[str]:
    """The table of shares, line by line, as docs/certificate.md keeps it."""
    lines = ["| fault | dtype | heads | skipped | caught | share |", "|---|---|---|---|---|---|"]
    for fault in FAULTS:
        for dtype, by_fault in found.items():
            one = by_fault[fault]
            counts = f"{one.heads} | {len(one.skipped)} | {one.caught} | {one.share:.1%}"
            lines.append(f"| {fault} | {str(dtype)[6:]} | {counts} |")
    return lines


def run(rounds: int) -> None:
    """Prints the table of shares, and by name the heads that were skipped or missed."""
    found = {dtype: shares(dtype, length=97) for dtype in LEAST}
    print("\n".join(table(found)))
    for dtype, by_fault in found.items():
        for fault, one in by_fault.items():
            for word, names in (("skipped", one.skipped), ("missed", one.missed)):
                if names:
                    print(f"  {word}, {fault}, {str(dtype)[6:]}: {', '.join(names)}")
    print("  attention dropout left on: " + ", ".join(sorted(set(dropped_out()))))
