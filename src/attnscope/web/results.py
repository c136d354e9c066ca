"""The result of a run as the page reads it: model, places, sites with their certificates, and what is
missing.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from attnscope.recording import Site
from attnscope.web.axes import Axes
from attnscope.web.views import Views, not_drawn


def result_of(views: Views) -> dict[str, Any]:
    """Return the result of a look as JSON values; sites are numbered in the order of the run."""
    look, axes = views.look, Axes(views)
    recording = look.recording
    sites = [_site(views, place, axes) for place in range(len(views.sites))]
    return {
        "model": look.description.to_dict(),
        "text": look.text,
        "places": axes.to_dict(),
        "unit": look.description.unit,
        "bit_equal": look.bit_equal,
        "sites": sites,
        "missing": [
            {"layer": one.layer, "name": one.name, "reason": one.reason} for one in recording.missing
        ],
        "certificate": certificate_of(views.sites, look.batch),
        "predicts": look.predicted is not None,
    }


def certificate_of(sites: list[Site], batch: int = 0) -> dict[str, Any]:
    """Return the certificate of all heads together: how many, how many passed, and the largest z seen and
    allowed.
    """
    certificates = [site.certificate for site in sites if site.certificate is not None]
    verdicts = [verdict for one in certificates for verdict in one.verdict[batch]]
    zs = [float(one.z[batch].max()) for one in certificates if one.z.numel()]
    finite = [z for z in zs if math.isfinite(z)]
    allowed = [one.thresholds.z for one in certificates]
    return {
        "heads": sum(site.heads if site.kept is None else len(site.kept) for site in sites),
        "passed": sum(verdict == "passed" for verdict in verdicts),
        "largest_z": max(finite, default=None),
        "allowed_z": min(allowed, default=None),
    }


def _site(views: Views, place: int, axes: Axes) -> dict[str, Any]:
    site, batch = views.sites[place], views.look.batch
    sight = views.sight(place)
    limits = None if site.certificate is None else asdict(site.certificate.thresholds)
    return {
        "site": place,
        "layer": site.layer,
        "kind": site.kind,
        "stack": site.stack,
        "name": site.name,
        "heads": site.heads,
        "key_heads": site.key_heads,
        "d": site.d,
        "tq": site.tq,
        "tk": site.tk,
        "rows": axes.name(site, "rows"),
        "columns": axes.name(site, "columns"),
        "offset": site.offset,
        "causal": sight.form == "causal" and not sight.padding,
        "sight": asdict(sight),
        "sinks": site.scoring.sinks is not None,
        "picture": list(views.picture_of(place).shape[1:]),
        "not_drawn": not_drawn(site),
        "keep": site.keep,
        "route": site.route,
        "dtype": str(site.dtype).removeprefix("torch."),
        "bit_exact": site.bit_exact,
        "lengths": dict(zip(("through", "why"), site.shelf.way_on, strict=True)),
        "allowed": limits,
        "entropy": _entropies(views, place),
        "certificate": [verdict_of(site, head, batch) for head in range(site.heads)],
        **views.told(place),
    }


def _entropies(views: Views, place: int) -> list[float | None]:
    """Return the mean entropy of each head over the rows that see a key; None where no row does, and of heads
    that were not kept.
    """
    site, sums = views.sites[place], views.sums(place, "entropy", "largest")
    if sums is None:
        return [None] * site.heads
    row = views.look.batch if sums["entropy"].shape[0] > 1 else 0
    entropy, seeing = sums["entropy"][row].double(), sums["largest"][row] > 0  # (h tq)
    means = (entropy.where(seeing, 0.0).sum(-1) / seeing.sum(-1)).tolist()
    kept = range(site.heads) if site.kept is None else site.kept
    found = dict(zip(kept, map(_number, means), strict=True))
    return [found.get(head) for head in range(site.heads)]


def _is_kept(site: Site, head: int) -> bool:
    return site.kept is None or head in site.kept


def seal_of(site: Site, head: int, batch: int) -> dict[str, Any]:
    """Return what goes out with every number of a head: verdict, what is allowed, how it was heard."""
    limits = site.certificate.thresholds if site.certificate is not None else None
    return {
        **verdict_of(site, head, batch),
        "allowed_z": None if limits is None else limits.z,
        "allowed_t": None if limits is None else limits.t,
        "route": site.route,
        "dtype": str(site.dtype).removeprefix("torch."),
    }


def verdict_of(site: Site, head: int, batch: int) -> dict[str, Any]:
    """Return the certificate of one head as JSON values."""
    certificate = site.certificate
    if not _is_kept(site, head):
        reason = "This head was left out when the recording was made"
        return {"verdict": "not kept", "z": None, "rms": None, "t": None, "reason": reason}
    if certificate is None:
        return {"verdict": "not certifiable", "z": None, "rms": None, "t": None, "reason": "It was not kept"}
    at = site.head_at(head)
    return {
        "verdict": certificate.verdict[batch][at],
        "z": _number(float(certificate.z[batch, at])),
        "rms": _number(float(certificate.rms[batch, at])),
        "t": _number(float(certificate.t[batch, at])),
        "reason": certificate.reason[batch][at] if certificate.reason else None,
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
