"""A click group that knows its commands by name and imports one only when it is called."""

from __future__ import annotations

from importlib import import_module

import click

# name -> (module that exports `command`, what it does in one line)
COMMANDS: dict[str, tuple[str, str]] = {
    "app": ("attnscope.cli.app", "Open the app in a browser: a text in, the model's attention out."),
    "look": ("attnscope.cli.look", "Print where one token of a text looks: a row of weights."),
    "record": ("attnscope.cli.record", "Record a model on texts, or while it writes, to a folder."),
    "info": ("attnscope.cli.info", "Say what a saved recording holds."),
    "verify": ("attnscope.cli.verify", "Compare every file of a saved recording with its checksums."),
    "map": ("attnscope.cli.map", "Draw one head of a saved recording, or any part of it."),
    "export": ("attnscope.cli.export", "Write heads of a saved recording: a page, pictures, tables, arrays."),
    "cells": ("attnscope.cli.cells", "List the largest weights of a saved recording, with their tokens."),
    "knockout": ("attnscope.cli.knockout", "Run a model on a text without a weight, rows or a whole head."),
    "compare": ("attnscope.cli.compare", "Compare two saved recordings, head by head."),
    "heads": ("attnscope.cli.heads", "Say what each head of a model does: scores, baselines, classes."),
    "lesson": ("attnscope.cli.lesson", "Print the lesson's experiments, or write the lesson as one file."),
    "check": ("attnscope.cli.check", "Say which engine computes here, and prove what it computes."),
    "train": ("attnscope.cli.train", "Train a small language model on a text file."),
    "sample": ("attnscope.cli.sample", "Let a trained model write a text."),
}


class LazyGroup(click.Group):
    """Lists COMMANDS without importing any of them, so that `attnscope --help` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of their use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command; None where there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module, _ = COMMANDS[cmd_name]
        command: click.Command = import_module(module).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from COMMANDS alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])
