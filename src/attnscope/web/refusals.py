"""Every error of the server as one JSON shape: a title, a message, a hint, and perhaps an offer.

{"error": {"title": "412 characters, the limit is 256",
           "message": "This model reads at most 256 characters. Nothing was run.",
           "hint": "The first 256 fit",
           "offer": {"label": "Use the first 256", "text": "…"} or null}}
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from attnscope.errors import (
    AttnscopeError,
    EmptyText,
    NotKept,
    ServerError,
    TextError,
    TextTooLong,
    Uncertified,
    UnknownCharacter,
)
from attnscope.models.encoded import Codec


@dataclass(frozen=True)
class Offer:
    """A text that would work instead, and what to write on the button that takes it."""

    label: str
    text: str


class Refusal(ServerError):
    """A request that is refused with an HTTP status."""

    def __init__(self, status: int, what: str, *, wanted: str = "", hint: str = "") -> None:
        self.status = status
        super().__init__(what, wanted=wanted, hint=hint)


class Json(Response):
    """JSON in ASCII, so that no text a client sent can make an answer unwritable."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return `content` as bytes; infinities and NaN must have been made words by `plain` before."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def error_fields(error: AttnscopeError, offer: Offer | None = None) -> dict[str, Any]:
    """Return title, message, hint and offer of an error."""
    return {
        "title": error.what,
        "message": f"{error.wanted.rstrip('.')}." if error.wanted else "",
        "hint": error.hint,
        "offer": None if offer is None else {"label": offer.label, "text": offer.text},
    }


def refuse(error: AttnscopeError, offer: Offer | None = None) -> Json:
    """Return the response for an error."""
    return Json({"error": error_fields(error, offer)}, status_code=status_of(error))


def status_of(error: AttnscopeError) -> int:
    """Return the HTTP status: what a refusal says, 409 for what this run cannot show, 400 else."""
    if isinstance(error, Refusal):
        return error.status
    return 409 if isinstance(error, Uncertified | NotKept) else 400


def offer_for(error: AttnscopeError, codec: Codec, text: str) -> Offer | None:
    """Return the text that would have worked in place of `text`, where there is one."""
    if not isinstance(error, TextError) or isinstance(error, EmptyText):
        return None
    if isinstance(error, TextTooLong):
        fitting = codec.fitting(text)
        return Offer(f"Use the first {error.limit:,}", fitting) if fitting else None
    if isinstance(error, UnknownCharacter):
        mended = codec.mended(text)
        return Offer("Leave them out", mended) if mended else None
    return None
