"""What `attnscope info` says of one site, as JSON values: sizes, sight, certificate, sinks, grouped heads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import torch

from attnscope.models import axis_of
from attnscope.recording.sight import Sight, sight_of

if TYPE_CHECKING:
    from attnscope.core.certificate import Certificate
    from attnscope.recording import Recording, Site


def site_facts(recording: Recording, site: Site) -> dict[str, Any]:
    """Return what a site is, what the rows of each text of its batch see, and what is known of each head."""
    certificate = site.certificate
    kept = list(range(site.heads)) if site.kept is None else list(site.kept)
    verdicts = [] if certificate is None else [v for batch in certificate.verdict for v in batch]
    path = getattr(site.shelf, "path", None)
    sights = [sight_of(site, batch=batch) for batch in range(site.batch)]
    return {
        "name": site.name,
        "layer": site.layer,
        "kind": site.kind,
        "stack": site.stack,
        "route": site.route,
        "dtype": str(site.dtype).removeprefix("torch."),
        "batch": site.batch,
        "heads": site.heads,
        "key_heads": site.key_heads,
        "kept": kept,
        "keep": site.keep,
        "tensors": [name for name in ("q", "k", "v", "out") if name in site.shelf.names],
        "tq": site.tq,
        "tk": site.tk,
        "offset": site.offset,
        "bytes": None if path is None else path.stat().st_size,
        "bit_exact": site.bit_exact,
        "generated": axis_of(recording, site, "rows").generated,
        "sights": [asdict(sight) for sight in sights],
        "sinks": _sinks(site, sights),
        "verdicts": {word: verdicts.count(word) for word in sorted(set(verdicts))},
        "allowed": None if certificate is None else asdict(certificate.thresholds),
        "certificate": None if certificate is None else _heads(site, certificate, kept),
    }


def _heads(site: Site, certificate: Certificate, kept: list[int]) -> list[dict[str, Any]]:
    """Return every head of every text: its verdict, its figures, and the key head that it shares."""
    group = max(1, site.heads // max(1, site.key_heads))
    return [
        {
            "batch": batch,
            "head": head,
            "key_head": head // group,
            "verdict": certificate.verdict[batch][at],
            "reason": certificate.reason[batch][at],
            **{
                name: _number(float(getattr(certificate, name)[batch, at]))
                for name in ("z", "rms", "t", "scale_error")
            },
            "row": int(certificate.row[batch, at]),
            "rows": int(certificate.rows[batch, at]),
        }
        for batch in range(site.batch)
        for at, head in enumerate(kept)
    ]


def _sinks(site: Site, sights: Sequence[Sight]) -> list[float] | None:
    """Return the share of a row that goes to the learned sink, the mean of each kept head; None without.

    Rows that stand for padding are no part of it.
    """
    sinks = site.scoring.sinks
    if sinks is None:
        return None
    rows = site.normaliser
    share = ((sinks.to(rows.peak.dtype).view(1, -1, 1) - rows.peak) - rows.logsum).exp()  # (b h tq)
    texts = [share[at, :, slice(*(sight.rows or (0, site.tq)))] for at, sight in enumerate(sights)]
    return [float(mean) for mean in torch.cat(texts, dim=-1).double().mean(dim=-1)]


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
