"""`attnscope info`: what a saved recording holds, and whether its files are whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from attnscope.recording import Recording, Run, Site


@click.command()
@click.argument("recording", metavar="FOLDER")
@click.option("--quick", is_flag=True, help="Do not read every file through; only check sizes and headers.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(recording: str, *, quick: bool, as_json: bool) -> None:
    """Say what a saved recording holds: its model, runs, layers and certificates.

    Every file is read and compared with its checksum, unless --quick is given. A broken recording is named
    with the file and the fault.
    """
    if recording == "":
        raise click.UsageError("FOLDER is empty; the folder of a saved recording is wanted.")
    from attnscope.recording import load

    folder = Path(recording).expanduser()
    facts = recording_facts(load(folder, verify=not quick), folder)
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False, indent=1))
        return
    for line in _lines(facts, quick):
        click.echo(line)


def recording_facts(recording: Recording, folder: Path) -> dict[str, Any]:
    """Return what a recording holds as JSON values."""
    return {
        "folder": str(folder),
        "bytes": sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()),
        "model": recording.model,
        "keep": recording.keep,
        "tokens": _count(recording.tokens),
        "runs": [_run(run) for run in recording.runs],
        "missing": [vars(one) for one in recording.missing],
    }


def _run(run: Run) -> dict[str, Any]:
    return {"index": run.index, "name": run.name, "sites": [_site(site) for site in run.sites]}


def _site(site: Site) -> dict[str, Any]:
    certificate = site.certificate
    verdicts = [] if certificate is None else [v for batch in certificate.verdict for v in batch]
    return {
        "name": site.name,
        "layer": site.layer,
        "kind": site.kind,
        "stack": site.stack,
        "route": site.route,
        "dtype": str(site.dtype).removeprefix("torch."),
        "batch": site.batch,
        "heads": site.heads,
        "key_heads": site.key_heads,
        "tq": site.tq,
        "tk": site.tk,
        "bit_exact": site.bit_exact,
        "verdicts": {word: verdicts.count(word) for word in sorted(set(verdicts))},
    }


def _lines(facts: dict[str, Any], quick: bool) -> list[str]:
    checked = "sizes and headers checked" if quick else "every file checked"
    lines = [f"{facts['folder']}: {facts['bytes'] / 2**20:,.1f} MB, {checked}"]
    model = ", ".join(
        f"{name} {value}" for name, value in facts["model"].items() if isinstance(value, str | int)
    )
    lines.append(f"model: {model or 'not named'}")
    lines.append(f"kept: {facts['keep']}; tokens: {facts['tokens']:,}")
    for run in facts["runs"]:
        lines.append(f"run {run['index']}: {len(run['sites'])} calls of attention")
        lines += [f"  {_site_line(site)}" for site in run["sites"]]
    lines += [f"not shown: {one['name']}: {one['reason']}" for one in facts["missing"]]
    return lines


def _site_line(site: dict[str, Any]) -> str:
    verdicts = ", ".join(f"{count} {word}" for word, count in site["verdicts"].items()) or "no certificate"
    exact = {True: ", bit-exact", False: ", not bit-exact", None: ""}[site["bit_exact"]]
    sizes = f"{site['heads']} heads on {site['key_heads']}  {site['tq']:,} x {site['tk']:,}"
    place = f"layer {site['layer']:<3} {site['stack']} {site['kind']}"
    return f"{place}  {sizes}  {site['dtype']}  {site['route']}  {verdicts}{exact}"


def _count(tokens: Any) -> int:
    if not tokens:
        return 0
    return sum(len(row) for row in tokens) if isinstance(tokens[0], list) else len(tokens)
