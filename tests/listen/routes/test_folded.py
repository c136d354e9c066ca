"""Axes of texts and heads that a model folds into one: opened in the order in which they were folded, or not
shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnscope.errors import NothingRecorded
from attnscope.listen import record
from attnscope.recording import Recording, Site

T, D, HEADS = 9, 8, 4
WIDTH = HEADS * D


def texts_first(x: Tensor) -> Tensor:
    return x.unflatten(-1, (HEADS, D)).transpose(1, 2).reshape(-1, x.shape[1], D)


def heads_first(x: Tensor) -> Tensor:
    return x.unflatten(-1, (HEADS, D)).permute(2, 0, 1, 3).contiguous().view(-1, x.shape[1], D)


def halves(x: Tensor) -> Tensor:
    """As the Set Transformer folds, and TensorFlow's old translations."""
    return torch.cat(x.split(D, 2), 0)


def along_the_length(x: Tensor) -> Tensor:
    """As fairseq folds: the first axis is the length."""
    turned = x.transpose(0, 1).contiguous()
    return turned.view(x.shape[1], x.shape[0] * HEADS, D).transpose(0, 1)


FOLDS: dict[str, tuple[Callable[[Tensor], Tensor], bool]] = {
    "texts first": (texts_first, False),
    "heads first": (heads_first, True),
    "halves put together": (halves, True),
    "along the length": (along_the_length, False),
    "flattened": (lambda x: x.unflatten(-1, (HEADS, D)).transpose(1, 2).flatten(0, 1), False),
    "stacked heads": (lambda x: torch.stack(x.chunk(HEADS, -1)).flatten(0, 1), True),
}


class Folded(nn.Module):
    """Attention over (texts * heads) at once, by softmax or by the fused function."""

    def __init__(self, fold: Callable[[Tensor], Tensor], *, heads_first: bool, fused: bool) -> None:
        super().__init__()
        self.num_heads, self.fold, self.heads_first, self.fused = HEADS, fold, heads_first, fused
        self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        with torch.no_grad():
            self.q.weight.mul_(6)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.fold(self.q(x)) * 1.0, self.fold(self.k(x)), self.fold(self.v(x))
        if self.fused:
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            hidden = torch.ones(T, T, dtype=torch.bool).triu(1)
            scores = (torch.bmm(q, k.mT) / D**0.5).masked_fill(hidden, -torch.inf)
            out = torch.bmm(scores.softmax(-1), v)
        b = x.shape[0]
        out = out.view(HEADS, b, T, D).transpose(0, 1) if self.heads_first else out.view(b, HEADS, T, D)
        return out.transpose(1, 2).flatten(2)

    def weights(self, x: Tensor) -> Tensor:
        """(b h t t) in float64, heads told apart by the width of the layer alone."""
        q, k = (each(x).double().unflatten(-1, (HEADS, D)).transpose(1, 2) for each in (self.q, self.k))
        hidden = torch.ones(T, T, dtype=torch.bool).triu(1)
        return (q @ k.mT / D**0.5).masked_fill(hidden, -torch.inf).softmax(-1)


def heard(model: nn.Module, *given: Tensor) -> Recording:
    with torch.no_grad():
        alone = model(*given)
        with record(model) as recording:
            assert torch.equal(model(*given), alone)
    return recording


def check(site: Site, expected: Tensor) -> None:
    assert (site.batch, site.heads) == tuple(expected.shape[:2])
    assert site.certificate is not None
    assert {word for row in site.certificate.verdict for word in row} == {"passed"}
    for batch in range(site.batch):
        summary = site.summary(batch)
        torch.testing.assert_close(summary.received[0].double(), expected[batch].sum(-2), rtol=0, atol=1e-5)


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "softmax"])
@pytest.mark.parametrize("b", [1, 2, 3])
@pytest.mark.parametrize("name", FOLDS)
def test_folded_heads_are_opened_in_the_order_in_which_they_were_folded(
    name: str, b: int, fused: bool
) -> None:
    fold, first = FOLDS[name]
    model, x = Folded(fold, heads_first=first, fused=fused), torch.randn(b, T, WIDTH)
    (site,) = heard(model, x).sites
    check(site, model.weights(x))


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "softmax"])
@pytest.mark.parametrize("name", FOLDS)
def test_as_many_texts_as_heads_leave_the_order_open_and_another_number_is_asked_for(
    name: str, fused: bool
) -> None:
    fold, first = FOLDS[name]
    model, x = Folded(fold, heads_first=first, fused=fused), torch.randn(HEADS, T, WIDTH)
    message = (
        "its 16 attentions are 4 texts of 4 heads folded into one axis, and which of the two comes first"
    )
    with pytest.raises(NothingRecorded, match=re.escape(message)), record(model):
        model(x)
    with pytest.raises(NothingRecorded, match="Record another number of texts, or one alone"), record(model):
        model(x)


