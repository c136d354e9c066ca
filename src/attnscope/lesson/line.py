"""Section 11's line as a model reads it, in float64, and as its characters are written to be seen."""

from __future__ import annotations

import torch
from torch import Tensor

from attnscope.errors import LessonError
from attnscope.gpt import GPT, load_shipped

LINE = "ROMEO:\nBut, soft! what light"
_SIGNS = {" ": "␣", "\n": "↵"}


def in_sight(character: str) -> str:
    """Return a character as it stands on an axis: a space as ␣, a line's end as ↵.

    >>> in_sight("a"), in_sight(" ")
    ('a', '␣')
    """
    return _SIGNS.get(character, character)


def of_line(model: str | GPT, line: str) -> tuple[GPT, str, Tensor]:
    """Return the model in float64, its name, and the line's ids (1 t).

    A GPT that is handed in is copied, and is left in its own dtype. Raises
    MissingModel, UnknownCharacter, or LessonError for what is no model.
    """
    if isinstance(model, str):
        ours, name = load_shipped(model), model
    elif not isinstance(model, GPT):
        raise LessonError(
            f"model is {type(model).__name__}", wanted='A GPT of attnscope is wanted, or a name as "lesson"'
        )
    else:
        ours, name = GPT(model.config, model.tokenizer), "the model given"
        ours.load_state_dict(model.state_dict())
    return ours.double().eval(), name, torch.tensor([ours.tokenizer.encode(line)])
