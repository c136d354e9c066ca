"""Which axes of the tensors of F.scaled_dot_product_attention are texts and which are heads.

The function itself looks at the last two axes alone. Four axes are (batch, heads, positions, width), as it is
documented; three, or five, are opened where what the running modules say of their texts and heads leaves one
way to do it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from attnscope.listen.call import CannotShowError
from attnscope.listen.folds import as_many, fold_of, heads_may_be_first
from attnscope.listen.frames import Frame
from attnscope.listen.layout import layout_of, lies_by_feature, of_features
from attnscope.listen.surroundings import known_to

Opener = Callable[[Tensor, bool], Tensor]
"""Gives a tensor (.., rows, columns) of the call four axes; True: keys of a group may stay one."""


def opened(
    frame: Frame, qkv: Sequence[Tensor], out: Tensor, mask: Tensor | None
) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor, Tensor | None]:
    """(q, k, v), out and mask of a call with the axes (b, h, ..); missing ones are 1. Raises CannotShowError
    where it cannot be told which they are.
    """
    q, k, v = qkv
    most = max(x.dim() for x in qkv)
    if most > 5 or (mask is not None and mask.dim() > max(most, 4)):
        shapes = [tuple(x.shape) for x in (*qkv, mask) if x is not None]
        raise CannotShowError(
            f"its tensors {', '.join(map(str, shapes))} have more axes than can be told apart"
        )
    _refuse_other_rows(frame, q, k, v)
    open_each = {3: _of_three, 5: _of_five}.get(most, _of_four)(frame, q, k, v)
    whole = None if mask is None else open_each(mask, False)
    return (open_each(q, False), open_each(k, True), open_each(v, True)), open_each(out, False), whole


def _refuse_other_rows(frame: Frame, q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raises CannotShowError where rows are plainly no positions: where they are features (attention between
    channels), or the heads of a text, laid one after the other before one key head.
    """
    lengths, counts = known_to(frame)
    known = {t for _, t in lengths.given | lengths.turned} | lengths.grown
    rows, width = q.shape[-2:]
    if width in known and (rows == width or rows not in known) and all(map(lies_by_feature, (q, k, v))):
        raise CannotShowError(of_features("queries", q.shape))
    if q.dim() > 3 and q.shape[-3] == 1 and rows not in known:
        for count in sorted(counts - {1}):
            if rows % count == 0 and rows // count in known:
                raise CannotShowError(
                    f"its queries are {tuple(q.shape)}, {count} heads laid one after the other as {rows} "
                    "rows. Hand it (batch, heads, positions, width) and one key head"
                )


def _filled(x: Tensor, axes: int = 4) -> Tensor:
    """The same with axes of 1 in front."""
    return x.reshape((1,) * (axes - x.dim()) + tuple(x.shape))


def _of_four(frame: Frame, q: Tensor, k: Tensor, v: Tensor) -> Opener:
    """As documented, save where it is plain that the heads come first."""
    one, two = (max(a, b) for a, b in zip(_filled(q).shape[:2], _filled(k).shape[:2], strict=True))
    lengths, counts = known_to(frame)
    if one == two and (one in counts or not counts) and heads_may_be_first(q, k, v):
        raise CannotShowError(as_many("queries", q.shape))
    rows = (q.shape[-2], k.shape[-2])
    turned = one != two and one in counts and layout_of((two, one, *rows), lengths, counts) is not None
    if turned and layout_of((one, two, *rows), lengths, set()) is None:
        return lambda x, _: _filled(x).transpose(0, 1)
    return lambda x, _: _filled(x)


def _of_three(frame: Frame, q: Tensor, k: Tensor, v: Tensor) -> Opener:
    count = max(x.shape[0] for x in (q, k, v) if x.dim() == 3)
    fold = fold_of(*(x for x in (q, k, v) if x.dim() == 3 and x.shape[0] == count))
    layout = layout_of((count, q.shape[-2], k.shape[-2]), *known_to(frame), fold)
    if layout is None and count > 1:
        raise CannotShowError(f"its queries are {tuple(q.shape)}, and {_UNTOLD}")

    def turn(x: Tensor, _: bool) -> Tensor:
        if layout is None or x.dim() != 3 or x.shape[0] != count:
            return _filled(x)
        return layout.opened(x)

    return turn


_UNTOLD = (
    "which of their axes are texts and which heads does not follow from what its module was handed. Hand it "
    "(batch, heads, positions, width), or name its number of heads on the module (num_heads)"
)


def _of_five(frame: Frame, q: Tensor, k: Tensor, v: Tensor) -> Opener:
    """(b, key heads, group, ..), or (b, c, h, ..) where b * c are the texts: one of the two alone may fit."""
    lengths, counts = known_to(frame)
    lead = [max(a, b) for a, b in zip(_filled(q, 5).shape[:3], _filled(k, 5).shape[:3], strict=True)]
    ways = {
        joined: (b, h)
        for joined, (b, h) in {
            1: (lead[0], lead[1] * lead[2]), 0: (lead[0] * lead[1], lead[2]),
        }.items()
        if counts and h in counts and layout_of((b, h, q.shape[-2], k.shape[-2]), lengths, counts) is not None
    }  # fmt: skip
    if len(ways) != 1:
        raise CannotShowError(f"its queries are {tuple(q.shape)}, and {_UNTOLD}")
    (axis,) = ways
    return lambda x, grouped: _joined(x, axis, lead, grouped=grouped and axis == 1)


def _joined(x: Tensor, axis: int, lead: Sequence[int], *, grouped: bool) -> Tensor:
    """Five axes as four, `axis` and the next as one. grouped: where the next is 1, it stays so."""
    x = _filled(x, 5)
    if x.shape[axis : axis + 2].numel() == 1 or (grouped and x.shape[axis + 1] == 1):
        return x.squeeze(axis + 1)
    sizes = [*x.shape[:axis], *lead[axis : axis + 2], *x.shape[axis + 2 :]]
    return x.expand(sizes).flatten(axis, axis + 1)
