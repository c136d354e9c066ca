"""How far clean heads go, by route and dtype, and what share of planted faults is refused."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attnscope.core.arithmetic import Arithmetic
from attnscope.core.certificate import Certificate, certify
from attnscope.core.masks import causal, window
from attnscope.core.scoring import Scoring
from attnscope.core.verdict import THRESHOLDS

SIZES = ((29, 16), (131, 64), (400, 128))  # tokens, head width
PEAKED = (0.3, 1.0, 4.0, 16.0)  # from flat rows to rows of one key
WINDOW = 24


def run(rounds: int) -> None:
    """Prints, for each route and dtype, how far clean heads go and the share of each fault refused."""
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64):
        for route in ("sdpa", "eager"):
            clean, faults = [], {}
            for seed in range(min(rounds, 3)):
                for q, k, v, peaked in _calls(seed, dtype):
                    out = _out(route, q, k, v)
                    clean.append(certify(q, k, v, out, _right(route, dtype), seed=seed, route=route))
                    if peaked == 4.0 and q.shape[2] > 100:  # neither flat nor of one key, and rows enough
                        for name, found in _faults(q, k, v, out, _right(route, dtype), seed):
                            faults.setdefault(name, []).append(found)
            _print(f"{str(dtype)[6:]}, {route}", dtype, clean, faults)


def _calls(seed: int, dtype: torch.dtype) -> Iterator[tuple[Tensor, Tensor, Tensor, float]]:
    own = torch.Generator().manual_seed(seed)
    for tokens, width in SIZES:
        for peaked in PEAKED:
            q, k, v = (torch.randn(1, heads, tokens, width, generator=own) for heads in (6, 3, 3))
            v = v + 2 * torch.randn(1, 3, 1, width, generator=own)  # values of a head have much in common
            yield (q * peaked).to(dtype), k.to(dtype), v.to(dtype), peaked


def _right(route: str, dtype: torch.dtype) -> Scoring:
    """The scoring that is true of a call: a window, with the roundings of the eager route."""
    half = dtype in (torch.bfloat16, torch.float16)
    arithmetic = Arithmetic(dtype, dtype, torch.float32, dtype) if half and route == "eager" else None
    return Scoring(window(WINDOW - 1), arithmetic=arithmetic)


def _out(route: str, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """What PyTorch makes of the call: its fused kernel, or the steps as model files write them."""
    place = torch.arange(q.shape[2])
    behind = place[:, None] - place
    seen = (behind >= 0) & (behind < WINDOW)
    if route == "sdpa":
        return scaled_dot_product_attention(q, k, v, attn_mask=seen, enable_gqa=True)
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    scores = ((q @ k.mT) * q.shape[-1] ** -0.5).masked_fill(~seen, torch.finfo(q.dtype).min)
    return torch.softmax(scores, dim=-1, dtype=torch.promote_types(q.dtype, torch.float32)).to(q.dtype) @ v


def _faults(
    q: Tensor, k: Tensor, v: Tensor, out: Tensor, right: Scoring, seed: int
) -> Iterator[tuple[str, Certificate]]:
    """Certificates of calls that did not happen so."""
    how, scale = right.arithmetic, q.shape[-1] ** -0.5
    wrong = {
        "scale off by 1%": (q, v, Scoring(right.mask, scale=1.01 * scale, arithmetic=how)),
        "window off by one": (q, v, Scoring(window(WINDOW), arithmetic=how)),
        "mask off by one": (q, v, Scoring(right.mask, offset=1, arithmetic=how)),
        "no window": (q, v, Scoring(causal(), arithmetic=how)),
        "heads swapped": (q.flip(1), v, right),
        "values swapped": (q, v.roll(1, 2), right),
    }
    for name, (queries, values, scoring) in wrong.items():
        yield name, certify(queries, k, values, out, scoring, seed=seed)


def _print(
    name: str, dtype: torch.dtype, clean: list[Certificate], faults: dict[str, list[Certificate]]
) -> None:
    limits = THRESHOLDS[dtype]
    largest = {key: max(float(getattr(one, key).abs().max()) for one in clean) for key in ("z", "rms", "t")}
    print(
        f"  {name:17s} clean: z {largest['z']:.2f} of {limits.z:g}, "
        f"rms {largest['rms']:.2f} of {limits.rms:g}, "
        f"t {largest['t']:.2f} of {limits.t:g}; {_refused(clean)} refused"
    )
    print("    " + "; ".join(f"{fault} {_refused(found)}" for fault, found in faults.items()))


def _refused(found: list[Certificate]) -> str:
    verdicts = [verdict for one in found for batch in one.verdict for verdict in batch]
    return f"{verdicts.count('refused') / len(verdicts):.1%}"
