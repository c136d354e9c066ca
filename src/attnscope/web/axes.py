"""What stands along the sides of a look's sites, each told once: tokens, and the picture of which they are
patches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from attnscope.models import Axis
from attnscope.models.turns import turns_of
from attnscope.recording import Site
from attnscope.recording.places import first_of, side_of
from attnscope.web.views import Views


@dataclass(eq=False)
class Axes:
    """The axes of one look by name; gathered site by site."""

    views: Views
    _known: dict[str, Axis] = field(default_factory=dict, init=False)

    def name(self, site: Site, side: str) -> str:
        """Return the name of a side of a site, "rows" or "columns"; equal ones have one name."""
        first, size = first_of(site, side), site.tq if side == "rows" else site.tk
        name = f"{side_of(site, side)}-{first}-{size}"
        if name not in self._known:
            self._known[name] = self.views.axis(site, side)
        return name

    def to_dict(self) -> dict[str, Any]:
        """Return what was gathered as JSON values."""
        return {name: _fields(axis) for name, axis in self._known.items()}


def _fields(axis: Axis) -> dict[str, Any]:
    return {
        "stack": axis.stack,
        "tokens": [{"i": i, **token} for i, token in enumerate(axis.tokens)],
        "generated": axis.generated,
        "grid": None if axis.grid is None else list(axis.grid),
        "before": axis.before,
        "turns": _turns(axis),
    }


def _turns(axis: Axis) -> list[dict[str, Any]]:
    """The turns of a chat along a side, in its own places."""
    return [{"role": turn.role, "first": turn.first, "end": turn.end} for turn in turns_of(axis.tokens)]
