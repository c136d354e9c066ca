"""The lesson as one file: every module inside it, nothing of a server left, no foreign file written over."""

from __future__ import annotations

import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from attnscope.errors import LessonError
from attnscope.lesson import SECTIONS
from attnscope.web.alone import lesson
from attnscope.web.alone.lesson import lesson_page, modules_from, with_bare_names, write_lesson
from attnscope.web.alone.page import json_text
from attnscope.web.statics import STATIC


class _Scripts(HTMLParser):
    """Collects the scripts of a page as a browser would: attributes and content."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[dict[str, str | None], str]] = []
        self.addresses: list[str] = []
        self._open: dict[str, str | None] | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [str(value) for name, value in attrs if name in ("href", "src")]
        if tag == "script":
            self._open = dict(attrs)
            self.found.append((self._open, ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._open = None

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            attrs, before = self.found[-1]
            self.found[-1] = (attrs, before + data)


@pytest.fixture(scope="module")
def page() -> str:
    return lesson_page()


@pytest.mark.parametrize(
    ("name", "text", "becomes"),
    [
        ("js/walk.js", "import { h } from './dom.js'", "import { h } from 'js/dom.js'"),
        ("js/kit/curve.js", 'import * as d from "../dom.js";', 'import * as d from "js/dom.js";'),
        ("js/a/b/c.js", "import '../../d.js'", "import 'js/d.js'"),
        ("js/a.js", "export { x, y } from './pure/x.js'", "export { x, y } from 'js/pure/x.js'"),
        ("js/a.js", "export * from './x.js'", "export * from 'js/x.js'"),
        ("js/l/c.js", "3: () => import('../c/03.js'),", "3: () => import('js/c/03.js'),"),
        ("js/a.js", "import {\n  one,\n} from './x.js'", "import {\n  one,\n} from 'js/x.js'"),
        ("js/a.js", "import x from './x.js'\nimport y from './y.js'",
         "import x from 'js/x.js'\nimport y from 'js/y.js'"),
    ],
)  # fmt: skip
def test_a_relative_specifier_becomes_the_path_it_means(name: str, text: str, becomes: str) -> None:
    assert with_bare_names(text, name) == becomes


@pytest.mark.parametrize(
    "text",
    [
        '/** @param {import("./types.js").Sheet} sheet */',
        "// like import('./other.js')",
        "const from = './x.js'\nconst text = `import it`",
        "const path = 'http://www.w3.org/2000/svg'",
    ],
)
def test_what_is_no_import_stays_as_it_is(text: str) -> None:
    assert with_bare_names(text, "js/a.js") == text


def test_an_import_from_elsewhere_is_refused() -> None:
    with pytest.raises(LessonError, match=r"js/a.js imports 'lodash'. A relative path is wanted there"):
        with_bare_names("import x from 'lodash'", "js/a.js")


def test_every_module_that_the_page_reaches_is_found_and_no_relative_name_is_left() -> None:
    modules = modules_from("js/pages/walk.js")
    assert "js/dom.js" in modules and "js/lesson/source.js" in modules
    for one in SECTIONS:
        assert f"js/chapters/c{one.number:02}.js" in modules
    for name, text in modules.items():
        code = re.sub(r"/\*.*?\*/|^\s*//.*$", "", text, flags=re.DOTALL | re.MULTILINE)
        assert not re.search(r"""(from|import\(?)\s*['"]\.""", code), name
        assert text.count("\n") == (STATIC / name).read_text("utf-8").count("\n")


def test_json_cannot_end_the_element_it_stands_in() -> None:
    value = {"words": ["</script>", "<!--", "\u2028", "猫", '"', "\\u003c"]}
    text = json_text(value)
    assert "<" not in text and "\u2028" not in text
    assert json.loads(text) == value


def test_the_file_holds_every_module_word_for_word(page: str) -> None:
    (map_text,) = [text for attrs, text in _Scripts(page).found if attrs.get("type") == "importmap"]
    modules = modules_from("js/pages/walk.js")
    for name, url in json.loads(map_text)["imports"].items():
        kind, _, code = url.partition(",")
        assert kind == "data:text/javascript;charset=utf-8"
        assert not set(code) & set('\n\t#"<>\\')
        assert unquote(code) == modules.pop(name)
    assert not modules


def test_the_file_holds_the_numbers_of_every_chapter(page: str) -> None:
    held = {attrs["data-lesson"]: text for attrs, text in _Scripts(page).found if "data-lesson" in attrs}
    assert list(held) == [str(one.number) for one in SECTIONS]
    for one in SECTIONS:
        assert json.loads(held[str(one.number)]) == json.loads(json.dumps(one.to_dict()))


def test_the_file_names_no_server_and_forbids_every_request(page: str) -> None:
    addresses = _Scripts(page).addresses
    assert all(address.startswith(("?", "#", "data:")) for address in addresses), addresses
    assert "static/" not in page.split('<script type="importmap">')[0]
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split("; ")}
    assert rules["default-src"] == ["'none'"]
    assert not {"connect-src", "worker-src", "frame-src"} & set(rules)
    assert not any(word.startswith("http") or word in ("*", "'unsafe-inline'", "'unsafe-eval'")
                   for words in rules.values() for word in words)  # fmt: skip
    assert page.index("http-equiv") < min(page.index("<script"), page.index("<style"), page.index("<link"))


def test_the_file_is_small_enough_to_send(page: str) -> None:
    assert len(page.encode()) < 6 * 2**20


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lesson that is made at once, where only the writing is tried."""
    monkeypatch.setattr(lesson, "lesson_page", lambda **_: f"<!doctype html>{lesson._MARK}")


def test_an_older_export_is_replaced(quick: None, tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "lesson.html"
    assert write_lesson(path) == path
    before = path.stat().st_ino
    assert write_lesson(str(path)) == path
    assert path.stat().st_ino != before  # renamed over, not written into
    assert [one.name for one in path.parent.iterdir()] == ["lesson.html"]


@pytest.mark.parametrize("content", [b"", b"<html>mine</html>", b"\xff\xfe\x00"])
def test_a_file_of_ones_own_is_left_as_it_is(quick: None, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.html"
    path.write_bytes(content)
    with pytest.raises(LessonError) as refused:
        write_lesson(path)
    assert str(refused.value) == (
        f"{path} is there and was not written by attnscope lesson. It was left as it is. Choose another name."
    )
    assert path.read_bytes() == content


def test_a_folder_or_a_file_in_the_way_is_one_sentence(quick: None, tmp_path: Path) -> None:
    with pytest.raises(LessonError, match=r"is a folder\. The name of a file is wanted\."):
        write_lesson(tmp_path)
    if os.name != "nt":
        with pytest.raises(LessonError, match=r"/dev/null is no file but a device or a pipe\."):
            write_lesson("/dev/null")
    (tmp_path / "file").write_text("x")
    with pytest.raises(LessonError, match=r"file cannot be made: File exists\. Choose another file\."):
        write_lesson(tmp_path / "file" / "lesson.html")
    with pytest.raises(LessonError, match="home folder of a user that is not known"):
        write_lesson("~nobody-of-that-name/lesson.html")


def test_the_mark_stands_where_it_is_looked_for(page: str) -> None:
    assert 0 < page.encode().find(lesson._MARK.encode()) < lesson._MARK_WITHIN - len(lesson._MARK)
