"""The group of all commands, with what stands before a command's name."""

from __future__ import annotations

import click

from attnscope.cli.lazy import LazyGroup


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
