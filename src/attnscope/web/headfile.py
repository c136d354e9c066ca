"""The table of heads as one HTML page that opens from the disk: nothing is asked of a network or a server."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from attnscope.errors import AttnscopeError
from attnscope.files import write_new
from attnscope.measure.files import table_data
from attnscope.web.bundle import bundled, styles
from attnscope.web.export import hashed, json_text
from attnscope.web.statics import read

if TYPE_CHECKING:
    from attnscope.measure import HeadTable

_SHEETS = [f"css/{name}.css" for name in ("tokens", "base", "headtable")]
_SCRIPT = "js/headtable.js"


def write_heads(table: HeadTable, path: Path) -> Path:
    """Write the page of a table, whole or not at all, and return its path. Raises AttnscopeError."""
    write_new(path, heads_page(table).encode(), AttnscopeError)
    return path


def heads_page(table: HeadTable) -> str:
    """Return the page: classes, a scatter of any two scores, the sortable table, and the chosen head. Its
    state stands in its address, behind the #.
    """
    style, script = styles(*_SHEETS), bundled(_SCRIPT)
    policy = (
        f"default-src 'none'; script-src {hashed(script)}; style-src {hashed(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    title = str(table.model.get("label") or table.model.get("name") or table.model.get("class") or "Heads")
    made = ", ".join(f"{name} {table.model[name]}" for name in ("attnscope", "torch") if name in table.model)
    text = read("headtable.html").replace("<!-- title -->", escape(title))
    for place, content in (
        ("policy", escape(policy)),
        ("made", escape(f"{made}, seed {table.seed}")),
        ("style", style),
        ("data", json_text(table_data(table))),
        ("script", script),
    ):
        text = text.replace(f"<!-- {place} -->", content, 1)
    return text
