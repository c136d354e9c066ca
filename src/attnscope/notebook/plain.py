"""A picture in words, for where no HTML is shown: what it is of, and where the last queries look."""

from __future__ import annotations

from attnscope.errors import AttnscopeError
from attnscope.looks.numbers import count, weight
from attnscope.models.reading import row_of
from attnscope.models.tokens import shown as written
from attnscope.web.alone.recording import Shown

_ROWS, _KEYS = 12, 3  # of the table
_WORD = 16  # characters of a token


def table(made: Shown) -> str:
    """Return the picture as lines: what it is of, then the last queries of its first head."""
    seal = made.held.result["certificate"]
    lines = [
        f"Attention of {made.look.description.label}: {count(seal['passed'])} of {count(seal['heads'])} "
        "heads passed their certificate."
    ]
    try:
        lines += _rows(made)
    except AttnscopeError as error:  # refused, or not kept
        lines.append(str(error))
    return "\n".join([*lines, made.left] if made.left else lines)


def _rows(made: Shown) -> list[str]:
    look, site = made.look, made.look.sites[made.site]
    queries, keys = (look.axis(site, side).tokens for side in ("rows", "columns"))
    first, end = made.held.rows[made.held.places.index(made.site)]
    start = max(first, end - _ROWS)
    found = []
    for i in range(start, end):
        values = row_of(site, made.head, i, batch=look.batch)
        best = values.topk(min(_KEYS, site.tk))
        said = [
            f"{_word(dict(keys[j]), j)} {weight(w)}"
            for w, j in zip(best.values.tolist(), best.indices.tolist(), strict=True)
            if w >= 0
        ]
        found.append((_word(dict(queries[i]), i), ", ".join(said) or "sees no key"))
    wide = max(len(query) for query, _ in found)
    which = f"queries {count(start)} to {count(end - 1)}" if start else f"{count(end)} queries"
    head = f"Layer {site.layer}, head {made.head}: where {which} look"
    return [head, *(f"  {query:<{wide}}  {said}" for query, said in found)]


def _word(token: dict[str, object], at: int) -> str:
    if token["kind"] == "place" and token["text"] == str(at):
        return count(at)
    text = written(token)
    return f"{count(at)} {text if len(text) <= _WORD else text[: _WORD - 1] + '…'}"
