"""`attnscope check`: which engine computes on this machine, and the proof that what it computes is right."""

from __future__ import annotations

import math
import platform
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import click

from attnscope.cli.forms import counted, seed_option

if TYPE_CHECKING:
    from attnscope.core.proof import Call, Proof
    from attnscope.lesson import Table

_PARTS = ("attnscope", "torch", "transformers")


@click.command()
@seed_option("Draw other random numbers for the calls.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(*, seed: int, as_json: bool) -> int:
    """Say which engine computes here, and prove what it computes.

    Calls made up for it are held against the whole grid in float64: masks, biases, caps, sinks, grouped
    heads, 16 bits, rows that see nothing. It takes a few seconds. Exit code 0 where every call comes out as
    rounding allows, else 1.
    """
    from attnscope.cli.tables import echo, echo_json, print_tables
    from attnscope.core.proof import calls, prove

    started = time.monotonic()
    facts = machine_facts()
    with _bar(list(calls(seed=seed))) as bar:
        proofs = [prove(call) for call in bar]
    took = time.monotonic() - started
    if as_json:
        echo_json(facts | {"seconds": round(took, 2), "calls": [_call(proof) for proof in proofs]})
    else:
        for line in _machine_lines(facts):
            echo(line)
        print_tables([_table(proofs)])
        echo(_conclusion(proofs, took))
    return 0 if all(proof.holds for proof in proofs) else 1


def machine_facts() -> dict[str, Any]:
    """Return what computes here, as JSON values: versions, engine, instruction set, threads, library.

    why: why the native engine does not run, None where it does. Raises EngineError where the environment asks
    for what cannot run.
    """
    import torch

    from attnscope.core.engine import chosen
    from attnscope.core.native.library import library, library_path

    found = chosen()
    return {
        "versions": {"python": platform.python_version()} | {name: _version(name) for name in _PARTS},
        "machine": f"{platform.system()} {platform.machine()}",
        "engine": "torch" if isinstance(found, str) else "native",
        "instructions": None if isinstance(found, str) else found.isa(),
        "library": None if isinstance(library(), str) else str(library_path()),
        "why": found if isinstance(found, str) else None,
        "threads": torch.get_num_threads(),
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


@contextmanager
def _bar(calls: list[Call]) -> Iterator[Iterable[Call]]:
    """A bar on standard error while calls are proved; nothing where nobody watches."""
    hidden = not sys.stderr.isatty()
    with click.progressbar(calls, label="Proving", file=sys.stderr, hidden=hidden) as bar:
        yield bar


def _call(proof: Proof) -> dict[str, Any]:
    return {
        "call": proof.call,
        "engine": proof.engine,
        "holds": proof.holds,
        "figures": [
            {"name": one.name, "error": _number(one.error), "allowed": one.allowed, "holds": one.holds}
            for one in proof.figures
        ],
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _machine_lines(facts: dict[str, Any]) -> list[str]:
    set_ = f" ({facts['instructions']})" if facts["instructions"] else ""
    versions = ", ".join(f"{name} {held or 'not installed'}" for name, held in facts["versions"].items())
    return [
        f"{versions}; {facts['machine']}",
        f"engine: {facts['engine']}{set_}, {counted(facts['threads'], 'thread')}",
        f"library: {facts['library']}" if facts["why"] is None else f"no native engine: {facts['why']}",
    ]


def _table(proofs: Sequence[Proof]) -> Table:
    from attnscope.lesson import Table

    rows = [
        (
            proof.call, proof.engine, f"{proof.worst.error:.1e}", f"{proof.worst.allowed:.1e}",
            proof.worst.name, "" if proof.holds else "FAILS",
        )
        for proof in proofs
    ]  # fmt: skip
    return Table("", ("call", "engine", "largest error", "allowed", "of", ""), tuple(rows))


def _conclusion(proofs: Sequence[Proof], took: float) -> str:
    held = sum(proof.holds for proof in proofs)
    said = f"{held} of {counted(len(proofs), 'call')} equal to the whole grid in float64, in {took:.1f} s"
    if held == len(proofs):
        return said
    return f"{said}. What FAILS must not be trusted on this machine; please report it with this output."
