"""Section 3: products of random vectors spread as the root of their width, and what that does to softmax."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attnscope.core.dense import steps
from attnscope.lesson.drawn import generator_of
from attnscope.lesson.experiment import Experiment, Table
from attnscope.lesson.given import check_ascending, check_whole, checked
from attnscope.looks.drawing import ACCENT, INK_3, SERIES, figure
from attnscope.looks.numbers import count, number, typed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_WIDEST = 4096
_REACH, _BIN = (
    71.0,
    2.0,
)  # the histogram: bins of 2 from -71 to 71, what lies outside counted in the last ones


@dataclass(frozen=True, eq=False)
class Spread(Experiment):
    """Products q·k of random pairs, numbers of variance 1, for each width.

    raw, scaled: standard deviations (n) of q·k and of q·k / √d.   roots: √d (n).   edges: of the histogram's
    bins. raw_counts, scaled_counts: pairs (n bins) in each; the outermost bins hold what lies beyond them
    too.
    """

    widths: tuple[int, ...]
    pairs: int
    raw: Tensor
    scaled: Tensor
    roots: Tensor
    edges: Tensor
    raw_counts: Tensor
    scaled_counts: Tensor

    def tables(self) -> list[Table]:
        rows = tuple(
            (count(d), number(float(root), 2), number(float(raw), 2), number(float(scaled), 3))
            for d, root, raw, scaled in zip(self.widths, self.roots, self.raw, self.scaled, strict=True)
        )
        return [
            Table(
                f"The spread of {count(self.pairs)} random products q·k",
                ("width d", "√d", "standard deviation of q·k", "of q·k ÷ √d"),
                rows,
                "Each number of q and k has mean 0 and variance 1; their products add up d of them.",
            )
        ]

    def draw(self) -> Figure:
        made, (left, right) = figure(1, 2, size=(9.6, 3.6))
        left.plot(self.widths, self.roots, "--", color=SERIES[2], label="√d")
        left.plot(self.widths, self.raw, "o-", color=SERIES[0], markersize=4, label="q·k")
        left.plot(self.widths, self.scaled, "o-", color=SERIES[1], markersize=4, label="q·k ÷ √d")
        left.set_xscale("log", base=2)
        left.set_xticks(self.widths[::2], [count(d) for d in self.widths[::2]])
        left.set_xlabel("width d")
        left.set_title("Standard deviation")
        left.legend()
        at = len(self.widths) - 2 if len(self.widths) > 1 else 0
        shares = (self.raw_counts[at] / self.pairs, self.scaled_counts[at] / self.pairs)
        for share, colour, name in zip(shares, SERIES, ("q·k", "q·k ÷ √d"), strict=False):
            right.stairs(share.numpy(), self.edges.numpy(), color=colour, fill=True, alpha=0.75, label=name)
        right.set_title(f"Share of pairs at d = {count(self.widths[at])}")
        right.set_xlabel("product")
        right.legend()
        return made


@checked
def spread(*, widths: Sequence[int] = WIDTHS, pairs: int = 10_000, seed: int = 0) -> Spread:
    """Return how products of random q and k spread, raw and divided by √d, for each width.

    For independent numbers of mean 0 and variance 1 the variance of q·k is d (Vaswani et al. 2017, footnote
    4). Raises LessonError for a width under 1 or fewer than two pairs.
    """
    check_ascending("widths", widths, _WIDEST)
    check_whole("pairs", pairs, 2, 100_000)
    generator = generator_of(seed)
    edges = torch.arange(-_REACH, _REACH + _BIN, _BIN)
    deviations, counts = [], []
    for d in widths:
        parts = [_products(n, d, generator) for n in _portions(pairs)]
        both = [torch.cat([part[s] for part in parts]).double() for s in (0, 1)]
        deviations.append([float(x.std()) for x in both])
        counts.append([torch.histogram(x.clamp(-_REACH, _REACH).float(), edges).hist.long() for x in both])
    raw, scaled = torch.tensor(deviations, dtype=torch.float64).T
    return Spread(
        tuple(widths),
        pairs,
        raw,
        scaled,
        torch.tensor(widths, dtype=torch.float64).sqrt(),
        edges,
        torch.stack([one[0] for one in counts]),
        torch.stack([one[1] for one in counts]),
    )


def _portions(pairs: int, most: int = 2500) -> list[int]:
    """The pairs in portions, so that 1,024 numbers of each never stand in memory at once."""
    return [most] * (pairs // most) + [pairs % most] * bool(pairs % most)


def _products(n: int, d: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    q, k = (torch.randn(n, 1, 1, d, generator=generator) for _ in range(2))
    found = steps(q, k, k[..., :1])
    return found.products.flatten(), found.scaled.flatten()


@dataclass(frozen=True, eq=False)
class Saturation(Experiment):
    """What softmax makes of one query's scores against some keys, without and with the division by √d.

    For each width: the scores, weights (2 n keys), unscaled first, and of each pair the largest weight, the
    entropy in nats and the norm of the gradient (2 n): the Frobenius norm of the derivative of the weights by
    the scores that softmax is given. middle_*: the medians (2 n) over `draws` draws.   even: the entropy of
    even shares.
    """

    widths: tuple[int, ...]
    keys: int
    draws: int
    scores: Tensor
    weights: Tensor
    largest: Tensor
    entropy: Tensor
    gradient: Tensor
    middle_largest: Tensor
    middle_entropy: Tensor
    middle_gradient: Tensor
    even: float

    def at(self, d: int) -> int:
        """Return the place of a width among `widths`."""
        return self.widths.index(d)

    def tables(self) -> list[Table]:
        at = self.at(512) if 512 in self.widths else len(self.widths) - 1
        d = self.widths[at]
        names = ("not divided", "divided by √d")
        weights = tuple(
            (
                f"key {j + 1}",
                *(number(float(self.scores[s, at, j]), 2) for s in (0, 1)),
                *(number(float(self.weights[s, at, j]), 4) for s in (0, 1)),
            )
            for j in range(self.keys)
        )
        measures = (
            ("largest weight", self.largest, self.middle_largest),
            ("entropy, nats", self.entropy, self.middle_entropy),
            ("norm of the gradient", self.gradient, self.middle_gradient),
        )
        rows = tuple(
            (name, *(_shown(float(x[s, at])) for x in (one, middle) for s in (0, 1)))
            for name, one, middle in measures
        )
        factor = float(self.middle_gradient[1, at] / self.middle_gradient[0, at])
        return [
            Table(
                f"{self.keys} scores at d = {count(d)}", ("", "q·k", "q·k ÷ √d", "weight", "weight"), weights
            ),
            Table(
                f"One query, and the medians of {count(self.draws)}, at d = {count(d)}",
                ("", *names, *(f"{name}, median" for name in names)),
                rows,
                f"Even shares have an entropy of ln {self.keys} = {number(self.even, 3)} nats. The division "
                f"makes the median gradient {typed(factor, 0)} times larger.",
            ),
        ]

    def draw(self) -> Figure:
        made, (left, right) = figure(1, 2, size=(9.6, 3.6))
        at = self.at(512) if 512 in self.widths else len(self.widths) - 1
        for s, (name, colour) in enumerate((("not divided", SERIES[0]), ("divided by √d", SERIES[1]))):
            place = torch.arange(self.keys) + 0.2 * (2 * s - 1)
            left.bar(place, self.weights[s, at].numpy(), width=0.38, color=colour, label=name)
            right.plot(self.widths, self.middle_gradient[s], "o-", color=colour, markersize=4, label=name)
        left.set_xticks(range(self.keys), [f"key {j + 1}" for j in range(self.keys)], fontsize=8)
        left.set_ylim(0, 1.05)
        left.set_title(f"Weights at d = {count(self.widths[at])}")
        left.legend()
        right.set_xscale("log", base=2)
        right.set_yscale("log")
        right.set_xticks(self.widths[::2], [count(d) for d in self.widths[::2]])
        right.set_xlabel("width d")
        right.set_title(f"Median norm of the gradient, {count(self.draws)} draws")
        right.axvline(self.widths[at], color=ACCENT, linewidth=0.8)
        right.axhline(1e-3 * float(self.middle_gradient[1, at]), color=INK_3, linewidth=0.8, linestyle=":")
        return made


@checked
def saturation(
    *, widths: Sequence[int] = WIDTHS, keys: int = 8, draws: int = 1000, seed: int = 1016
) -> Saturation:
    """Return what softmax makes of `keys` scores, raw and divided by √d, for one draw and over many.

    The first draw is the one whose weights are kept. Weights, and the gradient through them, are those of the
    dense steps in float64. Raises LessonError for a width under 1, fewer than two keys, or no draw.
    """
    check_ascending("widths", widths, _WIDEST)
    check_whole("keys", keys, 2, 64)
    check_whole("draws", draws, 1, 10_000)
    kept = []
    for d in widths:
        products, scaled = _drawn(d, keys, draws, seed)
        kept.append([_measured(x[:, 0, 0].double()) for x in (products, scaled)])
    fields = [torch.stack([torch.stack([one[s][f] for one in kept]) for s in (0, 1)]) for f in range(5)]
    scores, weights, largest, entropy, gradient = fields  # (2 n draws keys), then (2 n draws)
    even = steps(torch.zeros(1, 1, 1, 1), torch.zeros(1, 1, keys, 1), torch.zeros(1, 1, keys, 1)).lse
    return Saturation(
        tuple(widths),
        keys,
        draws,
        scores[:, :, 0],
        weights[:, :, 0],
        largest[:, :, 0],
        entropy[:, :, 0],
        gradient[:, :, 0],
        largest.median(dim=-1).values,
        entropy.median(dim=-1).values,
        gradient.median(dim=-1).values,
        float(even),
    )


def _drawn(d: int, keys: int, draws: int, seed: int) -> tuple[Tensor, Tensor]:
    """Products and scaled products (draws 1 1 keys); the first draw is the same however many there are."""
    generator = generator_of(seed)
    sizes = [1, draws - 1] if draws > 1 else [1]
    found = []
    for n in sizes:
        q = torch.randn(n, 1, 1, d, generator=generator)
        k = torch.randn(n, 1, keys, d, generator=generator)
        found.append(steps(q, k, k[..., :1]))
    return torch.cat([one.products for one in found]), torch.cat([one.scaled for one in found])


def _measured(scores: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """scores (n keys) -> scores, weights (n keys), largest, entropy, norm of the gradient (n each)."""
    given = scores[:, None, :, None].clone().requires_grad_()  # (n 1 keys 1): keys of width 1, asked by 1
    one = torch.ones(len(scores), 1, 1, 1, dtype=scores.dtype)
    weights = steps(one, given, given).weights[:, 0, 0]  # (n keys)
    rows = [
        torch.autograd.grad(weights[:, j].sum(), given, retain_graph=True)[0].flatten(1)
        for j in range(weights.shape[1])
    ]
    w = weights.detach()
    entropy = torch.special.entr(w).sum(dim=-1)
    return scores, w, w.amax(dim=-1), entropy, torch.stack(rows).norm(dim=(0, 2))


def _shown(x: float) -> str:
    return number(x, 4) if abs(x) >= 1e-3 or x == 0 else number(x, 6)
