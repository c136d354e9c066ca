"""`attnscope train`: a small language model from a text file, with a run that survives being stopped."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

    from attnscope.gpt.train import Progress, Training
    from attnscope.measure.watching import Watch

STOPPED = 130
SAMPLE_LENGTH, SAMPLE_TEMPERATURE = 400, 0.8


@click.command()
@click.option("--text", required=True, metavar="FILE", help="The text to train on: plain UTF-8.")
@click.option(
    "--preset", required=True, metavar="NAME", help="lesson, lesson-no-positions, laptop or embedded."
)
@click.option("--out", required=True, metavar="DIR", help="The folder for the model, its card and its curve.")
@click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), default=1, show_default=True, help="Of all that is random."
)
@click.option(
    "--threads", type=click.IntRange(min=1), metavar="N", help="Of torch; all cores where not given."
)
@click.option(
    "--steps", type=click.IntRange(1, 10**9), metavar="N", help="Instead of the preset's: for trying out."
)
@click.option(
    "--watch-heads", is_flag=True,
    help="Also keep what each head does along the training: heads.csv, and pictures.",
)  # fmt: skip
def command(
    *, text: str, preset: str, out: str, seed: int, threads: int | None, steps: int | None, watch_heads: bool
) -> int:
    """Train a small language model on a text file.

    A run that was stopped, by Ctrl-C or by anything else, goes on from its last checkpoint when the same
    command is given again, and ends with the same weights as a run that was never stopped.
    """
    from attnscope.errors import TrainingError
    from attnscope.files import home_made
    from attnscope.gpt.data import read_text
    from attnscope.gpt.presets import preset_named
    from attnscope.gpt.train import Training, shortened

    chosen = preset_named(preset)
    if steps is not None:
        chosen = shortened(chosen, steps)
    for name, given_path in (("text", text), ("out", out)):
        if not given_path.strip():
            wanted = "A text file to train on" if name == "text" else "The name of a folder for the run"
            raise TrainingError(f"--{name} is empty", wanted=wanted)
    path, folder = home_made(text, TrainingError), home_made(out, TrainingError)
    given_text = read_text(path)
    run = Training(given_text, chosen, folder, seed=seed, threads=threads)
    watched = _watched(run, given_text) if watch_heads else None
    _announce(run)
    with _ctrl_c() as asked:
        _advance(run, asked, watched)
    if not run.done:
        run.save()
        given = {"text": text, "preset": preset, "out": out, "seed": seed, "threads": threads, "steps": steps}
        again = ["attnscope", "train"]
        for name, value in given.items():
            again += [] if value is None else [f"--{name}", str(value)]
        again += ["--watch-heads"] if watch_heads else []
        click.echo(f"Stopped after step {run.step:,} of {run.recipe.steps:,}, and saved. To go on:", err=True)
        click.echo(f"  {shlex.join(again)}", err=True)
        if watched is not None:
            _show_watched(watched, run)
        return STOPPED
    _finish(run, path.name)
    if watched is not None:
        _show_watched(watched, run)
    return 0


def _watched(run: Training, text: str) -> Watch:
    from attnscope.measure.watching import watch

    return watch(run.model, run.folder, text, step=run.step, steps=run.recipe.steps)


def _show_watched(watched: Watch, run: Training) -> None:
    """Write the picture of the heads along the run so far, and say when the two kinds appeared."""
    from attnscope.cli.watched import PICTURES, pictures, sentence
    from attnscope.errors import TrainingError
    from attnscope.files import write_whole

    so_far = "" if run.done else f", the first {run.step:,} of {run.recipe.steps:,} steps"
    made = pictures(watched, run.history, f"{run.preset.name}: heads along the training{so_far}")
    for name, content in zip(PICTURES, made, strict=True):
        write_whole(run.folder / name, content, TrainingError)
    for score in ("previous_token", "induction_stripe"):
        click.echo(sentence(watched, score))


def _announce(run: Training) -> None:
    shape = run.model.config
    click.echo(
        f"{run.preset.name}: {shape.n_layers} layers of {shape.n_heads} heads, context {shape.context}, "
        f"{run.model.parameter_count:,} parameters, {len(run.settings.characters)} characters known",
        err=True,
    )
    if run.step:
        click.echo(f"Going on from step {run.step:,} of {run.recipe.steps:,}.", err=True)


def _advance(run: Training, asked: list[int], watched: Watch | None) -> None:
    """Steps until the run is done or Ctrl-C was pressed, with a bar that shows loss and time left."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.fields[loss]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("steps,"),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=run.recipe.steps, completed=run.step, loss="loss ...")
        if watched is not None and watched.due(run.step, run.recipe.steps):
            watched.look(run.step)
        while not run.done and not asked:
            made = run.advance()
            bar.update(task, completed=made.step, loss=f"loss {_recent(run):.3f}")
            _report(made, bar.console)
            if watched is not None and watched.due(made.step, made.steps):
                watched.look(made.step)


def _recent(run: Training) -> float:
    """The mean of the last 50 batch losses: one batch alone jumps about."""
    last = run.history.training[-50:]
    return sum(last) / len(last)


def _report(made: Progress, console: Console) -> None:
    if made.validation is not None:
        console.print(f"step {made.step:,}: validation loss {made.validation:.4f}", highlight=False)


def _finish(run: Training, source: str) -> None:
    """Everything after the last step: files, losses, card, sample."""
    from attnscope.gpt.card import Result, write_card
    from attnscope.gpt.curve import write_curve
    from attnscope.gpt.sampling import generate
    from attnscope.gpt.store import load

    click.echo("Measuring the validation loss over the whole last 10% of the text ...", err=True)
    loss = run.finish()
    known = run.settings.characters
    prompt = "\n" if "\n" in known else known[0]
    sample = generate(
        load(run.folder), prompt, SAMPLE_LENGTH, temperature=SAMPLE_TEMPERATURE, seed=run.settings.seed
    )
    result = Result(loss, run.model.parameter_count, run.text_length, sample.strip("\n"))
    write_curve(run.history, run.folder, f"{run.preset.name}: validation loss {loss:.4f}")
    write_card(run.folder, run.preset, run.settings, result, source=source)
    click.echo(f"Validation loss {loss:.4f} (exactly {loss!r})")
    click.echo(f"The model, its card and its loss curve are in {run.folder}\n")
    click.echo(result.sample)


@contextmanager
def _ctrl_c() -> Iterator[list[int]]:
    """A list that is no longer empty once Ctrl-C was pressed, so that a step is never cut in two.

    A second Ctrl-C stops at once, without saving; the last checkpoint stays.
    """
    asked: list[int] = []

    def ask(number: int, frame: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)
