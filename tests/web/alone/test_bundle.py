"""Modules of the page as one plain script: nothing is imported any more, nothing is lost, what cannot be is
refused.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from attnscope.errors import AttnscopeError
from attnscope.web import statics
from attnscope.web.alone.bundle import bundled, styles

ENTRIES = [f"js/pages/{name}.js" for name in ("shown", "explore", "map", "headtable")]


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of modules in the place of the page's own."""
    bundled.cache_clear()
    monkeypatch.setattr(statics, "STATIC", tmp_path)
    yield tmp_path
    bundled.cache_clear()


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_page_of_the_app_can_be_bundled(entry: str, tmp_path: Path) -> None:
    script = bundled(entry)
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    file = tmp_path / "page.js"
    file.write_text(script, "utf-8")
    subprocess.run(["node", "--check", str(file)], check=True)


def test_it_does_what_the_modules_do(modules: Path) -> None:
    (modules / "pure").mkdir()
    (modules / "pure" / "a.js").write_text(
        "export const one = 1\nexport function add(a, b) {\n  return a + b\n}\nexport class Two {\n"
        "  get value() { return add(one, one) }\n}\nexport async function later() { return 5 }\n"
        "export const { x: first, y } = { x: 1, y: 2 }\n"
    )
    (modules / "b.js").write_text("import * as a from './pure/a.js'\nexport const three = a.add(a.one, 2)\n")
    (modules / "main.js").write_text(
        "import { add as plus, Two, first, y } from './pure/a.js'\nimport {\n  three,\n} from './b.js'\n"
        "console.log(plus(new Two().value, three) * y * first)\n"
    )
    done = subprocess.run(["node", "-e", bundled("main.js")], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "10"


def test_a_module_that_two_others_need_runs_once(modules: Path) -> None:
    (modules / "a.js").write_text("console.log('a')\nexport const a = 1\n")
    (modules / "b.js").write_text("import { a } from './a.js'\nexport const b = a\n")
    (modules / "main.js").write_text(
        "import { a } from './a.js'\nimport { b } from './b.js'\nconsole.log(a + b)\n"
    )
    done = subprocess.run(["node", "-e", bundled("main.js")], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["a", "2"]


def test_modules_that_need_each_other_are_refused(modules: Path) -> None:
    (modules / "a.js").write_text("import { b } from './b.js'\nexport const a = 1\n")
    (modules / "b.js").write_text("import { a } from './a.js'\nexport const b = 1\n")
    with pytest.raises(AttnscopeError, match=r"a\.js → b\.js → a\.js"):
        bundled("a.js")


@pytest.mark.parametrize(
    "line",
    ["import x from './a.js'", "import './a.js'", "export default 5", "export { a }", "export let a = 1"],
)
def test_a_form_that_would_be_lost_is_refused(line: str, modules: Path) -> None:
    (modules / "main.js").write_text(f"const a = 1\n{line}\n")
    with pytest.raises(AttnscopeError, match="cannot be bundled"):
        bundled("main.js")


@pytest.mark.parametrize("ending", ["</script>", "</SCRIPT >", "<!--"])
def test_a_script_never_ends_before_its_end(ending: str, modules: Path) -> None:
    (modules / "main.js").write_text(f"export const text = '{ending}'\n")
    with pytest.raises(AttnscopeError, match="ends a script"):
        bundled("main.js")


def test_styles_come_in_the_order_in_which_they_are_named() -> None:
    text = styles("css/base.css", "css/shown.css")
    assert text.index(".bar {") < text.index(".shown {")
    assert "url(" not in text and "@import" not in text
