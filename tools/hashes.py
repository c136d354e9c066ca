"""hashes.py FILE: each NAME==VERSION of a requirements file with the hashes of all its wheels on PyPI."""

from __future__ import annotations

import json
import sys
import urllib.request
from pathlib import Path

INDEX = "https://pypi.org/simple"


def wheels(name: str, version: str) -> list[str]:
    """The SHA-256 of every wheel of a version, from the index's JSON (PEP 691)."""
    asked = urllib.request.Request(
        f"{INDEX}/{name}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"}
    )
    with urllib.request.urlopen(asked, timeout=60) as answer:
        files = json.load(answer)["files"]
    begin = f"{name.replace('-', '_')}-{version}-"
    return [file["hashes"]["sha256"] for file in files
            if file["filename"].startswith(begin) and file["filename"].endswith(".whl")]  # fmt: skip


def main() -> None:
    """Prints the lock."""
    for line in Path(sys.argv[1]).read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            name, version = line.split("==")
            print(line, *(f"--hash=sha256:{one}" for one in wheels(name, version)), sep=" \\\n    ")


main()
