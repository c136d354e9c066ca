"""The text as blocks: what is trained on, what is held back, and which blocks make up a step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from attnscope.errors import TrainingError
from attnscope.gpt.tokenizer import CharacterTokenizer


@dataclass(frozen=True, eq=False)
class Split:
    """Ids (n,) of the first 90% of a text, and of its last 10%."""

    training: Tensor
    validation: Tensor


def read_text(path: Path) -> str:
    """The text of a UTF-8 file. Raises TrainingError where there is none or it is something else."""
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise TrainingError(f"There is no file {path}", wanted="A text file to train on") from None
    except IsADirectoryError:
        raise TrainingError(f"{path} is a folder", wanted="A text file to train on") from None
    except OSError as error:
        raise TrainingError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise TrainingError(
            f"{path} is not UTF-8 text: byte {error.start} is 0x{error.object[error.start]:02X}",
            wanted="A plain text file",
            hint="`iconv -f LATIN1 -t UTF-8` converts older files",
        ) from None
    if not text:
        raise TrainingError(f"{path} is empty", wanted="A text to train on")
    return text


def split(text: str, tokenizer: CharacterTokenizer, context: int) -> Split:
    """The first 90% and the last 10% of a text, by position. Raises TrainingError where it is too short."""
    ids = torch.tensor(tokenizer.encode(text), dtype=torch.long)
    cut = int(0.9 * len(ids))
    halves = Split(ids[:cut], ids[cut:])
    if len(halves.training) < 2 * (context + 1) or len(halves.validation) < 2:
        least = max(20, -(-2 * (context + 1) * 10 // 9))
        raise TrainingError(
            f"The text has {len(text)} characters",
            wanted=f"At least {least}, so that its first 90% holds two blocks of {context}",
            hint="A text of some hundred thousand characters teaches a model something",
        )
    return halves


class Blocks:
    """The blocks of each step, as a function of the seed and the step alone: resuming needs no other state.

    An epoch cuts the text into blocks of context length at a random first character and goes through them in
    a random order, each once.
    """

    def __init__(self, ids: Tensor, context: int, batch: int, seed: int) -> None:
        self._ids, self._context, self._batch, self._seed = ids, context, batch, seed
        # One block is lost to the random first character, so that every epoch has as many.
        self._per_epoch = (len(ids) - context) // context
        self._epoch, self._starts = -1, torch.empty(0, dtype=torch.long)

    def at(self, step: int) -> tuple[Tensor, Tensor]:
        """The ids of step number `step` and of the characters after them, (batch context) each."""
        places = range(step * self._batch, (step + 1) * self._batch)
        starts = torch.stack([self._start(place) for place in places])
        window = self._ids[starts[:, None] + torch.arange(self._context + 1)]  # (batch context + 1)
        return window[:, :-1], window[:, 1:]

    def _start(self, place: int) -> Tensor:
        epoch, within = divmod(place, self._per_epoch)
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed((self._seed * 1_000_003 + epoch) % 2**63)
            first = torch.randint(self._context, (), generator=generator)
            order = torch.randperm(self._per_epoch, generator=generator)
            self._epoch, self._starts = epoch, first + order * self._context
        return self._starts[within]
