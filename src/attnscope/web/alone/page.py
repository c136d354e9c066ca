"""The document of a page that stands alone: HTML with its style, its script and its numbers in it.

What such a page shows stands in static/NAME.html, what it does in static/js/pages/NAME.js. It opens from a
disk, a mail or a notebook; its policy forbids every request, and every script and style but its own.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from typing import Any

from attnscope.web.alone.bundle import bundled, styles
from attnscope.web.statics import read


def alone(name: str, sheets: Sequence[str], data: Any, *, title: str, **words: str) -> str:
    """Return the document of a page. sheets: its style sheets, by their names.   data: JSON values that its
    script reads.   words: plain text for the places of the page that are called so.
    """
    style, script = styles(*(f"css/{sheet}.css" for sheet in sheets)), bundled(f"js/pages/{name}.js")
    policy = (
        f"default-src 'none'; script-src {hashed(script)}; style-src {hashed(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    told = {place: escape(text) for place, text in {"policy": policy, "title": title, **words}.items()}
    parts = {"main": read(f"{name}.html").strip(), "buttons": read("buttons.html").strip()} | told
    text = read("alone.html")
    for place, content in (parts | {"style": style, "data": json_text(data), "script": script}).items():
        text = text.replace(f"<!-- {place} -->", content, 1)
    return text


def json_text(value: Any) -> str:
    """Return JSON that cannot end the element it stands in, nor begin a comment there."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def hashed(text: str) -> str:
    """Return what a policy calls a script or a style that stands in the page: its SHA-256."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
