"""`attnscope record`: a model on a text, or while it writes one, recorded to a folder."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnscope.cli.forms import counted
from attnscope.cli.progress import line
from attnscope.cli.texts import many_texts_options, model_options, once, read_texts

if TYPE_CHECKING:
    from attnscope.models import Subject
    from attnscope.models.encoded import Encoded
    from attnscope.recording import Recording


class Numbers(click.ParamType):  # type: ignore[type-arg]
    """Whole numbers and ranges of them: 0,3,8-11."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        """Return the numbers in order; fails with what was wanted."""
        if isinstance(value, list):
            return value
        found: set[int] = set()
        for part in str(value).split(","):
            first, dash, last = part.strip().partition("-")
            ends = [first, last if dash else first]
            if not all(end.isascii() and end.isdigit() and len(end) < 6 for end in ends):
                self.fail(
                    f"{part!r} is no number; numbers and ranges such as 0,3,8-11 are wanted.", param, ctx
                )
            if int(ends[0]) > int(ends[1]):
                self.fail(f"{part!r} ends before it begins.", param, ctx)
            found.update(range(int(ends[0]), int(ends[1]) + 1))
        return sorted(found)


NUMBERS = Numbers()


@click.command()
@click.argument("model")
@many_texts_options
@click.option(
    "--target", metavar="T", help="Of an encoder with a decoder: what the decoder reads. Default: its answer."
)
@click.option(
    "--generate",
    type=click.IntRange(min=1),
    metavar="N",
    help="Let the model write N tokens, and record that.",
)
@click.option(
    "--chat", is_flag=True, help="The text is a message, or a JSON list of messages, for the chat template."
)
@click.option(
    "--temperature", type=click.FloatRange(min=0), metavar="X",
    help="With --generate: 0, the default, takes the likeliest token every time.",
)  # fmt: skip
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    metavar="N",
    help="With --temperature: of the draws. Default: 0.",
)
@click.option("--layers", type=NUMBERS, metavar="LIST", help="Keep these layers alone, such as 0,3,8-11.")
@click.option("--heads", type=NUMBERS, metavar="LIST", help="Keep these heads of each layer alone.")
@click.option(
    "--keep", type=click.Choice(["summary", "qk", "qkv", "all"]), default="qkv", show_default=True,
    help="Sums alone, enough for weights, also values, also the kernel's output.",
)  # fmt: skip
@click.option(
    "-o", "--out", required=True, multiple=True, callback=once, metavar="FOLDER",
    help="A new folder, or a recording to replace.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@model_options
def command(
    *,
    model: str,
    text: tuple[str, ...],
    texts: str | None,
    file: str | None,
    target: str | None,
    generate: int | None,
    chat: bool,
    temperature: float | None,
    seed: int | None,
    layers: list[int] | None,
    heads: list[int] | None,
    keep: str,
    out: str,
    as_json: bool,
    dtype: str | None,
    attention: str | None,
) -> None:
    """Record a model on texts, or while it writes, to a folder.

    MODEL is embedded, lesson, lesson-no-positions, a folder, or a Hugging Face hub id. What it computes stays
    the same, bit for bit. `attnscope info FOLDER` and `attnscope app FOLDER` read what is written.
    """
    given = _given(text, file, texts, out)
    _check_together(target, generate, temperature, seed)
    if target is not None and len(given) > 1:
        raise click.UsageError("--target goes with a single text.")
    from attnscope.errors import RecordingError
    from attnscope.files import home_made
    from attnscope.models import Kept, Writing, open_model, record_text, record_texts
    from attnscope.recording.writing import check_place

    folder = home_made(out, RecordingError)
    check_place(folder)
    say_replaced(folder)
    subject = open_model(model, dtype=dtype, attention=attention)
    encoded = [_encoded(subject, one, target, chat) for one in given]
    how: dict[str, Any] = {
        "writing": None if generate is None else Writing(generate, temperature or 0.0, seed or 0),
        "kept": Kept(layers, heads, keep), "path": folder, "progress": _progress(),
    }  # fmt: skip
    _say_room(subject, encoded, folder, generate or 0, (keep, layers, heads))
    if len(encoded) == 1:
        recording, read = record_text(subject, encoded[0], **how)
        facts = _facts(recording, [read], folder)
    else:
        facts = _facts(*record_texts(subject, encoded, **how), folder)
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False, indent=1))
        return
    for said in _lines(facts):
        click.echo(said)


def say_replaced(folder: Path) -> None:
    """Say on standard error, before anything runs, that an older recording will be gone."""
    if folder.is_dir() and any(folder.iterdir()):
        click.echo(
            f"{folder} holds a recording: it stays until the new one is whole, and is replaced by it",
            err=True,
        )


def _say_room(
    subject: Subject,
    texts: list[Encoded],
    folder: Path,
    written: int,
    kept: tuple[str, list[int] | None, list[int] | None],
) -> None:
    """Say how much will be written and how much the disk holds. Raises NoRoom where that is too little."""
    from attnscope.listen.expected import expected_bytes
    from attnscope.listen.wanted import Wanted
    from attnscope.recording.footprint import PLACE
    from attnscope.recording.room import free_at, need, size

    keep, layers, heads = kept
    wanted = Wanted(keep, None if layers is None else frozenset(layers), heads)
    about: int | None = 0
    for one in texts:
        tokens = len(one.tokens) + written
        own = expected_bytes(subject.module, 1, tokens, wanted)
        about = None if own is None or about is None else about + own + tokens * PLACE
    if about is not None:
        need(folder, about)
    said = "How much this takes is not known beforehand" if about is None else f"About {size(about)}"
    click.echo(f"{said}; {size(free_at(folder))} free", err=True)


def _given(text: tuple[str, ...], file: str | None, texts: str | None, out: str) -> list[str]:
    if out == "":
        raise click.UsageError("-o wants the name of a folder.")
    given = read_texts(text, file, texts)
    if not given:
        raise click.UsageError("A text is wanted: --text T, --file FILE or --texts FILE.")
    return given


def _check_together(
    target: str | None, generate: int | None, temperature: float | None, seed: int | None
) -> None:
    if target is not None and generate is not None:
        raise click.UsageError("--target and --generate exclude each other.")
    if generate is None and temperature is not None:
        raise click.UsageError("--temperature goes with --generate.")
    if seed is not None and not temperature:
        raise click.UsageError("--seed goes with a --temperature above 0: without one nothing is drawn.")


def _encoded(subject: Subject, text: str, target: str | None, chat: bool) -> Encoded:
    """Return what the model reads: the text or the chat, with the target where there is one."""
    from attnscope.errors import ModelError

    encoded = subject.codec.chat(_messages(text)) if chat else subject.encode(text)
    if target is None:
        return encoded
    if subject.writer is None:
        raise ModelError(
            f"{subject.label} has no decoder", wanted="--target is for an encoder with a decoder"
        )
    return subject.writer.answered(encoded, target)


def _messages(text: str) -> list[dict[str, Any]]:
    """Return the messages of a chat: those of a JSON list, else the text as one of a user.

    Raises TextError for a list of what is no message.
    """
    from attnscope.errors import TextError

    if not text.lstrip().startswith("["):
        return [{"role": "user", "content": text}]
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return [{"role": "user", "content": text}]
    if not found or not all(isinstance(one, dict) and {"role", "content"} <= set(one) for one in found):
        raise TextError(
            "The JSON list holds what is no message",
            wanted='Messages such as [{"role": "user", "content": "…"}] are wanted',
        )
    return list(found)


def _progress() -> Callable[[int, str], None] | None:
    """Return what shows on standard error how many calls were recorded; None where nobody watches."""
    show = line()
    if show is None:
        return None

    def told(done: int, name: str) -> None:
        show(f"Recorded {counted(done, 'call')} of attention; the last is {name}", 0, 1)

    return told


def _facts(recording: Recording, texts: list[Encoded], folder: Path) -> dict[str, Any]:
    from attnscope.recording.room import taken

    sites = [site for run in recording.runs for site in run.sites]
    certificates = [site.certificate for site in sites if site.certificate is not None]
    own = [_text_facts(one) for one in texts]
    answers = [one["answer"] for one in own if one["answer"] is not None]
    return {
        "folder": str(folder),
        "bytes": taken(folder),
        "model": recording.model.get("label"),
        "keep": recording.keep,
        "runs": len(recording.runs),
        "sites": len(sites),
        "kinds": dict(Counter(f"{site.stack} {site.kind}" for site in sites)),
        "tokens": sum(one["tokens"] for one in own),
        "answer": sum(answers) if answers else None,
        "written": sum(one["written"] for one in own),
        "text_written": own[0]["text_written"] if len(own) == 1 else None,
        "texts": own if len(own) > 1 else None,
        "verdicts": dict(Counter(v for one in certificates for batch in one.verdict for v in batch)),
        "missing": [vars(one) for one in recording.missing],
        "next": shlex.join(["attnscope", "app", str(folder)]),
    }


def _text_facts(encoded: Encoded) -> dict[str, Any]:
    """Return how many tokens a text has, and what the model wrote after it."""
    from attnscope.models.tokens import spelled

    read = encoded.tokens if encoded.answer is None else encoded.answer
    written = 0 if encoded.written is None else len(read) - encoded.written
    return {
        "tokens": len(encoded.tokens),
        "answer": None if encoded.answer is None else len(encoded.answer),
        "written": written,
        "text_written": spelled(token.raw for token in read[len(read) - written :]) if written else None,
    }


def _lines(facts: dict[str, Any]) -> list[str]:
    from attnscope.recording.room import size

    count = counted(facts["tokens"], "token")
    if facts["answer"] is not None:
        count += f" and {facts['answer']:,} of the decoder"
    if facts["written"]:
        count += f", {facts['written']:,} of them written by the model"
    if facts["texts"] is not None:
        count += f" in {len(facts['texts']):,} texts"
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in facts["kinds"].items())
    verdicts = ", ".join(f"{number:,} {word}" for word, number in sorted(facts["verdicts"].items()))
    lines = [
        f"{facts['model']}: {count}",
        f"{counted(facts['runs'], 'run')}, {counted(facts['sites'], 'call')} of attention: {kinds}",
        f"heads: {verdicts or 'no certificate'}; kept: {facts['keep']}",
        *(f"not shown: {one['name']}: {one['reason']}" for one in facts["missing"]),
        f"{facts['folder']}: {size(facts['bytes'])}",
        f"To look at it: {facts['next']}",
    ]
    wrote = [one["text_written"] for one in facts["texts"] or [facts]]
    return [*(f"wrote: {text!r}" for text in wrote if text), *lines]
