"""What every export says of itself: the model, the versions that made it, and its heads' certificates."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from attnscope.plain import plain
from attnscope.recording import Recording, Site
from attnscope.recording.manifest import libraries
from attnscope.recording.mixes import meaning_of

KEY = "attnscope"
"""The name under which it stands in PNG, Parquet and NPZ."""


def certificate(site: Site, head: int, *, batch: int = 0) -> dict[str, Any] | None:
    """Return the verdict on a head with its figures and what is allowed; None where there is none."""
    found, at = site.certificate, site.head_at(head)
    if found is None:
        return None
    return {
        "verdict": found.verdict[batch][at],
        "z": float(found.z[batch, at]),
        "allowed_z": found.thresholds.z,
        "t": float(found.t[batch, at]),
        "allowed_t": found.thresholds.t,
        "reason": found.reason[batch][at],
    }


def certified(found: dict[str, Any] | None, route: str) -> str:
    """Return the certificate of a head in words, with the route by which it was heard."""
    if found is None:
        return "no certificate"
    z, t = found["z"], found["t"]
    figures = f" (residual {z:.1f}, allowed {found['allowed_z']:g}" if math.isfinite(z) else ""
    scale = f"; scale {abs(t):.1f}, allowed {found['allowed_t']:g}" if math.isfinite(t) and figures else ""
    closing = ")" if figures else ""
    return f"certificate {found['verdict']}{figures}{scale}{closing}, heard by {route}"


def about(
    recording: Recording, heads: Sequence[tuple[Site, int]], *, batch: int = 0, values: bool = False
) -> str:
    """Return model, versions and the certificate of each of these heads as one line of JSON, in ASCII; with
    `values` also what a length of its values is.
    """
    model = {name: value for name, value in recording.model.items() if name != "text"}
    told = [
        {
            "name": site.name,
            "layer": site.layer,
            "kind": site.kind,
            "stack": site.stack,
            "head": head,
            "route": site.route,
            "dtype": str(site.dtype).removeprefix("torch."),
            "certificate": certificate(site, head, batch=batch),
            **({"value_length": meaning_of(site.lengths)} if values else {}),
        }
        for site, head in heads
    ]
    return json.dumps(plain({"model": model, "versions": libraries(), "batch": batch, "heads": told}))
