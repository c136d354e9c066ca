"""A table of heads from the file that it was saved in: JSON with all that it holds, Parquet with its numbers.

Classes follow from the scores by the rules of this version.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attnscope.errors import AttnscopeError
from attnscope.files import home_made, reading
from attnscope.measure.classes import Measured, classes_of
from attnscope.measure.scores import NAMES
from attnscope.measure.table import PARTS, HeadRow, HeadTable, TextRead
from attnscope.plain import json_limit

FORMS = (".json", ".parquet")
NOT_IN_FILE = "the file does not have it"
_HINT = "attnscope heads MODEL -o heads.json makes one"


def read_table(path: str | Path) -> HeadTable:
    """The table that HeadTable.save, or `attnscope heads -o`, wrote as .json or .parquet.

    Parquet does not tell what each text gave, nor why a score has no value. Raises AttnscopeError for
    another file, for one that is not whole, and without pyarrow (Parquet).
    """
    path = home_made(path, AttnscopeError)
    form = path.suffix.lower()
    if form not in FORMS:
        raise AttnscopeError(f"{path.name} is no name of a survey", wanted="A name in .json or .parquet")
    with reading(path, AttnscopeError):
        content = path.read_bytes()
    found = _of_json(path, content) if form == ".json" else _of_parquet(path, content)
    try:
        return _table(found)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        why = f"{type(error).__name__}: {error}"[:100]
        raise AttnscopeError(
            f"{path} is no table of heads ({why})", wanted="A table that attnscope wrote", hint=_HINT
        ) from None


def _of_json(path: Path, content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise AttnscopeError(
            f"{path} is not JSON{json_limit(error)}", wanted="A table of heads", hint=_HINT
        ) from None


def _of_parquet(path: Path, content: bytes) -> dict[str, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise AttnscopeError(
            "pyarrow is not installed", wanted="pyarrow, for Parquet", hint="pip install 'attnscope[tables]'"
        ) from error
    try:
        table = parquet.read_table(pyarrow.BufferReader(content))
        about = json.loads((table.schema.metadata or {})[b"attnscope"])
    except (pyarrow.ArrowException, KeyError, ValueError, RecursionError) as error:
        raise AttnscopeError(
            f"{path} is no table of heads ({type(error).__name__})",
            wanted="A table that attnscope wrote",
            hint=_HINT,
        ) from None
    texts = [dict(zip(TextRead._fields, text, strict=False)) for text in about["texts"]]
    return {**about, "texts": texts, "heads": [_from_columns(row) for row in table.to_pylist()]}


def _from_columns(row: Mapping[str, Any]) -> dict[str, Any]:
    scores = {
        name: {"value": row[name], **{part: row.get(f"{name}_{part}") for part in PARTS}}
        for name in NAMES
        if name in row
    }
    return {**row, "order": row.get("order", 0), "scores": scores}


def _table(found: Any) -> HeadTable:
    """The table of plain values. Raises KeyError, TypeError, ValueError for others."""
    texts = tuple(_text(text) for text in found["texts"])
    rows = tuple(_row(head) for head in found["heads"])
    if not rows:
        raise ValueError("no heads")
    if len({(row.site, row.head) for row in rows}) < len(rows):
        raise ValueError("a head that is there twice")
    notes = tuple(str(note) for note in found["notes"])
    return HeadTable(rows, dict(found["model"]), texts, int(found["seed"]), notes)


def _text(text: Mapping[str, Any]) -> TextRead:
    return TextRead(str(text["kind"]), str(text["name"]), int(text["tokens"]), str(text.get("spelled", "")))


def _row(head: Mapping[str, Any]) -> HeadRow:
    scores = {name: _measured(head["scores"].get(name)) for name in NAMES}
    if all(math.isnan(one.value) for one in scores.values()) and not head["scores"]:
        raise ValueError("a head without scores")
    site, order, layer, number = (_whole(head[name]) for name in ("site", "order", "layer", "head"))
    name, kind, stack = (str(head[one]) for one in ("name", "kind", "stack"))
    return HeadRow(site, name, order, layer, number, kind, stack, classes_of(scores), scores)


def _measured(score: Mapping[str, Any] | None) -> Measured:
    if score is None:
        return Measured(reason=NOT_IN_FILE)
    numbers = {name: _number(score.get(name)) for name in ("value", *PARTS)}
    texts = tuple(_number(one) for one in score.get("texts") or ())
    reason = str(score.get("reason") or "")
    return Measured(
        **numbers, texts=texts, reason=reason or (NOT_IN_FILE if math.isnan(numbers["value"]) else "")
    )


def _number(value: Any) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r:.30} is no number")
    return float(value) if math.isfinite(value) else math.nan


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise TypeError(f"{value!r:.30} is no place")
    return value
