"""The table of heads as a file: CSV and Parquet for other programs, JSON with everything that is known."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from attnscope.errors import AttnscopeError
from attnscope.files import write_new
from attnscope.measure.classes import RULES
from attnscope.measure.scores import SCORES
from attnscope.measure.table import HeadRow, HeadTable

FORMS = ("csv", "json", "parquet")


def save_table(table: HeadTable, path: Path) -> Path:
    """Write the table in the form that the name says, .csv, .json or .parquet, whole or not at all.

    CSV and Parquet have the columns of `HeadTable.columns`; what is undefined is an empty cell, or null.
    Raises AttnscopeError for another name, without pyarrow (Parquet), or where it cannot be written.
    """
    form = path.suffix.lower().removeprefix(".")
    if form not in FORMS:
        raise AttnscopeError(
            f"{path.name} is no name for a table", wanted="A name in .csv, .json or .parquet"
        )
    write_new(path, encoded(table, form), AttnscopeError)
    return path


def encoded(table: HeadTable, form: str) -> bytes:
    """The table as a file of one of FORMS. Raises AttnscopeError without pyarrow (Parquet)."""
    return {"csv": _csv, "json": _json, "parquet": _parquet}[form](table)


def table_data(table: HeadTable) -> dict[str, Any]:
    """The table as plain JSON values, NaN as None: model, texts, the scores and rules by name, every head."""
    return {
        "model": dict(table.model),
        "seed": table.seed,
        "texts": [text._asdict() for text in table.texts],
        "notes": list(table.notes),
        "scores": [asdict(score) for score in SCORES],
        "classes": [asdict(rule) for rule in RULES],
        "heads": [_head(row) for row in table.rows],
    }


def _head(row: HeadRow) -> dict[str, Any]:
    flat = {name: getattr(row, name) for name in ("site", "name", "order", "layer", "head", "kind", "stack")}
    scores = {name: _finite(asdict(one)) for name, one in row.scores.items()}
    return {**flat, "classes": list(row.classes), "scores": scores}


def _json(table: HeadTable) -> bytes:
    return (json.dumps(table_data(table), ensure_ascii=False, allow_nan=False, indent=1) + "\n").encode()


def _csv(table: HeadTable) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, table.columns, lineterminator="\n")
    writer.writeheader()
    for row in table.rows:
        writer.writerow({name: "" if _is_nan(x) else x for name, x in row.to_dict().items()})
    return out.getvalue().encode()


def _parquet(table: HeadTable) -> bytes:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise AttnscopeError(
            "pyarrow is not installed", wanted="pyarrow, for Parquet", hint="pip install 'attnscope[tables]'"
        ) from error
    rows = [row.to_dict() for row in table.rows]
    columns = {name: [None if _is_nan(row[name]) else row[name] for row in rows] for name in table.columns}
    about = {
        "model": dict(table.model),
        "seed": table.seed,
        "texts": list(table.texts),
        "notes": list(table.notes),
    }
    made = pyarrow.table(columns).replace_schema_metadata({"attnscope": json.dumps(about)})
    out = io.BytesIO()
    parquet.write_table(made, out)
    return out.getvalue()


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if _is_nan(value) else value


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)
