"""What `attnscope look` prints, as plain data: a row of weights with its tokens, or one cell's arithmetic."""

from __future__ import annotations

from typing import Any

from attnscope.core.fold import summarize
from attnscope.errors import NotKept, ShapeError
from attnscope.exports.about import certificate
from attnscope.models import Look
from attnscope.models.reading import HIDDEN, row_of
from attnscope.models.words import Specials, word_weights, words_of
from attnscope.recording import Recording, Site
from attnscope.recording.mixes import meaning_of, name_of
from attnscope.recording.refusals import not_measured


def position(given: int, size: int, what: str) -> int:
    """Return a position counted from 0, where -1 was the last; ShapeError outside the text."""
    at = given + size if given < 0 else given
    if not 0 <= at < size:
        raise ShapeError(
            f"There is no {what} {given}", wanted=f"0 to {size - 1}, or -1 for the last to -{size}, is wanted"
        )
    return at


STACKS = {"encoder": ("encoder", "self"), "decoder": ("decoder", "self"), "cross": ("decoder", "cross")}
"""What --stack means: the stack and the kind of attention."""


def site(recording: Recording, layer: int, stack: str | None = None) -> Site:
    """Return the attention of a layer, counted from 0; ShapeError where the model has none, NotKept where it
    could not be shown. `stack` is one of STACKS; None is a model's only one, or the decoder's own.
    """
    sites = recording.sites
    there = [name for name, place in STACKS.items() if any((s.stack, s.kind) == place for s in sites)]
    chosen = stack if stack is not None else there[0] if len(there) == 1 else "decoder"
    if chosen not in there:
        raise ShapeError(f"There is no attention {chosen!r} here", wanted=f"{' or '.join(there)} is wanted")
    of_stack = [s for s in sites if (s.stack, s.kind) == STACKS[chosen]]
    layers = sorted({s.layer for s in of_stack})
    for one in recording.missing:
        if one.layer == layer and layer not in layers:
            raise NotKept(f"Layer {layer} cannot be shown", wanted=one.reason)
    if layer not in layers:
        raise ShapeError(f"There is no layer {layer}", wanted=f"{_listed(layers)} is wanted")
    return next(s for s in of_stack if s.layer == layer)


def check_head(site: Site, head: int) -> None:
    """Refuse a head that is not there; heads are counted from 0, as layers are."""
    if not 0 <= head < site.heads:
        raise ShapeError(f"There is no head {head}", wanted=f"{_listed(list(range(site.heads)))} is wanted")


def _listed(numbers: list[int]) -> str:
    """Return numbers in words: 0 to 5, or each of them where there are gaps."""
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]} to {numbers[-1]}"
    *first, last = map(str, numbers)
    return f"{', '.join(first)} or {last}" if first else last


def row(
    look: Look, site: Site, head: int, i: int, *, top: int | None = None, values: bool = False
) -> dict[str, Any]:
    """Return the weights of query `i` with their tokens; a weight is None where the key is not visible. With
    `values` also the length of each key's value and weight times that, of which the top are then taken.

    Raises ShapeError for a head that is not there, Uncertified for one that was refused, NotKept where
    lengths are not known.
    """
    weights = row_of(site, head, i)
    at = site.head_at(head)
    rows = slice(i, i + 1)
    summary = summarize(site.q, site.k, site.scoring, normaliser=site.normaliser, rows=rows, top=0)
    keys: list[dict[str, Any]] = [
        {"j": j, "token": dict(token), "weight": None if value == HIDDEN else value}
        for j, (token, value) in enumerate(
            zip(look.axis(site, "columns").tokens, weights.tolist(), strict=True)
        )
    ]
    if values:
        mixes = site.mixes(head, i)
        for key, length, mix in zip(keys, mixes.lengths.tolist(), mixes.values[0].tolist(), strict=True):
            seen = key["weight"] is not None
            key.update(value_length=length, weight_times_length=mix if seen else None)
    return {
        **_place(look, site, head, i),
        **_of_values(site, values),
        "seen": int((weights != HIDDEN).sum()),
        "entropy": float(summary.entropy[0, at, 0]),
        "sink": float(summary.sink[0, at, 0]),
        "bit_equal": look.bit_equal,
        "row": _largest(keys, top),
    }


def word_row(
    look: Look, site: Site, head: int, i: int, *, specials: Specials = "mark", top: int | None = None
) -> dict[str, Any]:
    """Return the weights of the word that holds query `i`, to every word: sums over keys, means over queries.

    The entropy is that of the row as it is shown. Raises what word_weights raises.
    """
    words = words_of(look.axis(site, "rows").tokens, specials)
    at = next(n for n, word in enumerate(words) if i in word.places)
    found = word_weights(look.recording, site, head, at, specials=specials)
    keys = [
        {"j": word.places[0], "token": word.to_dict(), "weight": float(weight) if seen else None}
        for word, weight, seen in zip(found.columns, found.weights[0], found.visible[0], strict=True)
    ]
    weights = found.weights[0][found.weights[0] > 0]
    sink = site.summary().sink[0, site.head_at(head), list(words[at].places)]
    return {
        **_place(look, site, head, words[at].places[0]),
        "query": words[at].to_dict(),
        "seen": int(found.visible[0].sum()),
        "entropy": float(-(weights * weights.log()).sum()),
        "sink": float(sink.mean()),
        "bit_equal": look.bit_equal,
        "words": True,
        "row": _largest(keys, top),
    }


def _largest(keys: list[dict[str, Any]], top: int | None) -> list[dict[str, Any]]:
    """Return all keys, or the visible ones of the largest weight, largest first."""
    if top is None:
        return keys
    seen = [key for key in keys if key["weight"] is not None]
    return sorted(seen, key=lambda key: -key.get("weight_times_length", key["weight"]))[:top]


def cell(look: Look, site: Site, head: int, i: int, j: int, *, values: bool = False) -> dict[str, Any]:
    """Return the arithmetic of cell (i, j) with its tokens; with `values` also what a length of its value is.

    Raises NotKept where lengths are wanted and not known.
    """
    told = _of_values(site, values)
    fields = site.cell(head, i, j).to_dict()
    key = dict(look.axis(site, "columns").tokens[j])
    return {**_place(look, site, head, i), **told, "j": j, "key": key, "cell": fields}


def _of_values(site: Site, values: bool) -> dict[str, str]:
    """Return the name of weight times length and what a length is. Raises NotKept."""
    if values and site.lengths.values is None:
        raise not_measured(site)
    return {"times": name_of(site.lengths), "value_length": meaning_of(site.lengths)} if values else {}


def _place(look: Look, site: Site, head: int, i: int) -> dict[str, Any]:
    return {
        "model": look.description.to_dict(),
        "text": look.text,
        "layer": site.layer,
        "kind": site.kind,
        "stack": site.stack,
        "head": head % site.heads,
        "i": i,
        "query": dict(look.axis(site, "rows").tokens[i]),
        "name": site.name,
        "route": site.route,
        "dtype": str(site.dtype).removeprefix("torch."),
        "certificate": certificate(site, head),
    }
