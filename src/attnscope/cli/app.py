"""`attnscope app`: the app on a local port."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnscope.cli.texts import model_options, read_text, text_options

if TYPE_CHECKING:
    from attnscope.models import Look

SURVEYS = (".json", ".parquet")


@click.command()
@click.argument("given", metavar="[FOLDER|FILE]...", nargs=-1)
@click.option(
    "--model", metavar="NAME", help="embedded (the default), a model's folder, or a Hugging Face hub id."
)
@text_options
@click.option("--port", type=click.IntRange(0, 65535), help="Default: the first free one from 8017 on.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--base-path", default="", metavar="PATH", help="The path under which a proxy shows the app.")
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="A host name by which a proxy is reached; may be given more than once.",
)
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@model_options
def command(
    given: tuple[str, ...],
    *,
    model: str | None,
    text: str | None,
    file: str | None,
    port: int | None,
    host: str,
    base_path: str,
    allow_host: tuple[str, ...],
    no_browser: bool,
    dtype: str | None,
    attention: str | None,
) -> None:
    """Open the app in a browser: a text in, the model's attention out.

    FOLDER is a saved recording, which is shown without its model. FILE is a survey of a model's heads in
    .json or .parquet, which `attnscope heads -o` wrote. There may be several of both.
    Prints its address and serves until Ctrl-C. It listens on this machine alone unless --host says
    otherwise, and no text leaves the machine.
    """
    from attnscope.web.serving import address, clean_base_path, listen, serve

    first_text = read_text(text, file)
    if "" in given:
        raise click.UsageError("FOLDER is empty; the folder of a saved recording is wanted.")
    base = clean_base_path(base_path)
    with listen(host, port) as bound:
        # Only now: these bring torch, which takes seconds, and a port in use should be told at once.
        from attnscope.measure.reading import read_table
        from attnscope.models import open_model, shipped_models
        from attnscope.web.app import create_app
        from attnscope.web.catalogue import catalogue_with
        from attnscope.web.gate import Names

        recordings, files = _parted(given)
        looks = [look for one in recordings for look in _looks(one)]
        surveys = [(path.name, read_table(path)) for path in files]
        subject = None
        if model is not None or first_text is not None or not (looks or shipped_models()):
            name = "embedded" if model is None else model
            click.echo(f"Opening {name} …", err=True)
            subject = open_model(name, dtype=dtype, attention=attention)
        if subject is not None and first_text is not None:
            subject.encode(first_text)
        catalogue = catalogue_with(subject, first_text, looks=looks, surveys=surveys)
        app = create_app(catalogue, names=Names.of(host, allow_host), base_path=base)
        url = address(host, bound.getsockname()[1], base)

        def ready() -> None:
            click.echo(f"attnscope is at {url}  (Ctrl-C ends it)")
            sys.stdout.flush()
            if not no_browser and _has_browser():
                threading.Thread(target=_open_browser, args=(url,), daemon=True).start()

        try:
            serve(app, bound, ready=ready)
        except KeyboardInterrupt:
            click.echo("Ended.", err=True)


def _parted(given: tuple[str, ...]) -> tuple[list[str], list[Path]]:
    """Return the folders of recordings, and the files of surveys: those in .json or .parquet."""
    from attnscope.errors import AttnscopeError
    from attnscope.files import home_made

    recordings, surveys = list[str](), list[Path]()
    for one in given:
        path = home_made(one, AttnscopeError)
        if path.suffix.lower() in SURVEYS and not path.is_dir():
            surveys.append(path)
        else:
            recordings.append(one)
    return recordings, surveys


def _looks(given: str) -> list[Look]:
    """Return the looks of a recording's folder, called by the folder's own name."""
    from attnscope.errors import BrokenRecording
    from attnscope.files import home_made
    from attnscope.models import open_recording

    folder = home_made(given, BrokenRecording)
    if (folder / "config.json").is_file():
        raise BrokenRecording(
            f"{given} is a model's folder", wanted="A saved recording", hint=f"attnscope app --model {given}"
        )
    return open_recording(folder, name=folder.resolve().name or str(folder))


def _has_browser() -> bool:
    """Return whether a window can open here. In a bare terminal webbrowser would start a text browser inside
    it.
    """
    if sys.platform in ("darwin", "win32"):
        return True
    remote = "SSH_CONNECTION" in os.environ
    return not remote and bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open_browser(url: str) -> None:
    import webbrowser

    webbrowser.open(url)
