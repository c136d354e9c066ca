"""The walk of one query: from its projection to its output, one number or one vector a step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from attnscope.errors import LessonError
from attnscope.lesson.walk.facts import top
from attnscope.lesson.walk.filling import Piece, choose, fill, text
from attnscope.lesson.walk.rules import Env, Ref, operands
from attnscope.lesson.walk.sentences import STAGES, STEPS, StepRule
from attnscope.lesson.walk.sheet import Sheet
from attnscope.lesson.walk.values import Values, evaluate


@dataclass(frozen=True)
class Step:
    """A step: its number in the walk, its index in its stage (both from 1), what goes in, what comes out.

    `part` is the part of the formula at work, `guess` a number to predict, and `ask` the question.
    """

    number: int
    stage: str
    index: int
    of: int
    name: str
    part: str
    operands: tuple[Ref, ...]
    results: tuple[Ref, ...]
    sentence: tuple[Piece, ...]
    guess: Ref | None
    ask: str

    @property
    def text(self) -> str:
        """The sentence as plain text."""
        return text(self.sentence)

    def to_dict(self) -> dict[str, Any]:
        """Return the step as the page has it."""
        kept = {name: getattr(self, name) for name in ("number", "stage", "index", "of", "name", "part")}
        return kept | {
            "operands": [_ref(ref) for ref in self.operands],
            "results": [_ref(ref) for ref in self.results],
            "sentence": [piece.to_dict() for piece in self.sentence],
            "guess": self.guess and _ref(self.guess),
            "ask": self.ask,
        }


@dataclass(frozen=True, eq=False)
class Walk:
    """The walk of the word at position `query`: all values of its sheet, and the steps in order."""

    sheet: Sheet
    query: int
    values: Values
    steps: tuple[Step, ...]


def walk(sheet: Sheet, query: int = 0) -> Walk:
    """Return the walk of the word at position `query`: 6 n + 5 steps for n words.

    >>> from attnscope.lesson.walk.recipe import first_sheet
    >>> walk(first_sheet(), 2).steps[4].text
    'How well does sat’s query fit cat’s key? 2 × 2 + 0 × 0 = 4.'

    Raises LessonError where there is no such position.
    """
    if isinstance(query, bool) or not isinstance(query, int) or not 0 <= query < sheet.n:
        raise LessonError(
            f"There is no word at position {query!r:.40}", wanted=f"0 to {sheet.n - 1} is wanted"
        )
    values = evaluate(sheet)
    found = [(rule, env) for rule in STEPS for env in _envs(values, rule, query)]
    of = {stage: sum(rule.stage == stage for rule, _ in found) for stage, *_ in STAGES}
    index = dict.fromkeys(of, 0)
    steps: list[Step] = []
    for rule, env in found:
        index[rule.stage] += 1
        steps.append(_step(values, rule, env, (len(steps) + 1, index[rule.stage], of[rule.stage])))
    return Walk(sheet, query, values, tuple(steps))


def _envs(values: Values, rule: StepRule, query: int) -> Iterator[Env]:
    env = {"i": query, "t": top(values, query)}
    for j in range(values.sheet.n) if rule.over else ():
        yield env | {"j": j}
    if not rule.over:
        yield env


def _step(values: Values, rule: StepRule, env: Env, place: tuple[int, int, int]) -> Step:
    results = tuple(_refs(values, rule.results, env))
    made_of = dict.fromkeys(one for ref in results for one in operands(values, ref))
    ask = text(fill(values, env, choose(values, env, rule.ask)))
    guess = next(_refs(values, rule.guess, env)) if ask else None
    sentence = [piece for group in rule.sentence for piece in fill(values, env, choose(values, env, group))]
    number, index, of = place
    part = next(part for stage, _, part in STAGES if stage == rule.stage)
    name = text(fill(values, env, rule.name))
    return Step(
        number, rule.stage, index, of, name, part, tuple(made_of), results, tuple(sentence), guess, ask
    )


def _refs(values: Values, slots: tuple[str, ...], env: Env) -> Iterator[Ref]:
    """The refs of a grid's slots: an index that is not bound runs over all of its places."""
    grid, *indices = slots
    ranges = [
        (int(one),) if one.isdigit() else (env[one],) if one in env else range(values.sizes[one])
        for one in indices
    ]
    for at in product(*ranges):
        yield grid, at


def _ref(ref: Ref) -> dict[str, Any]:
    return {"grid": ref[0], "at": list(ref[1])}
