"""A model on the bench with one input: run as it is, run with nothing taken out, and run without what is
asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from attnscope.errors import ModelError, NothingRecorded, RecordingError
from attnscope.knocking.answer import Answer, answer_of
from attnscope.knocking.cut import Cut
from attnscope.knocking.moved import Moved, Shifted, moved_by, shifted_by
from attnscope.knocking.removal import Place, Removal
from attnscope.knocking.result import Knockout, Nothing, TakenOut
from attnscope.listen.call import Call
from attnscope.listen.changing import Change, Changing, Write
from attnscope.listen.record import listening, refuse_compiled
from attnscope.recording import Site
from attnscope.recording.asked import index_of

Progress = Callable[[str, int, int], None]
"""What is being done, steps done, steps in all."""


@dataclass(frozen=True, eq=False)
class Text:
    """What stands at the positions of the answer: ids (b t), and which of them are no padding (b t)."""

    ids: Tensor
    real: Tensor

    def following(self) -> Tensor:
        """The id that stands after each position, -1 where none does."""
        found = torch.full_like(self.ids, -1)
        there = self.real[:, :-1] & self.real[:, 1:]
        found[:, :-1] = torch.where(there, self.ids[:, 1:], -1)
        return found


@dataclass(eq=False)
class Bench:
    """Runs `run`, a forward of `model` on one input, once as it is and once with nothing taken out.

    text: what stands at the positions of the answer, where that is known.   predicts: whether the answer is
    about the token after each position; None leaves it to the call that something is taken out of: a
    decoder's is.   calls: the calls of attention of a forward, in order.   whole: the answer as it is.
    nothing: the answer with nothing taken out held against it.

    Raises ModelError for a model in training, NothingRecorded where it makes no call that can be changed.
    """

    model: nn.Module
    run: Callable[[], Any]
    text: Text | None = None
    predicts: bool | None = None
    progress: Progress | None = field(default=None, repr=False)
    calls: list[Place] = field(init=False, repr=False)
    why_not: dict[str, str] = field(init=False, repr=False)
    whole: Answer = field(init=False, repr=False)
    nothing: Nothing = field(init=False)

    def __post_init__(self) -> None:
        _refuse(self.model)
        refuse_compiled(self.model)
        self.model = getattr(self.model, "_orig_mod", self.model)
        self._tell("Running the model as it is", 0)
        self.whole = self._answer()
        heard, again = self._changed(lambda call, name, order: (), "Running it with nothing taken out", 1)
        self.calls, self.why_not = heard.calls, heard.why_not
        if not self.calls:
            raise _nothing_to_change(self.model, self.why_not)
        self.nothing = Nothing(again.bit_equal(self.whole), again.farthest(self.whole))

    def without(self, *cuts: Cut) -> Knockout:
        """The answer without what these cuts name, held against the answer as it is.

        Raises RecordingError for a call that is not there, ShapeError for a head, row or column that is not,
        Uncertified for cells of a head whose rows do not re-add.
        """
        by_place: dict[Place, list[tuple[int, Cut]]] = {}
        for number, cut in enumerate(cuts):
            by_place.setdefault(self._place(cut), []).append((number, cut))
        removal = Removal(by_place)
        after = self._changed(removal, "Running it without", 2)[1]
        missed = [place for place in by_place if place not in removal.labels]
        if missed:
            raise RecordingError(
                f"{missed[0][0]} was not called this time",
                wanted="A model that makes the same calls each run",
            )
        self._tell("Comparing the answers", 3)
        moved, shifted = self._held_against(after, removal)
        taken = tuple(self._taken(number, removal, by_place) for number in range(len(cuts)))
        real = None if self.text is None else self.text.real.cpu()
        return Knockout(taken, self.nothing, moved, shifted, real)

    def _held_against(self, after: Answer, removal: Removal) -> tuple[Moved | None, Shifted | None]:
        before = self.whole
        if before.values.shape != after.values.shape:
            raise ModelError(
                f"The answer was {tuple(before.values.shape)} and is {tuple(after.values.shape)} without",
                wanted="Answers of one shape",
            )
        if before.kind == "states":
            return None, shifted_by(before.values, after.values)
        following = None
        decodes = any(label.stack == "decoder" for label in removal.labels.values())
        about_next = decodes if self.predicts is None else self.predicts
        if about_next and self.text is not None and self.text.ids.shape == before.values.shape[:2]:
            following = self.text.following().to(before.values.device)
        return moved_by(before.values, after.values, following), None

    def _taken(self, number: int, removal: Removal, by_place: dict[Place, list[tuple[int, Cut]]]) -> TakenOut:
        place = next(place for place, cuts in by_place.items() if number in (n for n, _ in cuts))
        cut = replace(removal.resolved[number], site=place[0], order=place[1])
        return TakenOut(
            cut, self.calls.index(place), removal.labels[place].number, removal.weights.get(number),
            removal.verdicts.get(number),
        )  # fmt: skip

    def _place(self, cut: Cut) -> Place:
        """The call that a cut speaks of. Raises RecordingError."""
        site = cut.site
        if isinstance(site, int):
            return self.calls[index_of(site, len(self.calls), "call of attention")]
        place = (site.name, site.order) if isinstance(site, Site) else (site, cut.order)
        if place in self.calls:
            return place
        reason = self.why_not.get(place[0])
        listed = [f"{at} {name}" for at, (name, _) in enumerate(self.calls)]
        shown = ", ".join(listed if len(listed) <= 6 else [*listed[:3], "…", *listed[-2:]])
        said = f": {reason}" if reason else ""
        raise RecordingError(
            f"No call of attention of {place[0]!r:.80} can be changed{said}", wanted=f"One of {shown}"
        )

    def _changed(self, change: Change, text: str, done: int) -> tuple[Changing, Answer]:
        """What a forward gives with its calls changed; its progress is told at every call, to be left
        there."""

        def told(call: Call, name: str, order: int) -> Iterable[Write]:
            self._tell(text, done)
            return change(call, name, order)

        session = Changing(self.model, told)
        with listening(session):
            return session, self._answer()

    def _answer(self) -> Answer:
        with torch.inference_mode(False), torch.no_grad():
            return answer_of(self.model, self.run())

    def _tell(self, text: str, done: int) -> None:
        if self.progress is not None:
            self.progress(text, done, 4)


def _refuse(model: nn.Module) -> None:
    if not isinstance(model, nn.Module):
        raise ModelError(
            f"knockout() got a {type(model).__name__}",
            wanted="A torch.nn.Module",
            hint="For a pipeline, pass pipeline.model",
        )
    if model.training:
        raise ModelError(
            f"The {type(model).__name__} is in training, where two runs of one input may differ",
            wanted="A model in evaluation",
            hint="Call model.eval() first",
        )


def _nothing_to_change(model: nn.Module, why_not: dict[str, str]) -> NothingRecorded:
    reasons: Sequence[str] = list(dict.fromkeys(why_not.values()))
    return NothingRecorded(
        f"The {type(model).__name__} made no call of attention that can be changed"
        + (f": {reasons[0]}" if reasons else ""),
        wanted="Calls through transformers' attention registry, F.scaled_dot_product_attention, "
        "attnscope.attention or nn.MultiheadAttention",
        hint=""
        if reasons
        else 'A Hugging Face model can be loaded with attn_implementation="sdpa" or "eager"',
    )
