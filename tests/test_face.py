"""The public face: what `import attnscope` gives and costs, and that the documents speak of what is there."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import attnscope

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "attnscope" / "__init__.py"


def names_for_type_checkers() -> set[str]:
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.asname or alias.name
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_the_list_of_public_names_is_what_can_be_fetched() -> None:
    assert sorted(attnscope.__all__) == sorted(attnscope._HOME)
    for name in attnscope.__all__:
        assert getattr(attnscope, name) is not None


def test_type_checkers_see_the_same_names() -> None:
    assert names_for_type_checkers() == set(attnscope.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'pattern'"):
        _ = attnscope.pattern


def test_every_public_name_says_what_it_is() -> None:
    silent = [name for name in attnscope.__all__ if not (getattr(attnscope, name).__doc__ or "").strip()]
    assert silent == []


@pytest.mark.parametrize("statement", ["import attnscope", "import attnscope.cli.main"])
def test_importing_does_not_load_torch(statement: str) -> None:
    heavy = "{'torch', 'transformers', 'matplotlib', 'fastapi'}"
    code = f"{statement}; import sys; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_command_stands_in_the_documents() -> None:
    from attnscope.cli.main import group

    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    missing = [name for name in group.list_commands(None) if f"attnscope {name}" not in page]  # type: ignore[arg-type]
    assert missing == []


def test_every_target_of_the_makefile_says_what_it_does() -> None:
    done = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    targets = re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M)
    assert [target for target in targets if target != "help" and f"make {target}" not in done.stdout] == []
