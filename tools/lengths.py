"""The length budget: files of source stay under 400 lines, functions of Python under 60."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

FILE, BROWSER_FILE, FUNCTION = 400, 300, 60


def main() -> int:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True
    )
    faults = [fault for name in listed.stdout.splitlines() for fault in faults_of(Path(name))]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


def faults_of(path: Path) -> list[str]:
    if path.suffix not in {".py", ".js", ".css"} or "vendor" in path.parts or not path.is_file():
        return []
    text = path.read_text(encoding="utf-8")
    limit = BROWSER_FILE if path.suffix == ".js" else FILE
    lines = text.count("\n")
    faults = [f"{path}: {lines} lines, the limit is {limit}"] if lines > limit else []
    if path.suffix == ".py":
        faults += [
            f"{path}:{node.lineno}: {node.name} has {length} lines, the limit is {FUNCTION}"
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and (length := (node.end_lineno or 0) - node.lineno + 1) > FUNCTION
        ]
    return faults


if __name__ == "__main__":
    sys.exit(main())
