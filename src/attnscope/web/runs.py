"""One run of the app: a text through a model, and what the page shows of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attnscope.web.job import Job
from attnscope.web.views import Views


@dataclass(frozen=True, eq=False)
class Seen:
    """What a run gives: its result as JSON values, and its views."""

    result: dict[str, Any]
    views: Views


@dataclass(eq=False)
class Run(Job[Seen]):
    """words: "" shows tokens, "mark" words with special tokens among them, "fold" words with those as one."""

    model: str = ""
    text: str = ""
    words: str = ""

    @property
    def views(self) -> Views | None:
        """Return the views, None until it is done."""
        return None if self.found is None else self.found.views

    @property
    def nbytes(self) -> int:
        """Return about how many bytes it keeps; a character takes up to four."""
        return 4 * len(self.text) + (0 if self.views is None else self.views.nbytes)

    def to_dict(self) -> dict[str, Any]:
        """Return what the page polls, as JSON values."""
        told = super().to_dict()
        return told | {"result": None if self.found is None else self.found.result}
