"""Heads as a table with a row for every visible cell: for pandas, a spreadsheet, a database.

layer, head  where it is         i, j        query and key, counted from 0
query, key   their tokens        weight      float32, as the recording gives it

With `values` two more: value_length, that of the key's value, and weight_times_length.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attnscope.errors import RecordingError
from attnscope.exports.about import KEY, about
from attnscope.exports.wanted import Wanted
from attnscope.models import axis_of
from attnscope.models.reading import HIDDEN, weights_of
from attnscope.models.tokens import raw_of
from attnscope.recording import Site

COLUMNS = ("site", "layer", "head", "i", "j", "query", "key", "weight")
OF_VALUES = ("value_length", "weight_times_length")
_BAND = 2**20  # cells that are read together


def csv_of(asked: Wanted) -> bytes:
    """Return CSV: a line that begins with # and says what it is, in JSON, then a line for each visible cell.

    Texts are quoted, so pandas.read_csv(file, comment="#", keep_default_na=False) reads it as it is. A weight
    has as many digits as bring back its float32.
    """
    lines = [f"# {KEY} {seal_of(asked)}", ",".join(_columns(asked))]
    for site, head, i, j, numbers in _cells(asked):
        queries, keys = ([_quoted(text) for text in side] for side in names(asked, site))
        place = f"{site.index},{site.layer},{head}"
        written = [column.numpy().astype(str).tolist() for column in numbers]
        cells = zip(i.tolist(), j.tolist(), map(",".join, zip(*written, strict=True)), strict=True)
        lines += [f"{place},{row},{col},{queries[row]},{keys[col]},{told}" for row, col, told in cells]
    return ("\n".join(lines) + "\n").encode()


def parquet_of(asked: Wanted) -> bytes:
    """Return Parquet; what it is stands in its schema's metadata, as JSON under "attnscope". Raises
    RecordingError without pyarrow.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise RecordingError(
            "pyarrow is not installed", wanted="pyarrow, for Parquet", hint="pip install 'attnscope[tables]'"
        ) from None
    seal = {KEY: seal_of(asked)}
    out = io.BytesIO()
    text = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    columns_of = _columns(asked)
    types = [*[pyarrow.int32()] * 5, text, text, *[pyarrow.float32()] * (len(columns_of) - 7)]
    schema = pyarrow.schema(list(zip(columns_of, types, strict=True)), metadata=seal)
    with parquet.ParquetWriter(out, schema) as writer:
        for site, head, i, j, numbers in _cells(asked):
            queries, keys = (pyarrow.array(side) for side in names(asked, site))
            same = [np.full(len(i), number, np.int32) for number in (site.index, site.layer, head)]
            places = [part.numpy().astype(np.int32) for part in (i, j)]
            words = [
                pyarrow.DictionaryArray.from_arrays(pyarrow.array(at), side)
                for at, side in zip(places, (queries, keys), strict=True)
            ]
            columns: list[Any] = [*same, *places, *words, *(column.numpy() for column in numbers)]
            writer.write_table(pyarrow.table(columns, schema=schema))
    return out.getvalue()


def seal_of(asked: Wanted) -> str:
    """Return what a file says of itself."""
    return about(asked.recording, asked.heads, batch=asked.batch, values=asked.values)


def _columns(asked: Wanted) -> tuple[str, ...]:
    return (*COLUMNS, *OF_VALUES) if asked.values else COLUMNS


def names(asked: Wanted, site: Site) -> tuple[list[str], list[str]]:
    """Return the texts of a site's queries and keys; a piece of a character as \\xE2, a special token by its
    name.
    """
    sides = (axis_of(asked.recording, site, side, batch=asked.batch).tokens for side in ("rows", "columns"))
    queries, keys = ([_text(dict(token)) for token in side] for side in sides)
    return queries, keys


def _quoted(text: str) -> str:
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def _text(token: dict[str, Any]) -> str:
    if token["kind"] in ("special", "place"):
        return str(token["text"])
    return raw_of(token).decode("utf-8", "backslashreplace")


def _cells(asked: Wanted) -> Iterator[tuple[Site, int, Tensor, Tensor, list[Tensor]]]:
    """Yield the visible cells, band after band: site, head, i, j and the numbers of each."""
    for site, head in asked.heads:
        rows, cols = asked.part(site)
        step = max(1, _BAND // max(1, cols.stop - cols.start))
        for first in range(rows.start, rows.stop, step):
            band = slice(first, min(first + step, rows.stop))
            block = weights_of(site, head, band, cols, batch=asked.batch).cpu().float()
            i, j = torch.nonzero(block != HIDDEN, as_tuple=True)
            numbers = [block[i, j]]
            if asked.values:
                mixes = site.mixes(head, band, cols, batch=asked.batch)
                numbers += [mixes.lengths.cpu().float()[j], mixes.values.cpu().float()[i, j]]
            yield site, head, i + first, j + cols.start, numbers
