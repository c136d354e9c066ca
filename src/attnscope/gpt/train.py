"""A training run that can be stopped at any step and ends the same, to the last bit, as if it never was."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

from attnscope.errors import TrainingError
from attnscope.files import make_folder, partial, reading
from attnscope.gpt.checkpoint import NAME, Checkpoint, Settings, not_whole, read_checkpoint
from attnscope.gpt.data import Blocks, split
from attnscope.gpt.evaluate import validation_loss
from attnscope.gpt.history import History
from attnscope.gpt.model import GPT
from attnscope.gpt.optimiser import Optimiser
from attnscope.gpt.presets import Preset
from attnscope.gpt.store import CONFIG, WEIGHTS, load, save_model
from attnscope.gpt.tokenizer import CharacterTokenizer

THREADS_A_CORE = 4


@dataclass(frozen=True)
class Progress:
    """After a step: how many of how many are done, the batch's loss, and the validation loss if measured."""

    step: int
    steps: int
    loss: float
    validation: float | None


class Training:
    """One run, from its checkpoint where the folder holds one.

    >>> run = Training(text, preset_named("laptop"), Path("out"), seed=1)       # doctest: +SKIP
    >>> while not run.done:                                                     # doctest: +SKIP
    ...     progress = run.advance()
    >>> loss = run.finish()                                                     # doctest: +SKIP
    """

    def __init__(
        self, text: str, preset: Preset, folder: Path, *, seed: int = 1, threads: int | None = None
    ) -> None:
        """threads: of torch, part of what decides the last bits; None is the checkpoint's, or all there are.

        Raises TrainingError for a text that is too short, and a folder that holds anything but this run.
        """
        if not -(2**63) <= seed < 2**63:
            raise TrainingError(f"A seed of {seed}", wanted="A whole number from 0 to 2**63 - 1")
        tokenizer = CharacterTokenizer.of(text)
        config = preset.config(len(tokenizer))
        halves = split(text, tokenizer, config.context)
        kept = _kept(folder)
        if threads is None:
            threads = kept.settings.threads if kept else torch.get_num_threads()
        _check_threads(threads)
        self.settings = Settings(
            preset=preset.name,
            config=config.to_dict(),
            recipe=asdict(preset.recipe),
            seed=seed,
            threads=threads,
            text_sha256=hashlib.sha256(text.encode()).hexdigest(),
            characters=tokenizer.characters,
        )
        self.preset, self.folder, self.recipe = preset, folder, preset.recipe
        self.text_length = len(text)
        self.model = GPT(config, tokenizer, seed=seed)
        self._validation = halves.validation
        self._blocks = Blocks(halves.training, config.context, self.recipe.batch, seed)
        self._optimiser = Optimiser(self.model, self.recipe)
        self.step, self.history = 0, History()
        if kept is None:
            make_folder(folder, TrainingError, "Choose another --out")
            self.save()
        else:
            self._restore(kept)

    @property
    def done(self) -> bool:
        """Whether every step has been made."""
        return self.step >= self.recipe.steps

    def advance(self) -> Progress:
        """Make one step; measure and save where the recipe says so. Raises TrainingError at a loss of NaN."""
        with _threads(self.settings.threads):
            self.model.train()
            given, wanted = self._blocks.at(self.step)
            loss = cross_entropy(self.model(given).flatten(0, 1), wanted.flatten())
            value = loss.item()
            if not math.isfinite(value):
                raise TrainingError(
                    f"The loss became {value} at step {self.step + 1}",
                    hint="A lower learning rate or another --seed may help; the last checkpoint is untouched",
                )
            self.model.zero_grad(set_to_none=True)
            torch.autograd.backward(loss)
            self._optimiser.step(self.step)
            self.step += 1
            self.history.training.append(value)
            measured = None
            if self.step % self.recipe.measure_every == 0 and not self.done:
                measured = validation_loss(self.model.eval(), self._validation)
                self.history.validation[self.step] = measured
        if self.step % self.recipe.save_every == 0 or self.done:
            self.save()
        return Progress(self.step, self.recipe.steps, value, measured)

    def save(self) -> None:
        """Write a checkpoint of this very step."""
        weights = dict(self.model.state_dict())
        Checkpoint(self.settings, self.step, self.history, weights, self._optimiser.state()).save(self.folder)

    def finish(self) -> float:
        """Write the model's files; returns the validation loss of those files, loaded again as float32."""
        save_model(self.model, self.folder, dtype=getattr(torch, self.preset.stored))
        with _threads(self.settings.threads):
            loss = validation_loss(load(self.folder), self._validation)
        self.history.validation[self.step] = loss
        return loss

    def _restore(self, kept: Checkpoint) -> None:
        differences = self.settings.differences(kept.settings)
        if differences:
            raise TrainingError(
                f"{self.folder} holds another run: this one has {'; '.join(differences)}",
                hint="Choose another --out, or repeat the settings of that run to go on with it",
            )
        try:
            self.model.load_state_dict(kept.weights)
            for name, held in self._optimiser.state().items():
                held.copy_(kept.optimiser[name])
        except (KeyError, RuntimeError) as error:
            raise not_whole(self.folder / NAME, error) from None
        self.step, self.history = kept.step, kept.history


def _kept(folder: Path) -> Checkpoint | None:
    """The run in a folder; None where there is nothing yet. Refuses a folder of anything else."""
    with reading(folder, TrainingError):
        there = folder.exists()
        if there and not folder.is_dir():
            raise TrainingError(
                f"{folder} is a file", wanted="A folder for the run", hint="Choose another --out"
            )
        names = sorted(path.name for path in folder.iterdir()) if there else []
    kept = read_checkpoint(folder)
    if kept is not None:
        return kept
    if CONFIG in names and WEIGHTS in names:
        raise TrainingError(
            f"{folder} holds a model already, and no run to go on with", hint="Choose another --out"
        )
    foreign = [name for name in names if name != partial(folder / NAME).name]
    if foreign:
        others = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise TrainingError(
            f"{folder} holds {foreign[0]}{others}, and no run to go on with",
            wanted="A folder that is new, empty, or of this run: nothing of yours is written over",
            hint="Choose another --out",
        )
    return None


def _check_threads(count: int) -> None:
    """Threads by the million are no memory for their stacks: the system ends the program without a word."""
    most = THREADS_A_CORE * (os.cpu_count() or 1)
    if not isinstance(count, int) or not 1 <= count <= most:
        raise TrainingError(
            f"{count} threads",
            wanted=f"From 1 to {most}, which is {THREADS_A_CORE} for each core of this machine",
            hint="Choose another --threads; a run that began with more goes on where there are as many cores",
        )


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def shortened(preset: Preset, steps: int) -> Preset:
    """The same preset over fewer or more steps: for trying out."""
    return replace(preset, recipe=replace(preset.recipe, steps=steps))
