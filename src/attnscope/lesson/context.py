"""Section 1: token by token a word has one vector in every sentence; through attention it has not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from attnscope.core.masks import causal as causal_mask
from attnscope.errors import LessonError
from attnscope.lesson.drawn import seeded
from attnscope.lesson.experiment import Experiment, Table
from attnscope.lesson.given import check_whole, checked
from attnscope.looks.drawing import SERIES, figure
from attnscope.looks.numbers import number, weight
from attnscope.nn import MultiHeadAttention

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BANKS = ("the river bank", "money in the bank")


@dataclass(frozen=True, eq=False)
class Context(Experiment):
    """Two sentences with one word in common, and what became of that word's vector.

    places: where the word stands in each.   embedded: the vectors (t d) that go in.   token_by_token: the
    vectors (layers t d) after each per-token layer.   bidirectional, causal: the vectors (t d) after one
    attention layer.   looks_*: the weights (t) of the word's row.   *_difference: the largest difference
    between the word's two vectors; 0 is bit-equal.
    """

    sentences: tuple[str, str]
    word: str
    words: tuple[tuple[str, ...], tuple[str, ...]]
    places: tuple[int, int]
    embedded: tuple[Tensor, Tensor]
    token_by_token: tuple[Tensor, Tensor]
    bidirectional: tuple[Tensor, Tensor]
    causal: tuple[Tensor, Tensor]
    looks_bidirectional: tuple[Tensor, Tensor]
    looks_causal: tuple[Tensor, Tensor]
    token_by_token_differences: tuple[float, ...]
    bidirectional_difference: float
    causal_difference: float
    bit_equal: bool = field(default=False)

    def tables(self) -> list[Table]:
        layers = [("embedding", *self._pair(self.embedded), 0.0)]
        for n, apart in enumerate(self.token_by_token_differences):
            one, two = self._pair((self.token_by_token[0][n], self.token_by_token[1][n]))
            layers.append((f"per-token layer {n + 1}", one, two, apart))
        for name, after, apart in (
            ("attention, bidirectional", self.bidirectional, self.bidirectional_difference),
            ("attention, causal", self.causal, self.causal_difference),
        ):
            layers.append((name, *self._pair(after), apart))
        rows = tuple((name, one, two, number(apart, 3)) for name, one, two, apart in layers)
        heads = (
            "after",
            *(f"{self.word} in “{sentence}”" for sentence in self.sentences),
            "largest difference",
        )
        note = "A difference of 0 is bit-equal: every per-token layer leaves the two vectors the same."
        looks = tuple(
            (
                mask,
                f"“{sentence}”",
                ", ".join(f"{w} {weight(x)}" for w, x in zip(words, looks.tolist(), strict=True)),
            )
            for mask, both in (("bidirectional", self.looks_bidirectional), ("causal", self.looks_causal))
            for sentence, words, looks in zip(self.sentences, self.words, both, strict=True)
        )
        return [
            Table(f"The vector of {self.word}, first four numbers", heads, rows, note),
            Table(f"What {self.word} looks at", ("mask", "sentence", "weights"), looks),
        ]

    def draw(self) -> Figure:
        made, axes = figure(1, 3, size=(11, 3.2))
        last = (self.token_by_token[0][-1], self.token_by_token[1][-1])
        for ax, (title, after) in zip(
            axes,
            (
                ("Per-token layers", last),
                ("Attention, bidirectional", self.bidirectional),
                ("Attention, causal", self.causal),
            ),
            strict=True,
        ):
            for n, (sentence, vectors, place) in enumerate(
                zip(self.sentences, after, self.places, strict=True)
            ):
                at = torch.arange(vectors.shape[-1]) + 0.2 * (2 * n - 1)
                ax.bar(at, vectors[place].numpy(), width=0.38, color=SERIES[n], label=f"“{sentence}”")
            ax.axhline(0, color="#d4d4cf", linewidth=0.8)
            ax.set_title(title)
            ax.set_xlabel(f"number of {self.word}’s vector")
            ax.set_xticks(range(last[0].shape[-1]), [str(n + 1) for n in range(last[0].shape[-1])])
        axes[0].legend(loc="upper left", fontsize=8)
        bottom, top = (f(ax.get_ylim()[n] for ax in axes) for n, f in ((0, min), (1, max)))
        for ax in axes:
            ax.set_ylim(bottom, top + 0.25 * (top - bottom))
        return made

    def _pair(self, vectors: tuple[Tensor, Tensor]) -> tuple[str, str]:
        one, two = (" ".join(number(x, 3) for x in vectors[n][self.places[n]][:4].tolist()) for n in (0, 1))
        return one, two


@checked
def context(
    *,
    sentences: Sequence[str] = BANKS,
    word: str = "bank",
    width: int = 8,
    layers: int = 3,
    seed: int = 52,
) -> Context:
    """Return the vectors of `word` in two sentences, after per-token layers and after attention.

    Each distinct word has a random vector of `width` numbers (seed), and no positions are added, so the word
    goes in the same. A per-token layer is x + MLP(norm(x)), given one token at a time. Attention is one head
    with random projections, added to x. Raises LessonError unless there are two sentences that hold the word.
    """
    if len(sentences) != 2 or any(word not in one.split() for one in sentences):
        raise LessonError(
            f"{len(sentences)} sentences: {', '.join(map(repr, sentences))}",
            wanted=f"Two are wanted, each with the word {word!r}",
        )
    check_whole("width", width, 1, 1024)
    check_whole("layers", layers, 1, 100)
    words = (tuple(sentences[0].split()), tuple(sentences[1].split()))
    with seeded(seed), torch.no_grad():
        vectors = embedding([*words[0], *words[1]], width)
        stack = [per_token(width) for _ in range(layers)]
        attend = attention_layer(width)
        embedded = [torch.stack([vectors[w] for w in one]) for one in words]
        deep = [through(stack, x) for x in embedded]
        seeing = [attended(attend, x) for x in embedded]
        seeing_past = [attended(attend, x, causal=True) for x in embedded]
    places = (words[0].index(word), words[1].index(word))

    def apart(one: Tensor, two: Tensor) -> float:
        return float((one[places[0]] - two[places[1]]).abs().max())

    differences = tuple(apart(deep[0][n], deep[1][n]) for n in range(layers))
    return Context(
        sentences=(sentences[0], sentences[1]),
        word=word,
        words=words,
        places=places,
        embedded=(embedded[0], embedded[1]),
        token_by_token=(deep[0], deep[1]),
        bidirectional=(seeing[0][0], seeing[1][0]),
        causal=(seeing_past[0][0], seeing_past[1][0]),
        looks_bidirectional=(seeing[0][1][places[0]], seeing[1][1][places[1]]),
        looks_causal=(seeing_past[0][1][places[0]], seeing_past[1][1][places[1]]),
        token_by_token_differences=differences,
        bidirectional_difference=apart(seeing[0][0], seeing[1][0]),
        causal_difference=apart(seeing_past[0][0], seeing_past[1][0]),
        bit_equal=all(torch.equal(deep[0][n][places[0]], deep[1][n][places[1]]) for n in range(layers)),
    )


def embedding(words: Sequence[str], width: int) -> dict[str, Tensor]:
    """Return a random vector (width) for each distinct word, in order of first appearance."""
    return {word: torch.randn(width) for word in dict.fromkeys(words)}


def per_token(width: int) -> nn.Module:
    """Return an MLP behind a norm: what a transformer does to each token alone."""
    return nn.Sequential(
        nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
    )


def attention_layer(width: int) -> MultiHeadAttention:
    """Return one head whose projections keep the size of what they project."""
    layer = MultiHeadAttention(width, 1, bias=False)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=width**-0.5)
    return layer


def attended(layer: MultiHeadAttention, x: Tensor, *, causal: bool = False) -> tuple[Tensor, Tensor]:
    """Return x (t d) after attention was added to it, and the weights (t t)."""
    mask = causal_mask() if causal else None
    return x + layer(x[None], scoring=mask)[0], layer.steps(x[None], scoring=mask).weights[0, 0]


def through(stack: Sequence[nn.Module], x: Tensor) -> Tensor:
    """Return the vectors (layers t d) after each layer, added to what goes in.

    One token at a time: a matrix product of several rows may round in another order than that of one.
    """
    after = []
    for layer in stack:
        x = torch.stack([token + layer(token) for token in x])
        after.append(x)
    return torch.stack(after)
