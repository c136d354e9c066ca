"""A sheet: all that a reader may change on the walk, as it is saved to a file and opened again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from attnscope.errors import LessonError
from attnscope.lesson.walk.word import checked_word

FORMAT, VERSION = "attnscope-walk", 1
WORDS, DEPTH, WIDTH = (2, 8), (1, 8), (1, 8)
LARGEST = 1_000_000.0
PROJECTED = ("q", "k", "v")
_MATRICES = ("x", "wq", "wk", "wv")
_KEYS = {"format", "version", "words", *_MATRICES, "edited", "causal", "scale"}

Rows = tuple[tuple[float, ...], ...]


class Edit(NamedTuple):
    """A cell of q, k or v that no longer follows its projection: position i, component c."""

    grid: str
    i: int
    c: int
    value: float


@dataclass(frozen=True)
class Sheet:
    """Words, x (distinct width), wq, wk, wv (width d), detached cells of q, k, v; causal mask; scale by 1/√d.

    x has one row for each distinct word, in the order of first appearance: a repeated word shares its row.
    Raises LessonError for fewer than 2 or more than 8 words, d or width outside 1 to 8, rows that do not fit,
    and numbers that are not finite or beyond a million.
    """

    words: tuple[str, ...]
    x: Rows
    wq: Rows
    wk: Rows
    wv: Rows
    edited: tuple[Edit, ...] = field(default=())
    causal: bool = False
    scale: bool = True

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "words", _words(self.words))
        for name in _MATRICES:
            put(self, name, _rows(name, getattr(self, name)))
        _fit("x", self.x, (len(self.distinct), len(self.x[0])), "one row for each distinct word")
        for name in ("wq", "wk", "wv"):
            wanted = (self.width, len(self.wq[0]))
            _fit(name, getattr(self, name), wanted, "a row for each column of x, and one d for all three")
        _within("x", "columns", self.width, WIDTH)
        _within("wq", "columns", self.d, DEPTH)
        put(self, "edited", _edits(self.edited, self.n, self.d))

    @property
    def n(self) -> int:
        """The number of words."""
        return len(self.words)

    @property
    def d(self) -> int:
        """The width of a query, a key and a value."""
        return len(self.wq[0])

    @property
    def width(self) -> int:
        """The width of a row of x."""
        return len(self.x[0])

    @cached_property
    def distinct(self) -> tuple[str, ...]:
        """The words, each once, in the order of first appearance: the rows of x."""
        return tuple(dict.fromkeys(self.words))

    def row(self, i: int) -> int:
        """Return the row of x of the word at position i."""
        return self.distinct.index(self.words[i])

    @cached_property
    def detached(self) -> dict[tuple[str, int, int], float]:
        """The edited cells by (grid, i, c)."""
        return {(one.grid, one.i, one.c): one.value for one in self.edited}

    def to_dict(self) -> dict[str, Any]:
        """Return the sheet as JSON values, the form of the file."""
        edited = {grid: [[e.i, e.c, e.value] for e in self.edited if e.grid == grid] for grid in PROJECTED}
        rows = {name: [list(row) for row in getattr(self, name)] for name in _MATRICES}
        head = {"format": FORMAT, "version": VERSION, "words": list(self.words)}
        return head | rows | {"edited": edited, "causal": self.causal, "scale": self.scale}

    @classmethod
    def from_dict(cls, data: Any) -> Sheet:
        """Return the sheet of a file's JSON values. Raises LessonError that says what does not fit."""
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise LessonError("This is no sheet of the walk", wanted=f'"format": "{FORMAT}" is wanted')
        if data.get("version") != VERSION or isinstance(data["version"], bool):
            raise LessonError(
                f"The sheet has version {data.get('version')!r}", wanted=f"Version {VERSION} is wanted"
            )
        missing = [name for name in ("words", *_MATRICES) if name not in data]
        unknown = [str(name) for name in data if name not in _KEYS]
        if missing or unknown:
            what = f"lacks {', '.join(missing)}" if missing else f"holds {', '.join(unknown)[:60]}"
            raise LessonError(f"The sheet {what}", wanted=f"{', '.join(sorted(_KEYS))} are wanted")
        for name in ("causal", "scale"):
            if not isinstance(data.get(name, True), bool):
                raise LessonError(f"{name} is {data[name]!r:.40}", wanted="true or false is wanted")
        return cls(
            data["words"], data["x"], data["wq"], data["wk"], data["wv"],
            edited=_listed(data.get("edited", {})),
            causal=data.get("causal", False),
            scale=data.get("scale", True),
        )  # fmt: skip


