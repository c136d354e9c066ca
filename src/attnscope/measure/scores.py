"""The scores of a head: of each its name, its definition, its formula, its source, and the text it needs.

This list is the one place where a score is defined in words: the table's columns, the command line and
docs/heads.md take it from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TextKind = Literal["plain", "twice", "four", "needle"]
"""plain: running text.   twice: n random tokens, and the same again, nothing in front.   four: a start token,
then n random tokens four times.   needle: a sentence hidden in a text, and a question about it.
"""

SINK_ROWS = 64
"""Rows of a plain text over which the sink is measured."""

NEAR = 8
"""Tokens: as far as this a key counts as local, the query's own token included."""


@dataclass(frozen=True)
class Score:
    """name: the column of the table.   text: what it is measured on.   unit: "weight" (a share, 0 to 1),
    "nats" or "tokens".   places: rows and keys must be places of one sequence.   cells: single cells are
    needed, and so q and k.   tokens: the ids of the text are needed.
    """

    name: str
    title: str
    definition: str
    formula: str
    source: str
    text: TextKind
    unit: Literal["weight", "nats", "tokens"] = "weight"
    places: bool = True
    cells: bool = True
    tokens: bool = False


SCORES = (
    Score(
        "previous_token", "previous token",
        "The mean weight that a token gives to the one before it.",
        "mean over i ≥ 1 of A[i, i−1]",
        "Olsson et al. 2022; TransformerLens", "plain",
    ),
    Score(
        "self_token", "own token",
        "The mean weight that a token gives to itself.",
        "mean over i of A[i, i]",
        "attnscope", "plain", cells=False,
    ),
    Score(
        "local", "local",
        f"The mean weight on keys at most {NEAR} tokens away, the query's own included.",
        f"mean over i of the sum over |i−j| ≤ {NEAR} of A[i, j]",
        "attnscope", "plain", cells=False,
    ),
    Score(
        "sink", "sink",
        f"The mean weight on the first token, over the first T = {SINK_ROWS} rows of a plain text.",
        "α₀ = sum over i < T of A[i, 0], divided by T",
        "Gu et al., arXiv 2410.10781", "plain", places=False, cells=False,
    ),
    Score(
        "learned_sink", "learned sink",
        "The mean weight on a learned sink: what a row does not give to any key.",
        "mean over i of 1 − sum over j of A[i, j]",
        "gpt-oss", "plain", places=False, cells=False,
    ),
    Score(
        "entropy", "entropy",
        "The mean entropy of a row, of its weights on keys as they stand.",
        "mean over i of −sum over j of A[i, j] ln A[i, j]",
        "Shannon 1948", "plain", "nats", places=False, cells=False,
    ),
    Score(
        "distance", "distance",
        "The mean distance from query to key, by weight.",
        "sum of A[i, j] |i−j|, divided by the sum of A[i, j]",
        "Vig and Belinkov 2019", "plain", "tokens", cells=False,
    ),
    Score(
        "induction_mass", "induction, mass",
        "For each query whose token stood earlier, the weight on what followed the earlier copies.",
        "sum over copies p < i with t_p = t_i of A[i, p+1], mean over the queries i that have one",
        "HeadVis", "plain", tokens=True,
    ),
    Score(
        "induction_stripe", "induction, stripe",
        "On n random tokens twice, the mean weight on the token that followed the same token the first time.",
        "mean over i ≥ n of A[i, i−n+1]",
        "TransformerLens, Main_Demo; its whole diagonal(1−n) has one entry more, which is no pair", "twice",
    ),
    Score(
        "duplicate_token", "duplicate token",
        "On n random tokens twice, the mean weight on the same token the first time.",
        "mean over i ≥ n of A[i, i−n]",
        "TransformerLens", "twice",
    ),
    Score(
        "induction_mul", "induction, share of all weight",
        "On n random tokens twice, the share of all weight that lies on tokens after earlier copies.",
        "sum(A·D) / sum(A), D[i, p+1] = 1 for copies p < i",
        "TransformerLens head_detector, “mul”", "twice", tokens=True,
    ),
    Score(
        "induction_mul_rest", "induction, share past the first token",
        "The same, the weight on the first token left out of the sum that it is a share of.",
        "sum(A·D) / (sum(A) − sum over i of A[i, 0])",
        "TransformerLens head_detector, “mul” with exclude_bos", "twice", tokens=True,
    ),
    Score(
        "prefix_matching", "prefix matching",
        "On a start token and n random tokens four times, the mean weight on a token after an earlier copy.",
        "mean over all pairs p < i with t_p = t_i of A[i, p+1]",
        "Olsson et al. 2022, whose text says “preceded”; the mechanism is the token after", "four",
        tokens=True,
    ),
    Score(
        "retrieval", "retrieval",
        "Writing the answer to a question about a hidden sentence, the share of the sentence's tokens that "
        "the model wrote while the head's largest weight stood on them.",
        "|{needle places that were the top key of the step that wrote their token}| / needle length",
        "Wu et al., arXiv 2404.15574", "needle", places=False, cells=False, tokens=True,
    ),
)  # fmt: skip

NAMES = tuple(score.name for score in SCORES)
SCORE = {score.name: score for score in SCORES}
