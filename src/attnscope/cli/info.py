"""`attnscope info`: what a saved recording holds, and whether its files are whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnscope.cli.forms import counted

if TYPE_CHECKING:
    from attnscope.recording import Places, Recording, Run


@click.command()
@click.argument("recording", metavar="FOLDER")
@click.option("--quick", is_flag=True, help="Do not read every file through; only check sizes and headers.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(recording: str, *, quick: bool, as_json: bool) -> None:
    """Say what a saved recording holds: its model, runs, layers, what rows see, sinks and certificates.

    Every file is read and compared with its checksum, unless --quick is given. A broken recording is named
    with the file and the fault.
    """
    if recording == "":
        raise click.UsageError("FOLDER is empty; the folder of a saved recording is wanted.")
    from attnscope.errors import RecordingError
    from attnscope.files import home_made
    from attnscope.recording import load

    folder = home_made(recording, RecordingError)
    facts = recording_facts(load(folder, verify=not quick), folder)
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False, indent=1))
        return
    for line in _lines(facts, quick):
        click.echo(line)


def recording_facts(recording: Recording, folder: Path) -> dict[str, Any]:
    """Return what a recording holds as JSON values."""
    from attnscope.recording.room import taken

    return {
        "folder": str(folder),
        "bytes": taken(folder),
        "model": recording.model,
        "keep": recording.keep,
        "tokens": _count(recording.tokens),
        "texts": max((site.batch for run in recording.runs for site in run.sites), default=0),
        "places": {stack: _places(one) for stack, one in recording.places.items()},
        "runs": [_run(recording, run) for run in recording.runs],
        "missing": [vars(one) for one in recording.missing],
    }


def _places(places: Places) -> dict[str, Any]:
    written = len(places.tokens) - places.generated if places.generated is not None else 0
    return {
        "positions": len(places.tokens),
        "prompt": len(places.tokens) - written,
        "generated": written,
        "picture": places.grid,
    }


def _run(recording: Recording, run: Run) -> dict[str, Any]:
    from attnscope.cli.told import site_facts

    return {
        "index": run.index,
        "name": run.name,
        "rows": max((site.tq for site in run.sites), default=0),
        "columns": max((site.tk for site in run.sites), default=0),
        "sites": [{"site": at, **site_facts(recording, site)} for at, site in enumerate(run.sites)],
    }


def _lines(facts: dict[str, Any], quick: bool) -> list[str]:
    from attnscope.recording.room import size

    checked = "sizes and headers checked" if quick else "every file checked"
    lines = [f"{facts['folder']}: {size(facts['bytes'])}, {checked}"]
    model = ", ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}"
        for name, value in facts["model"].items()
        if isinstance(value, str | int) and name != "text"
    )
    lines.append(f"model: {model or 'not named'}")
    texts = f" in {facts['texts']:,} texts" if facts["texts"] > 1 else ""
    tokens = f"; tokens: {facts['tokens']:,}{texts}" if facts["tokens"] or texts else ""
    lines.append(f"kept: {facts['keep']}{tokens}")
    lines += [f"{stack}: {_places_line(places)}" for stack, places in facts["places"].items()]
    for run in facts["runs"]:
        sizes = f"{run['rows']:,} rows, {run['columns']:,} columns"
        lines.append(f"run {run['index']}: {counted(len(run['sites']), 'call')} of attention, {sizes}")
        for site in run["sites"]:
            lines += [f"  {_site_line(site)}", *(f"      {line}" for line in _details(site))]
    lines += [f"not shown: {one['name']}: {one['reason']}" for one in facts["missing"]]
    return lines


def _places_line(places: dict[str, Any]) -> str:
    said = f"{places['positions']:,} positions"
    if places["generated"]:
        said += f", {places['prompt']:,} given and {places['generated']:,} written by the model"
    if places["picture"]:
        said += f", patches of a picture in {places['picture'][0]} rows of {places['picture'][1]}"
    return said


def _site_line(site: dict[str, Any]) -> str:
    verdicts = ", ".join(f"{count} {word}" for word, count in site["verdicts"].items()) or "no certificate"
    exact = {True: ", bit-exact", False: ", not bit-exact", None: ""}[site["bit_exact"]]
    sizes = f"{site['heads']} heads on {site['key_heads']}  {site['tq']:,} x {site['tk']:,}"
    place = f"site {site['site']:<3} layer {site['layer']:<3} {site['stack']} {site['kind']}"
    return f"{place}  {sizes}  {site['dtype']}  {site['route']}  {verdicts}{exact}"


def _details(site: dict[str, Any]) -> list[str]:
    """Return what is known of a site beside its sizes, a line each."""
    from attnscope.recording.room import size

    lines = _masks([sight["words"] for sight in site["sights"]])
    group = site["heads"] // max(1, site["key_heads"])
    if group > 1:
        lines.append(f"{group} query heads share a key head: 0 to {group - 1} the first, and so on")
    if len(site["kept"]) < site["heads"]:
        lines.append(f"heads kept: {', '.join(map(str, site['kept']))}")
    if not site["tensors"]:
        lines.append("sums alone were kept, no weights")
    if site["sinks"]:
        shares = f"{min(site['sinks']):.4f} to {max(site['sinks']):.4f}"
        lines.append(f"a learned sink takes {shares} of a row, in the mean of a head")
    if site["certificate"]:
        lines.append(_worst(site["certificate"], site["allowed"]))
        lines += [
            f"head {head['head']}{_of_text(site, head)} {head['verdict']}: {head['reason']}"
            for head in site["certificate"]
            if head["verdict"] != "passed"
        ]
    if site["bytes"] is not None:
        lines.append(f"{size(site['bytes'])} on disk: {', '.join(site['tensors']) or 'sums'}")
    return lines


def _masks(words: list[str]) -> list[str]:
    """Return what the rows see, in one line where it is the same for all texts."""
    texts: dict[str, list[int]] = {}
    for text, said in enumerate(words):
        texts.setdefault(said, []).append(text)
    if len(texts) == 1:
        return [f"mask: {words[0]}"]
    return [f"mask of text{'s' if len(of) > 1 else ''} {_numbers(of)}: {said}" for said, of in texts.items()]


def _numbers(numbers: list[int], most: int = 8) -> str:
    named = ", ".join(map(str, numbers[:most]))
    return named if len(numbers) <= most else f"{named} and {len(numbers) - most:,} more"


def _worst(heads: list[dict[str, Any]], allowed: dict[str, float]) -> str:
    """Return the largest z and |t| with the head each comes from, and what is allowed."""
    said = []
    for name, limit in (("z", allowed["z"]), ("t", allowed["t"])):
        known = [head for head in heads if head[name] is not None]
        if known:
            worst = max(known, key=lambda head: abs(head[name]))
            said.append(f"{name} {abs(worst[name]):.2f} of {limit:g} allowed, in head {worst['head']}")
    return "largest " + "; ".join(said) if said else "no row could be compared"


def _of_text(site: dict[str, Any], head: dict[str, Any]) -> str:
    return f" of text {head['batch']}" if site["batch"] > 1 else ""


def _count(tokens: Any) -> int:
    if not tokens:
        return 0
    return sum(len(row) for row in tokens) if isinstance(tokens[0], list) else len(tokens)
