"""A site: one attention call of a run, or all calls of one module in a generation, and every number that
can be asked of it.

Nothing T x T is kept: q, k and the normaliser are enough to recompute any block of weights, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from dataclasses import fields as fields_of
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnscope.core.certificate import Certificate, certify
from attnscope.core.fold import Summary, summarize
from attnscope.core.masks import full
from attnscope.core.replay import Reach, replay_head
from attnscope.core.scoring import Bound, Scoring
from attnscope.core.tile import Normaliser
from attnscope.core.visible import Visible
from attnscope.errors import TooLarge
from attnscope.recording.asked import Where, cut_of, index_of
from attnscope.recording.blocks import weights_block
from attnscope.recording.calls import Calls, replayed
from attnscope.recording.cell import Cell, cell_of
from attnscope.recording.mixes import Lengths, Mixes, check_projection, lengths_of, times
from attnscope.recording.refusals import head_not_kept, not_kept, not_measured, uncertified
from attnscope.recording.shelf import Shelf

LARGEST_BLOCK = 2**24
"""Cells: the most that one call of weights() hands out (64 MB in float32)."""

SIDE = 64
"""Rows and columns of the blocks that a summary keeps where its weights can never be computed again."""


@dataclass(frozen=True, eq=False)
class Site:
    """One call of one attention module; in a run of generate() its calls joined into one grid.

    index: place in the run.   name: the module's dotted name.   order: how many calls of that module came
    before. layer: the model's own number where it has one, else the order of first call.   kind: "self" or
    "cross". stack: "decoder" or "encoder".   route: how the call was seen, "huggingface/sdpa",
    "huggingface/eager", "sdpa". batch, heads, key_heads, tq, tk, d, dv: sizes.   offset: position of row 0
    among the keys, where there is one. kept: the model's numbers of the heads that were kept, None for all;
    tensors hold these alone, in this order. bit_exact: whether the replay equals the grid the model itself
    returned, bit for bit; None where it returned none. reach: what the replay computes together, None where
    weights come from the normaliser. d: None where q and k were not heard (route "softmax": the model's own
    code made the grid, and a summary is all that is kept of it). segment: where the calls of one generation
    do not make one grid, which of their grids this is.
    """

    index: int
    name: str
    order: int
    layer: int
    kind: str
    stack: str
    route: str
    dtype: torch.dtype
    batch: int
    heads: int
    key_heads: int
    tq: int
    tk: int
    d: int | None
    dv: int
    offset: int | None
    kept: tuple[int, ...] | None
    keep: str
    bit_exact: bool | None
    reach: Reach | None
    shelf: Shelf = field(repr=False)
    segment: int = 0
    _memory: dict[str, Any] = field(default_factory=dict, repr=False, init=False)

    @property
    def q(self) -> Float[Tensor, "b h tq d"]:
        """The queries as the kernel got them. Raises NotKept."""
        return self._need("q")

    @property
    def k(self) -> Float[Tensor, "b hk tk d"]:
        """The keys as the kernel got them, not repeated for grouped heads. Raises NotKept."""
        return self._need("k")

    @property
    def v(self) -> Float[Tensor, "b hk tk dv"]:
        """The values as the kernel got them. Raises NotKept."""
        return self._need("v")

    @property
    def out(self) -> Float[Tensor, "b h tq dv"] | None:
        """What the model's own kernel returned, before the output projection; kept with keep="all"."""
        return self.shelf.tensor("out")

    @property
    def scoring(self) -> Scoring:
        """What happened between q.k and softmax."""
        return self.shelf.scoring

    @property
    def normaliser(self) -> Normaliser:
        """(peak, logsum) of every row, float32 (b h tq) each."""
        return self.shelf.normaliser

    @property
    def certificate(self) -> Certificate | None:
        """The verdict on every kept head, made at the call."""
        return self.shelf.certificate

    @property
    def lengths(self) -> Lengths:
        """How long the value of each key is to each kept head, through W_O; where that is not known, why."""
        return self.shelf.lengths

    @property
    def heard_scores_alone(self) -> bool:
        """Whether the model's own code made the grid, out of q and k that were not heard: weights() and
        cell() then raise NotKept, and summary(), normaliser, visible() and certificate are all there is.
        """
        return self.d is None

    @property
    def seen(self) -> Visible:
        """What each row may see, which needs neither q nor k."""
        if self.heard_scores_alone:
            kept = self.heads if self.kept is None else len(self.kept)
            mask, offset = self.scoring.mask or full(), self.scoring.offset or 0
            return mask.bind(self.batch, kept, self.tq, self.tk, offset, self.normaliser.peak.device)
        return self.bound.visible

    @property
    def calls(self) -> Calls | None:
        """The calls of a generation that made its rows; None where it is one call."""
        return self.shelf.calls

    @property
    def bound(self) -> Bound:
        """The scoring with its q and k. Raises NotKept."""
        if "bound" not in self._memory:
            self._memory["bound"] = self.scoring.bind(self.q, self.k)
        bound: Bound = self._memory["bound"]
        return bound

    def weights(
        self,
        head: int,
        rows: Where = None,
        cols: Where = None,
        *,
        batch: int = 0,
        allow_uncertified: bool = False,
    ) -> Float[Tensor, "r c"]:
        """The weights of a block, (r c) float32, float64 of a float64 model: 0 where not visible. rows and
        cols: a slice, an index, or None for all.

        Raises TooLarge past 2**24 cells, NotKept, Uncertified for a head whose certificate was refused,
        ShapeError.
        """
        head_at, batch, row_cut, col_cut = self._place(head, batch, rows, cols)
        cells = (row_cut.stop - row_cut.start) * (col_cut.stop - col_cut.start)
        if cells > LARGEST_BLOCK:
            raise TooLarge(
                f"{row_cut.stop - row_cut.start:,} x {col_cut.stop - col_cut.start:,} weights were asked for",
                wanted=f"At most {LARGEST_BLOCK:,} cells at once",
                hint="Ask for fewer rows or columns, or use summary() for sums over a whole head",
            )
        if not allow_uncertified:
            self._refuse_uncertified(head, head_at, batch)
        if self.reach is not None and self.calls is not None:
            return replayed(self.bound, self.calls, row_cut, col_cut, head=head_at, batch=batch)
        if self.reach is not None:
            grid = replay_head(self.bound, row_cut, head_at, batch=batch, reach=self.reach)
            return grid[:, col_cut]
        return weights_block(self.bound, self.normaliser, row_cut, col_cut, head=head_at, batch=batch)

    def mixes(
        self, head: int, rows: Where = None, cols: Where = None, *, projection: Tensor | None = None,
        batch: int = 0, allow_uncertified: bool = False,
    ) -> Mixes:  # fmt: skip
        """How much each key puts into the outputs of a block of rows: weight times the length of its value,
        as `lengths` has it: through W_O, the layer `through`, where the model has one.

        projection: a weight (n, heads * dv) to be taken for W_O; v has to be kept then. Raises what weights()
        raises, NotKept where no lengths are known.
        """
        weights = self.weights(head, rows, cols, batch=batch, allow_uncertified=allow_uncertified)
        head_at, at_batch, _, col_cut = self._place(head, batch, rows, cols)

        def seen() -> Tensor:
            return self.visible(head, rows, cols, batch=batch).to(weights.device)

        if projection is None:
            if self.lengths.values is None:
                raise not_measured(self)
            lengths = self.lengths.values[at_batch, head_at, col_cut].to(weights)
            return Mixes(times(weights, lengths, seen), lengths, self.lengths.through)
        check_projection(projection, self.heads, self.dv)
        v = self._need("v")
        at = head_at // ((self.heads if self.kept is None else len(self.kept)) // v.shape[1])
        own = v[at_batch : at_batch + 1, at : at + 1, col_cut]
        lengths = lengths_of(own, projection.to(v.device), (self._number(head),))[0, 0].to(weights.dtype)
        return Mixes(times(weights, lengths, seen), lengths)

    def visible(
        self, head: int, rows: Where = None, cols: Where = None, *, batch: int = 0
    ) -> Bool[Tensor, "r c"]:
        """Which cells of a block may be seen, (r c) bool. Raises NotKept (keep="summary"), ShapeError."""
        head_at, batch, row_cut, col_cut = self._place(head, batch, rows, cols)
        heads, batches = slice(head_at, head_at + 1), slice(batch, batch + 1)
        seen = self.seen.tile(row_cut, col_cut, heads=heads, batch=batches)[0, 0]
        return seen.expand(row_cut.stop - row_cut.start, col_cut.stop - col_cut.start)

    def cell(self, head: int, i: int, j: int, *, batch: int = 0, allow_uncertified: bool = False) -> Cell:
        """The arithmetic of one cell: every term in float64 beside the weight that weights() shows.

        Raises NotKept where q and k were not kept, Uncertified, ShapeError.
        """
        head_at, batch, rows, cols = self._place(head, batch, i, j)
        shown = self.weights(head, rows, cols, batch=batch, allow_uncertified=allow_uncertified)
        v = self.shelf.tensor("v")
        plain = cell_of(self.bound, v, head_at, rows.start, cols.start, batch=batch, shown=float(shown[0, 0]))
        known = self.lengths.values
        length = None if known is None else float(known[batch, head_at, cols.start])
        return replace(plain, layer=self.layer, head=self._number(head), length=length)

    def summary(self, batch: int = 0) -> Summary:
        """Entropy, received weight, largest keys and more of every head of one batch entry, (1 h tq); cached.

        Heads are in the order of `kept`. Raises NotKept, ShapeError.
        """
        batch = index_of(batch, self.batch, "batch")
        if "summary" not in self._memory:
            kept = self.shelf.summary
            self._memory["summary"] = (
                summarize(self.q, self.k, self.scoring, normaliser=self.normaliser)
                if (kept is None)
                else kept
            )
        return of_batch(self._memory["summary"], batch, self.batch)

    def certify_again(self, *, seed: int = 1) -> Certificate:
        """The certificate once more, with other random signs. Raises NotKept unless v and out were kept."""
        out = self._need("out")
        return certify(
            self.q,
            self.k,
            self.v,
            out,
            self.scoring,
            None
            if self.calls is not None
            else self.normaliser,  # steps rounded their scores in their own way
            seed=seed,
            route=self.route.split("/")[-1],
        )

    def head_at(self, head: int) -> int:
        """Where the model's head number stands among the kept heads. Raises NotKept, ShapeError."""
        number = self._number(head)
        if self.kept is None:
            return number
        if number not in self.kept:
            raise head_not_kept(self, number)
        return self.kept.index(number)

    def _number(self, head: int) -> int:
        return index_of(head, self.heads, "head")

    def _place(self, head: int, batch: int, rows: Where, cols: Where) -> tuple[int, int, slice, slice]:
        return (
            self.head_at(head),
            index_of(batch, self.batch, "batch"),
            cut_of(rows, self.tq, "row"),
            cut_of(cols, self.tk, "column"),
        )

    def _need(self, name: str) -> Tensor:
        tensor = self.shelf.tensor(name)
        if tensor is None:
            raise not_kept(self, name)
        return tensor

    def _refuse_uncertified(self, head: int, head_at: int, batch: int) -> None:
        if self.certificate is None or self.certificate.verdict[batch][head_at] != "refused":
            return
        raise uncertified(self, head)


def of_batch(summary: Summary, batch: int, size: int) -> Summary:
    """The summary of one batch entry, every axis kept."""
    cut: dict[str, Tensor] = {}
    for one in fields_of(summary):
        value = getattr(summary, one.name)
        if isinstance(value, Tensor) and value.dim() and value.shape[0] == size:
            cut[one.name] = value[batch : batch + 1]
    return replace(summary, **cut)  # type: ignore[arg-type]
