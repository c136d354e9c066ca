"""Heads as a file: the name says the form."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import torch

from attnscope.errors import RecordingError, ShapeError
from attnscope.exports.about import KEY
from attnscope.exports.plots import plot_heads
from attnscope.exports.table import csv_of, names, parquet_of, seal_of
from attnscope.exports.wanted import Place, Wanted, check_size, wanted
from attnscope.files import place_of, write_new
from attnscope.looks.drawing import figure, png, svg
from attnscope.maps import Pyramid, of_site
from attnscope.recording import Recording
from attnscope.recording.asked import Where

Form = Literal["csv", "parquet", "npz", "png", "svg"]
FORMS = ("csv", "parquet", "npz", "png", "svg")

LARGEST_TABLE = 2**22
"""Cells of a table: about 200 MB of CSV."""


def write(
    recording: Recording, path: str | Path, site: Place = None, head: int | None = None, *,
    rows: Where = None, cols: Where = None, run: int = -1, batch: int = 0, values: bool = False,
) -> Path:  # fmt: skip
    """Write heads as .csv, .parquet, .npz, .png or .svg, whole or not at all, and return the path.

    Without a site all calls of the run are meant, without a head all their heads. values: pictures of weight
    times length of value, and in tables and arrays that beside the weights. Raises RecordingError for another
    name, ShapeError for what is not there, TooLarge for more cells than one file holds, Uncertified for a
    head whose certificate was refused, NotKept where lengths of values are not known.
    """
    file = place_of(str(path), RecordingError)
    form = file.suffix.lower().removeprefix(".")
    if form not in FORMS:
        raise RecordingError(f"{file.name} has no name of an export", wanted=f"One in .{', .'.join(FORMS)}")
    asked = wanted(recording, site, head, rows=rows, cols=cols, run=run, batch=batch, values=values)
    content = encode(asked, cast(Form, form))
    write_new(file, content, RecordingError)
    return file


def encode(asked: Wanted, form: Form) -> bytes:
    """Return the bytes of a file of that form. Raises as write() does."""
    if form in ("png", "svg"):
        return _picture(asked, form)
    check_size(asked, **({} if form == "npz" else {"largest": LARGEST_TABLE}))
    return {"csv": csv_of, "parquet": parquet_of, "npz": _npz}[form](asked)


def _npz(asked: Wanted) -> bytes:
    """weights and visible (h r c) of heads of one shape, their sites, layers and numbers, rows, cols, the
    texts of both sides, and what it is as JSON; nothing in it is pickled. With `values` also value_lengths
    (h c) and weights_times_lengths (h r c).
    """
    shapes = {(site.tq, site.tk) for site, _ in asked.heads}
    if len(shapes) > 1:
        raise ShapeError(
            f"The heads have {len(shapes)} shapes", wanted="Heads of one shape", hint="Ask for one site"
        )
    first = asked.heads[0][0]
    rows, cols = asked.part(first)
    queries, keys = names(asked, first)
    grids = [site.weights(head, rows, cols, batch=asked.batch).cpu() for site, head in asked.heads]
    seen = [site.visible(head, rows, cols, batch=asked.batch).cpu() for site, head in asked.heads]
    out = io.BytesIO()
    arrays: dict[str, Any] = {
        "weights": torch.stack(grids).numpy(),
        "visible": torch.stack(seen).numpy(),
        "site": np.array([site.index for site, _ in asked.heads]),
        "layer": np.array([site.layer for site, _ in asked.heads]),
        "head": np.array([head for _, head in asked.heads]),
        "rows": np.arange(rows.start, rows.stop),
        "cols": np.arange(cols.start, cols.stop),
        "queries": np.array(queries[rows]),
        "keys": np.array(keys[cols]),
    }
    if asked.values:
        mixes = [site.mixes(head, rows, cols, batch=asked.batch) for site, head in asked.heads]
        arrays["value_lengths"] = torch.stack([one.lengths.cpu() for one in mixes]).numpy()
        arrays["weights_times_lengths"] = torch.stack([one.values.cpu() for one in mixes]).numpy()
    arrays[KEY] = np.array(seal_of(asked))
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def _picture(asked: Wanted, form: Form) -> bytes:
    from attnscope.exports.picture import Wish, draw

    seal = seal_of(asked)
    save = png if form == "png" else svg
    if len(asked.heads) > 1:
        made, ax = figure(size=(9.0, 9.0))
        plot_heads(
            asked.recording, heads=asked.heads, rows=asked.rows, cols=asked.cols, batch=asked.batch,
            values=asked.values, ax=ax,
        )  # fmt: skip
        return save(made, about=seal)
    ((site, head),) = asked.heads
    rows, cols = asked.part(site)
    pyramid = Pyramid(of_site(site, head, batch=asked.batch, values=asked.values))
    wish = Wish(rows, cols, "max", "log")
    return save(draw(asked.recording, site, pyramid, wish, head=head, batch=asked.batch), about=seal)
