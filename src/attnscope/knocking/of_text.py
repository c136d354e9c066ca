"""Knock-outs of a named model on a text: the bench for it, and tokens by their names."""

from __future__ import annotations

from typing import Any

from attnscope.knocking.bench import Bench, Progress
from attnscope.knocking.result import Knockout
from attnscope.knocking.running import text_of
from attnscope.models import Subject
from attnscope.models.encoded import Encoded


def bench_of(subject: Subject, text: str | Encoded, *, progress: Progress | None = None) -> Bench:
    """The bench of a model with one text; a decoder that has nothing to read answers first.

    Raises TextError for a text that it cannot read, and what Bench raises.
    """
    encoded = subject.complete(subject.encode(text) if isinstance(text, str) else text)
    given = encoded.inputs
    ids = given if "input_ids" in given else {"input_ids": given.get("ids")}
    return Bench(
        subject.module, lambda: subject.forward(encoded)[None], text_of(ids), subject.predicts, progress
    )


def told_of(
    subject: Subject, found: Knockout, position: int | None = None, *, top: int = 5
) -> dict[str, Any]:
    """What a knock-out tells at one position as JSON values, its tokens as the page and the terminal have
    them.
    """
    told = found.to_dict(position, top=top)
    for side in ("before", "after"):
        for token in told["next"].get(side, ()):
            token["token"] = subject.codec.token(token["id"]).to_dict()
    return told
