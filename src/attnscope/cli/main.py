"""The entry point: runs a command and turns every failure into one sentence and an exit code.

0    done
1    something came that attnscope cannot work with; stderr says what, and what to try
2    a command line that does not parse
130  stopped by Ctrl-C
141  the reader of the output went away
"""

from __future__ import annotations

import os
import shlex
import sys
import traceback
from collections.abc import Sequence

import click

from attnscope.cli.lazy import LazyGroup
from attnscope.errors import AttnscopeError

REFUSED, INTERRUPTED, BROKEN_PIPE = 1, 130, 141


def _version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from importlib.metadata import version

    click.echo(f"attnscope {version('attnscope')}")
    ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="`attnscope COMMAND --help` says more about each. Nothing you open leaves this machine.",
)
@click.option("--debug", is_flag=True, help="Show the full Python traceback when something fails.")
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Print the version."
)
def group(debug: bool) -> None:
    """A microscope for transformer attention: the exact weights of a model on your own text."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line `argv` (sys.argv without it) and leave with its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    sys.exit(run(words))


def run(words: list[str]) -> int:
    """Run one command line; returns the exit code and never raises for a user's mistake."""
    debug, stdout = "--debug" in words[:1], sys.stdout
    try:
        code = group.main(args=words, prog_name="attnscope", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (KeyboardInterrupt, click.Abort):
        click.echo("Stopped.", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return BROKEN_PIPE
    except SystemExit as left:
        # click leaves in this way where the reader of stdout went away, with a stdout that flushes quietly
        return BROKEN_PIPE if sys.stdout is not stdout else _code(left)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except AttnscopeError as error:
        return _refuse(str(error), debug)
    except MemoryError:
        return _refuse("This machine ran out of memory. Try a shorter text or a smaller model.", debug)
    except Exception as error:
        again = shlex.join(["attnscope", "--debug", *words])
        what = f"{type(error).__name__}: {error}".strip().splitlines()[0]
        return _refuse(
            f"Something went wrong that attnscope did not expect ({what}). Details: {again}", debug
        )


def _refuse(sentence: str, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    click.echo(sentence, err=True)
    return REFUSED


def _code(left: SystemExit) -> int:
    return left.code if isinstance(left.code, int) else int(left.code is not None)


def _silence_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's last flush does not complain."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
