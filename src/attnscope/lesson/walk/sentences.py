"""What the walk says: the name, the results, the sentence of each step, and a question to guess at.

i is the word that asks, j the key at hand; the small language is that of `templates`. Of each group of cases
the first that holds is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from attnscope.lesson.walk.templates import Template, parse

STAGES = (
    ("project", "Project", "qkv"), ("score", "Score", "product"), ("scale", "Scale", "root"),
    ("mask", "Mask", "mask"), ("normalise", "Normalise", "softmax"), ("mix", "Mix", "values"),
)  # fmt: skip
"""Name, title, and the part of softmax(q Kᵀ / √d + mask) V at work."""

FORM = {
    **dict.fromkeys(("x", "wq", "wk", "wv", "q", "k", "v", "products"), "typed"),
    **dict.fromkeys(("scaled", "scores", "peaks", "shifts"), "two"),
    "gaps": "typed",  # in full, so that e to its power can be checked by hand
    **dict.fromkeys(("exps", "sums"), "amount"),
    **dict.fromkeys(("weights", "wholes", "parts", "out"), "three"),
}
"""How the numbers of each grid are written."""


class Case(NamedTuple):
    """A template, said when its condition holds."""

    when: str
    say: Template


Group = tuple[Case, ...]


@dataclass(frozen=True)
class StepRule:
    """A step, or one for every j with over="j". Indices of the results that are not bound run over all."""

    stage: str
    over: str
    name: Template
    results: tuple[str, ...]
    sentence: tuple[Group, ...]
    guess: tuple[str, ...] = ()
    ask: Group = ()


def _cases(*cases: tuple[str, str] | str) -> Group:
    return tuple(
        Case("", parse(one)) if isinstance(one, str) else Case(one[0], parse(one[1])) for one in cases
    )


_FREE = ("any {0}", " Typed in by hand: {{&j|typed {0}: {{j}}}}; those numbers no longer follow X and W{0}.")


def _free(grid: str) -> Group:
    return _cases((_FREE[0].format(grid), _FREE[1].format(grid)))


STEPS = (
    StepRule(
        "project", "", parse("{i}’s query"), ("q", "i", "c"),
        (
            _cases(
                ("typed q", "{i}’s query was typed in by hand: *[{,c: q[i,c]}]*. "
                            "The typed numbers no longer follow X and Wq."),
                ("shallow", "{i}’s row of X times Wq is its query, what it looks for: "
                            "*{+a: x[w,a] × wq[a,0]} = {q[i,0]}*."),
                "{i}’s row of X times Wq is its query, what it looks for: *[{,c: q[i,c]}]*. "
                "The first number is {+a: x[w,a] × wq[a,0]} = {q[i,0]}.",
            ),
        ),
    ),
    StepRule(
        "project", "", parse("every key"), ("k", "j", "c"),
        (
            _cases(
                ("few", "Every word’s row of X times Wk is its key, by which it is found: "
                        "{,j: {j} *[{,c: k[j,c]}]*}."),
                "Every word’s row of X times Wk is its key, by which it is found.",
            ),
            _free("k"),
        ),
    ),
    StepRule(
        "project", "", parse("every value"), ("v", "j", "c"),
        (
            _cases(
                ("few", "Every word’s row of X times Wv is its value, what it hands over: "
                        "{,j: {j} *[{,c: v[j,c]}]*}."),
                "Every word’s row of X times Wv is its value, what it hands over.",
            ),
            _free("v"),
        ),
    ),
    StepRule(
        "score", "j", parse("product with {j}"), ("products", "i", "j"),
        (
            _cases(
                ("self", "How well does {i}’s query fit its own key? "),
                "How well does {i}’s query fit {j}’s key? ",
            ),
            _cases("*{+c: q[i,c] × k[j,c]} = {products[i,j]}*."),
        ),
        ("products", "i", "j"),
        _cases("What is {i}’s query times {j}’s key, [{,c: q[i,c]}] · [{,c: k[j,c]}]?"),
    ),
    StepRule(
        "scale", "j", parse("score of {j}"), ("scaled", "i", "j"),
        (
            _cases(
                ("not scaled", "The scale is off: nothing is divided, and {j}’s score is *{scaled[i,j]}*."),
                ("first", "{j}’s score is *{products[i,j]} ÷ √{:d} = {scaled[i,j]}*. "
                          "Divided by √d, the scores spread no wider when d grows."),
                "{j}’s score is *{products[i,j]} ÷ √{:d} = {scaled[i,j]}*.",
            ),
        ),
        ("scaled", "i", "j"),
        _cases(("scaled", "What is {products[i,j]} ÷ √{:d}?")),
    ),
    StepRule(
        "mask", "j", parse("mask on {j}"), ("scores", "i", "j"),
        (
            _cases(
                ("hidden", "{j} comes after {i}, so the causal mask hides it: its score becomes "
                           "*{scores[i,j]}*, and its weight will be exactly 0."),
                ("causal and self", "{i} may always look at itself: the score stays *{scores[i,j]}*."),
                ("causal", "{j} comes before {i} and may be seen: its score stays *{scores[i,j]}*."),
                ("self", "Nothing is masked, and {i} sees itself too: the score stays *{scores[i,j]}*."),
                "Nothing is masked, and {i} sees {j}: the score stays *{scores[i,j]}*.",
            ),
        ),
    ),
    StepRule(
        "normalise", "j", parse("e to the score of {j}"), ("exps", "i", "j"),
        (
            _cases(("first and shifted",
                    "The row’s largest score, {peaks[i]}, is far from 0. It is first taken from every score, "
                    "which leaves the weights as they are. ")),
            _cases(
                ("hidden", "e to the power {gaps[i,j]} is exactly *{exps[i,j]}*: "
                           "{j} adds nothing to the sum."),
                ("gone", "e to the power {gaps[i,j]} is smaller than any number kept here, so it counts as "
                         "*{exps[i,j]}*, although {j} is visible."),
                ("first", "e to the power {gaps[i,j]} is *{exps[i,j]}*. Every score turns positive this way, "
                          "and large ones stand out."),
                "e to the power {gaps[i,j]} is *{exps[i,j]}*.",
            ),
        ),
        ("exps", "i", "j"),
        _cases(("visible and not gone", "What is e to the power {gaps[i,j]}?")),
    ),
    StepRule(
        "normalise", "", parse("sum of the row"), ("sums", "i"),
        (
            _cases(
                ("alone", "{i} sees one word only, so the row’s sum is that one number, *{sums[i]}*."),
                "The row adds up: *{+j|visible: exps[i,j]} = {sums[i]}*. Each share of the sum is a weight.",
            ),
        ),
        ("sums", "i"),
        _cases("What does the row add up to?"),
    ),
    StepRule(
        "normalise", "j", parse("weight of {j}"), ("weights", "i", "j"),
        (
            _cases(
                ("hidden", "{j} is hidden: 0 ÷ {sums[i]} is exactly *{weights[i,j]}*."),
                ("faded", "{exps[i,j]} ÷ {sums[i]} is too small to keep: {j} is visible, and gets "
                          "*{weights[i,j]}* all the same."),
                ("self", "*{exps[i,j]} ÷ {sums[i]} = {weights[i,j]}*: {i} keeps {weights[i,j]} of its "
                         "attention for itself."),
                "*{exps[i,j]} ÷ {sums[i]} = {weights[i,j]}*: {j} gets {weights[i,j]} of {i}’s attention.",
            ),
            _cases(
                ("last and round", " The weights of the row add up to 1."),
                ("last", " The weights of the row add up to 1; rounded one by one, as they stand here, "
                         "they make {:shown}."),
            ),
        ),
        ("weights", "i", "j"),
        _cases(("visible and not faded", "What share of {sums[i]} is {exps[i,j]}?")),
    ),
    StepRule(
        "mix", "j", parse("part of {j}"), ("parts", "i", "j", "c"),
        (
            _cases(
                ("hidden", "{j} is hidden: *{weights[i,j]}* times its value [{,c: v[j,c]}] adds nothing."),
                ("self", "*{weights[i,j]}* times its own value [{,c: v[j,c]}] is *[{,c: parts[i,j,c]}]*."),
                "*{weights[i,j]}* times {j}’s value [{,c: v[j,c]}] is *[{,c: parts[i,j,c]}]*.",
            ),
        ),
        ("parts", "i", "j", "0"),
        _cases(("visible and shallow", "What is {weights[i,j]} × {v[j,0]}?"),
               ("visible", "What is {weights[i,j]} × {v[j,0]}, the first number of the part?")),
    ),
    StepRule(
        "mix", "", parse("output of {i}"), ("out", "i", "c"),
        (
            _cases(
                ("alone", "{i} sees one word only, so that word’s value is its output, *[{,c: out[i,c]}]*."),
                "The parts add up to {i}’s output, *[{,c: out[i,c]}]*.",
            ),
            _cases(
                ("looks mostly and inward", " Its own value [{,c: v[t,c]}] has {weights[i,t]} of "
                                             "the weight."),
                ("looks mostly", " {t}’s value [{,c: v[t,c]}] has {weights[i,t]} of the weight."),
                ("looks almost and inward", " Nearly all of it is its own value."),
                ("looks almost", " Nearly all of it is {t}’s value."),
                ("looks even", " Every value it sees has the same weight."),
                ("looks alike", " Every value it sees has about the same weight."),
                ("looks about", " Every value it sees has about the same weight."),
                ("alone", ""),
                " No value has more than half of the weight.",
            ),
            _cases(" In a transformer this output is projected and added to {i}’s residual stream."),
        ),
        ("out", "i", "0"),
        _cases(("shallow", "What is the output?"), "What is the first number of the output?"),
    ),
)  # fmt: skip

LOOK = _cases(
    ("looks only and inward", "{i} {:now}looks only at itself, the one word it sees"),
    ("looks only", "{i} {:now}looks only at {:tops}, the one word it sees"),
    ("looks even", "{i} {:now}looks evenly at the {:sees} words it sees"),
    ("looks alike", "{i} {:now}looks about evenly at the {:sees} words it sees"),
    ("looks about", "{i} {:now}looks about evenly at the {:sees} words it sees, a little more at {:tops}"),
    ("looks almost", "{i} {:now}looks almost only at {:tops}"),
    ("looks mostly", "{i} {:now}looks mostly at {:tops}"),
    ("looks equally", "{i} {:now}looks most, and equally, at {:tops}"),
    "{i} {:now}looks more at {:tops} than at any other word",
)
"""What a row looks at; {:now} is "", "now " or "still "."""