def _words(words: Any) -> tuple[str, ...]:
    if not _is_list(words) or not all(isinstance(word, str) for word in words):
        raise LessonError(f"The words are {words!r:.60}", wanted="A list of words is wanted")
    _within("The sheet", "words", len(words), WORDS)
    return tuple(checked_word(word) for word in words)


def _rows(name: str, rows: Any) -> Rows:
    if not _is_list(rows) or not rows or not all(_is_list(row) and row for row in rows):
        raise LessonError(f"{name} is {rows!r:.60}", wanted="Rows of numbers are wanted")
    return tuple(
        tuple(_number(f"{name}[{r}][{c}]", x) for c, x in enumerate(row)) for r, row in enumerate(rows)
    )


def _number(where: str, x: Any) -> float:
    if isinstance(x, bool) or not isinstance(x, int | float) or not -LARGEST <= x <= LARGEST:
        raise LessonError(f"{where} is {x!r:.40}", wanted="A number from −1,000,000 to 1,000,000 is wanted")
    return float(x) + 0.0  # no −0


def _fit(name: str, rows: Rows, wanted: tuple[int, int], why: str) -> None:
    sizes = {len(row) for row in rows}
    if len(rows) != wanted[0] or sizes != {wanted[1]}:
        columns = " or ".join(str(size) for size in sorted(sizes))
        raise LessonError(
            f"{name} has {len(rows)} rows of {columns} numbers", wanted=f"{wanted[0]} of {wanted[1]}: {why}"
        )


def _within(what: str, of: str, size: int, limits: tuple[int, int]) -> None:
    if not limits[0] <= size <= limits[1]:
        raise LessonError(f"{what} has {size} {of}", wanted=f"{limits[0]} to {limits[1]} are wanted")


def _listed(edited: Any) -> tuple[Edit, ...]:
    """The detached cells of a file, {"q": [[i, c, value], ...], ...}."""
    if not isinstance(edited, Mapping) or not all(_is_list(cells) for cells in edited.values()):
        raise LessonError(
            f"edited is {edited!r:.60}", wanted='{"q": [[i, c, value], ...], "k": ..., "v": ...} is wanted'
        )
    cells = [(grid, cell) for grid, listed in edited.items() for cell in listed]
    for grid, cell in cells:
        if not _is_list(cell) or len(cell) != 3:
            raise LessonError(f"edited {grid} holds {cell!r:.60}", wanted="[i, c, value] is wanted")
    return tuple(Edit(grid, *cell) for grid, cell in cells)


def _edits(edits: Sequence[Edit], n: int, d: int) -> tuple[Edit, ...]:
    made: dict[tuple[str, int, int], Edit] = {}
    for grid, i, c, value in edits:
        whole = all(isinstance(at, int) and not isinstance(at, bool) for at in (i, c))
        if grid not in PROJECTED or not whole or not (0 <= i < n and 0 <= c < d):
            raise LessonError(
                f"The edited cell {grid}[{i!r:.20}, {c!r:.20}] is not on the sheet",
                wanted=f"q, k or v, a position from 0 to {n - 1} and a component from 0 to {d - 1} is wanted",
            )
        if (grid, i, c) in made:
            raise LessonError(
                f"The cell {grid}[{i}, {c}] is edited twice", wanted="One number for it is wanted"
            )
        made[grid, i, c] = Edit(grid, i, c, _number(f"{grid}[{i}, {c}]", value))
    return tuple(made[key] for key in sorted(made, key=lambda key: (PROJECTED.index(key[0]), *key[1:])))


def _is_list(x: Any) -> bool:
    return isinstance(x, list | tuple)