class Grouped(nn.Module):
    """Five axes: (texts, key heads, group, positions, width)."""

    def __init__(self, *, spread: bool, masked: bool = False) -> None:
        super().__init__()
        self.num_heads, self.spread, self.masked = HEADS, spread, masked
        self.q, self.kv = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2 * 2 * D)
        with torch.no_grad():
            self.q.weight.mul_(6)

    def heads(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q = self.q(x).unflatten(-1, (2, HEADS // 2, D)).permute(0, 2, 3, 1, 4)
        k, v = (part.unflatten(-1, (2, 1, D)).permute(0, 2, 3, 1, 4) for part in self.kv(x).chunk(2, dim=-1))
        return q, k, v

    def mask(self, b: int) -> Tensor:
        seen = torch.ones(T, T, dtype=torch.bool).tril()
        window = seen & ~torch.ones(T, T, dtype=torch.bool).tril(-3)
        return torch.stack([seen, window]).view(1, 2, 1, T, T) if self.masked else seen

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.heads(x)
        if self.spread:
            k, v = (part.expand(-1, -1, HEADS // 2, -1, -1) for part in (k, v))
        out = F.scaled_dot_product_attention(q, k, v, self.mask(x.shape[0]))
        return out.flatten(1, 2).transpose(1, 2).flatten(2)

    def weights(self, x: Tensor) -> Tensor:
        q, k, _ = (part.double() for part in self.heads(x))
        scores = (q @ k.mT / D**0.5).masked_fill(~self.mask(x.shape[0]), -torch.inf)
        return scores.softmax(-1).flatten(1, 2)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("spread", [False, True])
def test_grouped_heads_of_five_axes_are_heads_and_no_texts(spread: bool, masked: bool) -> None:
    model, x = Grouped(spread=spread, masked=masked), torch.randn(3, T, WIDTH)
    (site,) = heard(model, x).sites
    check(site, model.weights(x))
    assert site.key_heads == (HEADS if spread else 2)


class HeadsOutside(nn.Module):
    """Four axes with the heads first, which the fused function does not mind."""

    def __init__(self) -> None:
        super().__init__()
        self.num_heads, self.qkv = HEADS, nn.Linear(WIDTH, 3 * WIDTH)
        with torch.no_grad():
            self.qkv.weight.mul_(3)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).unflatten(-1, (3, HEADS, D)).permute(2, 3, 0, 1, 4)
        return F.scaled_dot_product_attention(q, k, v).permute(1, 2, 0, 3).flatten(2)

    def weights(self, x: Tensor) -> Tensor:
        q, k, _ = self.qkv(x).double().unflatten(-1, (3, HEADS, D)).permute(2, 0, 3, 1, 4)
        return (q @ k.mT / D**0.5).softmax(-1)


def test_heads_that_come_first_are_told_by_the_number_of_texts() -> None:
    for b in (1, 3):
        model, x = HeadsOutside(), torch.randn(b, T, WIDTH)
        (site,) = heard(model, x).sites
        check(site, model.weights(x))
    with pytest.raises(NothingRecorded, match="as many texts as heads, and lie in memory as if the heads"):
        heard(HeadsOutside(), torch.randn(HEADS, T, WIDTH))


TO_THE_FRONT: dict[str, Callable[[Tensor], Tensor]] = {
    "a view": lambda x: x.unflatten(-1, (HEADS, D)).permute(2, 0, 1, 3),
    "a copy": lambda x: x.unflatten(-1, (HEADS, D)).permute(2, 0, 1, 3).contiguous(),
    "stacked": lambda x: torch.stack(x.split(D, -1)),
    "stacked and scaled": lambda x: torch.stack(x.split(D, -1), dim=0) * 1.0,
    "put together": lambda x: torch.cat([x.unflatten(-1, (HEADS, D)).permute(2, 0, 1, 3)], dim=-2),
}


class HeadsInFront(Folded):
    """Four axes; the heads may be the first of them, moved or stacked there."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (self.fold(each(x)) for each in (self.q, self.k, self.v))
        out = F.scaled_dot_product_attention(q, k, v) if self.fused else (q @ k.mT / 8).softmax(-1) @ v
        return (out.permute(1, 2, 0, 3) if self.heads_first else out.transpose(1, 2)).flatten(2)


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "softmax"])
@pytest.mark.parametrize("how", TO_THE_FRONT)
def test_as_many_heads_in_front_as_texts_are_never_taken_for_texts(how: str, fused: bool) -> None:
    model = HeadsInFront(TO_THE_FRONT[how], heads_first=True, fused=fused)
    with pytest.raises(NothingRecorded, match=r"as many texts as heads.*Record another number of texts"):
        heard(model, torch.randn(HEADS, T, WIDTH))


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "softmax"])
def test_as_many_texts_as_heads_are_shown_where_texts_lie_outside(fused: bool) -> None:
    for fold in (
        lambda x: x.unflatten(-1, (HEADS, D)).transpose(1, 2),
        lambda x: x.unflatten(-1, (HEADS, D)).transpose(1, 2).contiguous(),
    ):
        model = HeadsInFront(fold, heads_first=False, fused=fused)
        (site,) = heard(model, torch.randn(HEADS, T, WIDTH)).sites
        assert (site.batch, site.heads) == (HEADS, HEADS)


class Channels(Folded):
    """Attention between the features of each head, over all positions."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each(x).unflatten(-1, (HEADS, D)).permute(0, 2, 3, 1) for each in (self.q, self.k, self.v))
        out = F.scaled_dot_product_attention(q, k, v) if self.fused else (q @ k.mT / 8).softmax(-1) @ v
        return out.permute(0, 3, 1, 2).flatten(2)


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "softmax"])
@pytest.mark.parametrize("length", [D, T], ids=["as many positions as features", "another length"])
def test_attention_between_channels_is_no_attention_between_positions(length: int, fused: bool) -> None:
    model = Channels(lambda x: x, heads_first=False, fused=fused)
    said = "layout of its own" if length == T and not fused else "as if their rows were features"
    with pytest.raises(NothingRecorded, match=said):
        heard(model, torch.randn(2, length, WIDTH))


class OneKeyHead(Folded):
    """All heads of a text as the rows of one."""

    def forward(self, x: Tensor) -> Tensor:
        q = self.q(x).unflatten(-1, (HEADS, D)).transpose(1, 2).reshape(x.shape[0], 1, -1, D)
        k, v = (each(x)[:, None, :, :D] for each in (self.k, self.v))
        return (
            F.scaled_dot_product_attention(q, k, v).view(x.shape[0], HEADS, -1, D).transpose(1, 2).flatten(2)
        )


def test_heads_that_are_laid_along_the_rows_are_not_taken_for_rows() -> None:
    with pytest.raises(NothingRecorded, match="4 heads laid one after the other as 36 rows"):
        heard(OneKeyHead(lambda x: x, heads_first=False, fused=True), torch.randn(2, T, WIDTH))


class TextByText(nn.Module):
    """Each text by itself, (heads, positions, width): no axis of texts is there."""

    def __init__(self) -> None:
        super().__init__()
        self.num_heads, self.qkv = HEADS, nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        mixed = []
        for text in x:
            q, k, v = (part.view(T, HEADS, D).transpose(0, 1) for part in self.qkv(text).chunk(3, dim=-1))
            mixed.append(F.scaled_dot_product_attention(q, k, v).transpose(0, 1).flatten(1))
        return torch.stack(mixed)


def test_heads_of_one_text_are_not_taken_for_as_many_texts() -> None:
    recording = heard(TextByText(), torch.randn(HEADS, T, WIDTH))
    assert [(site.batch, site.heads) for site in recording.sites] == [(1, HEADS)] * HEADS


class TakenOut(nn.Module):
    """Each text's heads, taken out of (texts, heads, positions, width) of all."""

    def __init__(self, *, fused: bool) -> None:
        super().__init__()
        self.num_heads, self.fused, self.qkv = HEADS, fused, nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).unflatten(-1, (3, HEADS, D)).permute(2, 0, 3, 1, 4)
        if self.fused:
            return torch.stack(list(map(F.scaled_dot_product_attention, q, k, v)))
        return torch.stack([(q[i] * 0.5 @ k[i].mT).softmax(-1) @ v[i] for i in range(len(x))])


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "softmax"])
def test_heads_taken_out_of_as_many_texts_are_not_shown(fused: bool) -> None:
    with pytest.raises(
        NothingRecorded, match="its 4 attentions may be 1 text of 4 heads or 4 texts of 1 head"
    ):
        heard(TakenOut(fused=fused), torch.randn(HEADS, T, WIDTH))


class OneHead(nn.Module):
    """Three axes without any fold: texts."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * D)

    def forward(self, x: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(*self.qkv(x).chunk(3, dim=-1))


def test_one_head_of_several_texts_is_no_text_of_several_heads() -> None:
    (site,) = heard(OneHead(), torch.randn(3, T, WIDTH)).sites
    assert (site.batch, site.heads) == (3, 1)
