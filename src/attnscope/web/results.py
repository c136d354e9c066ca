"""The result of a run as the page reads it: model, tokens, sites with their certificates, and what is
missing.
"""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from attnscope.core.certificate import Certificate
from attnscope.core.fold import Summary
from attnscope.recording import Site
from attnscope.web.views import Views


def result_of(views: Views) -> dict[str, Any]:
    """Return the result of a look as JSON values; sites are numbered in the order of the run."""
    look, sites = views.look, views.sites
    recording = look.recording
    return {
        "model": look.description.to_dict(),
        "text": look.text,
        "tokens": [{"i": i, **token} for i, token in enumerate(look.axis(sites[0], "columns").tokens)],
        "unit": look.description.unit,
        "bit_equal": look.bit_equal,
        "sites": [_site(place, site, views.summary(place)) for place, site in enumerate(sites)],
        "missing": [
            {"layer": one.layer, "name": one.name, "reason": one.reason} for one in recording.missing
        ],
        "certificate": certificate_of(sites),
        "predicts": look.predicted is not None,
    }


def certificate_of(sites: list[Site]) -> dict[str, Any]:
    """Return the certificate of all heads together: how many, how many passed, and the largest z seen and
    allowed.
    """
    verdicts = [verdict for site in sites if site.certificate for verdict in site.certificate.verdict[0]]
    zs = [
        float(site.certificate.z[0].max())
        for site in sites
        if site.certificate and site.certificate.z.numel()
    ]
    finite = [z for z in zs if math.isfinite(z)]
    allowed = [site.certificate.thresholds.z for site in sites if site.certificate]
    return {
        "heads": sum(site.heads for site in sites),
        "passed": sum(verdict == "passed" for verdict in verdicts),
        "largest_z": max(finite, default=None),
        "allowed_z": min(allowed, default=None),
    }


def _site(place: int, site: Site, summary: Summary) -> dict[str, Any]:
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
        "causal": site.seen.is_causal(site.offset or 0),
        "route": site.route,
        "dtype": str(site.dtype).removeprefix("torch."),
        "bit_exact": site.bit_exact,
        "entropy": [_mean(summary.entropy[0, head], summary.largest[0, head]) for head in range(site.heads)],
        "certificate": [_verdict(site.certificate, head) for head in range(site.heads)],
    }


def _mean(entropy: Tensor, largest: Tensor) -> float | None:
    """Return the mean entropy of the rows that see a key; None where no row does."""
    seeing = largest > 0
    return _number(float(entropy[seeing].double().mean())) if bool(seeing.any()) else None


def _verdict(certificate: Certificate | None, head: int) -> dict[str, Any]:
    if certificate is None:
        return {"verdict": "not certifiable", "z": None, "rms": None, "t": None, "reason": "It was not kept"}
    return {
        "verdict": certificate.verdict[0][head],
        "z": _number(float(certificate.z[0, head])),
        "rms": _number(float(certificate.rms[0, head])),
        "t": _number(float(certificate.t[0, head])),
        "reason": certificate.reason[0][head] if certificate.reason else None,
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
