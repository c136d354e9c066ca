"""A recording in one line: what it is of, how much it holds, what its certificates say."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attnscope.recording.recording import Recording

LONGEST = 60
"""Characters of a model's name."""


def told(recording: Recording) -> str:
    """The line, without a full stop; no tensor is read, and it says so where nothing was recorded."""
    name = str(recording.model.get("label") or recording.model.get("class") or "a model")
    begin = f"Recording of {name if len(name) <= LONGEST else name[: LONGEST - 1] + '…'}"
    if not recording.sites:
        return f"{begin}: no attention yet"
    sites = recording.sites
    runs = f"{len(recording.runs)} runs, the last of " if len(recording.runs) > 1 else ""
    texts = max(site.batch for site in sites)
    parts = [
        f"{runs}{_some(len(sites), 'call')} of attention",
        _some(sum(site.heads if site.kept is None else len(site.kept) for site in sites), "head"),
        f"{max(site.tq for site in sites):,} x {max(site.tk for site in sites):,} cells",
        *([f"{texts:,} texts"] if texts > 1 else []),
    ]
    found = Counter(
        verdict
        for site in sites
        if site.certificate is not None
        for row in site.certificate.verdict
        for verdict in row
    )
    said = ", ".join(f"{count:,} {verdict}" for verdict, count in sorted(found.items())) or "none"
    return f"{begin}: {', '.join(parts)}; certificates: {said}"


def _some(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
