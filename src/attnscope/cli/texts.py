"""The text a command is about: from the command line, a file or standard input."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from attnscope.errors import EmptyText, TextError

F = TypeVar("F", bound=Callable[..., Any])


def once(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> str | None:
    """Return the one value of an option, None where it was not given; click alone keeps the last of several
    and says nothing.
    """
    if len(values) > 1:
        raise click.UsageError(f"{param.opts[0]} was given {len(values)} times; one is wanted.")
    return values[0] if values else None


def text_options(command: F) -> F:
    """Add --text and --file to a command."""
    command = click.option(
        "--file", metavar="FILE", multiple=True, callback=once,
        help="Take the text from a UTF-8 file; - is standard input.",
    )(command)  # fmt: skip
    return click.option("--text", metavar="T", multiple=True, callback=once, help="The text itself.")(command)


def many_texts_options(command: F) -> F:
    """Add --text, which may be given more than once, --texts and --file to a command."""
    command = click.option(
        "--file", metavar="FILE", multiple=True, callback=once,
        help="Take the text from a UTF-8 file; - is standard input.",
    )(command)  # fmt: skip
    command = click.option(
        "--texts", metavar="FILE", multiple=True, callback=once,
        help="Take many texts from a UTF-8 file, a line each; - is standard input.",
    )(command)  # fmt: skip
    return click.option(
        "--text", metavar="T", multiple=True, help="The text itself; several are several runs."
    )(command)


def model_options(command: F) -> F:
    """Add --dtype and --attention to a command."""
    command = click.option(
        "--attention",
        metavar="NAME",
        help="For Hugging Face models: how they compute attention, sdpa or eager. Default: their own.",
    )(command)
    return click.option(
        "--dtype",
        type=click.Choice(["float32", "bfloat16", "float16"]),
        help="Run the model in this precision. Default: the one of its files.",
    )(command)


def read_text(text: str | None, file: str | None) -> str | None:
    """Return the text that was named, None where none was; TextError where a file cannot be read."""
    if text is not None and file is not None:
        raise click.UsageError("--text and --file exclude each other.")
    if file == "":
        raise click.UsageError("--file wants the name of a file; - is standard input.")
    if file is None:
        found, name = text, "The text"
    elif file == "-":
        found, name = _decoded(_read_stdin(), "Standard input"), "Standard input"
    else:
        found, name = _decoded(_read(file), file), file
    if found == "":
        raise EmptyText(f"{name} is empty", wanted="At least one character is wanted")
    return found


def read_texts(text: tuple[str, ...], file: str | None, texts: str | None) -> list[str]:
    """Return the texts that were named: each --text, the one of --file, or each line of --texts that is not
    blank. EmptyText where one is empty or a file holds none, TextError where a file cannot be read.
    """
    if sum(map(bool, (text, file is not None, texts is not None))) > 1:
        raise click.UsageError("--text, --file and --texts exclude one another.")
    if texts is not None:
        if texts == "":
            raise click.UsageError("--texts wants the name of a file; - is standard input.")
        found = [line for line in (read_text(None, texts) or "").split("\n") if line.strip()]
        if not found:
            raise EmptyText(f"{texts} holds no text", wanted="A text a line is wanted")
        return found
    if text:
        return [one for given in text if (one := read_text(given, None)) is not None]
    one = read_text(None, file)
    return [] if one is None else [one]


def _read(file: str) -> bytes:
    from attnscope.files import home_made

    path = home_made(file, TextError)
    try:
        return path.read_bytes()
    except OSError as error:
        raise TextError(
            f"{path} cannot be read ({error.strerror or error})", wanted="A text file is wanted"
        ) from error


def _read_stdin() -> bytes:
    wanted = "A text is wanted there, such as: cat FILE | attnscope …"
    if sys.stdin is None:
        raise TextError("Standard input is closed", wanted=wanted)
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise TextError(
            f"Standard input cannot be read ({error.strerror or error})", wanted=wanted
        ) from error


def _decoded(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise TextError(
            f"{name} is not UTF-8: byte {error.start:,} is {raw[error.start]:02X}",
            wanted="A UTF-8 text is wanted",
            hint=_decoder(raw, name),
        ) from error


def _decoder(raw: bytes, name: str) -> str:
    """Return what turns the text into UTF-8; a byte order mark tells UTF-16."""
    file = "" if name == "Standard input" else f" {shlex.quote(name)}"
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return f"iconv -f UTF-16 -t UTF-8{file} turns it into UTF-8"
    return f"iconv -f LATIN1 -t UTF-8{file} turns an older encoding into it"
