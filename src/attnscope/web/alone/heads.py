"""The table of heads as one HTML page that opens from the disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from attnscope.errors import AttnscopeError
from attnscope.files import write_new
from attnscope.measure.files import table_data
from attnscope.web.alone.page import alone

if TYPE_CHECKING:
    from attnscope.measure import HeadTable


def write_heads(table: HeadTable, path: Path) -> Path:
    """Write the page of a table, whole or not at all, and return its path. Raises AttnscopeError."""
    write_new(path, heads_page(table).encode(), AttnscopeError)
    return path


def heads_page(table: HeadTable) -> str:
    """Return the page: classes, a scatter of any two scores, the sortable table, and the chosen head. Its
    state stands in its address, behind the #.
    """
    title = str(table.model.get("label") or table.model.get("name") or table.model.get("class") or "Heads")
    made = ", ".join(f"{name} {table.model[name]}" for name in ("attnscope", "torch") if name in table.model)
    return alone(
        "headtable",
        ("tokens", "base", "headtable"),
        table_data(table),
        title=f"{title} · heads",
        label=title,
        made=f"{made}, seed {table.seed}",
    )
