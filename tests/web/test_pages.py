"""The page and its files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from attnscope.lesson import SECTIONS
from attnscope.web import pages, statics
from attnscope.web.app import create_app
from attnscope.web.catalogue import Catalogue
from attnscope.web.modules import reached


def test_the_root_leads_to_the_page(client: TestClient) -> None:
    answer = client.get("/", follow_redirects=False)
    assert answer.status_code == 307
    assert answer.headers["location"] == "explore"
    page = client.get("/")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["cache-control"] == "no-cache"


def test_walk_holds_every_chapter_in_order_and_lists_it(client: TestClient) -> None:
    answer = client.get("/walk")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    numbers = [one.number for one in SECTIONS]
    for pattern in (
        r'<section class="chapter" data-chapter="(\d+)" aria-labelledby="title-\d+" hidden>',
        r'<h1 id="title-(\d+)"',
        r'<a href="\?chapter=(\d+)"',
        r'<option value="(\d+)">',
    ):
        assert [int(number) for number in re.findall(pattern, answer.text)] == numbers, pattern
    assert "Why divide by √d</a>" in answer.text
    assert "<!-- chapters -->" not in answer.text
    assert not re.search(r"<script(?![^>]*src=)|\sstyle=|\son\w+=", answer.text)


def test_every_page_has_the_same_bar_with_its_own_name_in_it(client: TestClient) -> None:
    for name, title in pages.PAGES.items():
        text = client.get(f"/{name}").text
        bar = text[text.index('<header class="bar">') : text.index("</header>")]
        assert re.findall(r'<a href="(\w+)"', bar) == list(pages.PAGES)
        assert f'<a href="{name}" aria-current="page">{title}</a>' in bar
        carried = re.findall(r'data-carry="(\w+)"', bar)
        assert carried == [one for one in pages.OF_RUNS if one != name and name in pages.OF_RUNS]
        assert ('id="picker"' in bar, 'id="badge"' in bar) == (name == "walk", name in ("explore", "map"))
        assert "<!--" not in text


def test_a_chapter_without_a_text_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "chapters").mkdir()
    (tmp_path / "walk.html").write_text("<!-- rail -->|<!-- picker -->|<!-- chapters -->", encoding="utf-8")
    (tmp_path / "chapters" / "03.html").write_text("<h1>three</h1>\n", encoding="utf-8")
    monkeypatch.setattr(statics, "STATIC", tmp_path)
    rail, picker, chapters = pages.walk_page().split("|")
    assert rail.count("<li") == picker.count("<option") == chapters.count("<section") == 1
    assert "<h1>three</h1>" in chapters and 'data-chapter="3"' in chapters


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("explore.html", "text/html; charset=utf-8"),
        ("icon.svg", "image/svg+xml"),
        ("css/tokens.css", "text/css; charset=utf-8"),
        ("js/api.js", "text/javascript; charset=utf-8"),
    ],
)
def test_files_have_their_type_and_are_asked_for_again(client: TestClient, file: str, kind: str) -> None:
    answer = client.get(f"/static/{file}")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == kind
    assert answer.headers["cache-control"] == "no-cache"
    again = client.get(f"/static/{file}", headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304
    assert again.content == b""


@pytest.mark.parametrize("name", pages.PAGES)
def test_a_page_names_at_its_head_every_file_it_needs_and_a_browser_may_keep_them(
    client: TestClient, name: str
) -> None:
    text = client.get(f"/{name}").text
    files = re.findall(r'(?:href|src)="(static/[^"]+)"', text)
    start = f"static/{statics.version()}/"
    assert files and all(file.startswith(start) for file in files)
    modules = re.findall(r'<link rel="modulepreload" href="([^"]+)">', text)
    assert modules == [start + module for module in reached(f"js/pages/{name}.js")]
    for file in {*files}:
        answer = client.get(f"/{file}")
        assert answer.status_code == 200, file
        assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
        plain = client.get(f"/static/{file.removeprefix(start)}")
        assert (answer.content, answer.headers["content-type"]) == (
            plain.content,
            plain.headers["content-type"],
        )
        assert client.get(f"/{file}", headers={"Accept-Encoding": "identity"}).content == plain.content


def test_a_file_that_changes_has_another_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "js").mkdir()
    (tmp_path / "js" / "a.js").write_text("export {}\n", "utf-8")
    monkeypatch.setattr(statics, "STATIC", tmp_path)
    before = statics.version()
    assert statics.version() == before
    (tmp_path / "js" / "a.js").write_text("export const a = 1\n", "utf-8")
    assert statics.version() != before


@pytest.mark.parametrize(
    "path",
    [
        "/static/~0123456789abcdef/",
        "/static/~0123456789abcdef/../app.py",
        "/static/~0123456789abcdef/..%2f..%2fapp.py",
        "/static/~0123456789abcdef//etc/passwd",
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static/..%5capp.py",
        "/static//etc/passwd",
        "/static/%00",
        "/static/....//app.py",
        "/etc/passwd",
        "/static/",
        "/static",
    ],
)
def test_nothing_outside_the_page_is_served(client: TestClient, path: str) -> None:
    answer = client.get(path, follow_redirects=False)
    assert answer.status_code in (307, 404)
    assert b"import" not in answer.content
    assert b"root:" not in answer.content


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json"])
def test_pages_that_load_from_elsewhere_are_off(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_what_is_not_there_is_said_in_json(client: TestClient) -> None:
    answer = client.get("/nowhere")
    assert answer.status_code == 404
    assert answer.json()["error"] == {
        "title": "There is nothing at /nowhere",
        "message": "",
        "hint": "The pages are at /walk, /explore, /map, /heads and /compare",
        "offer": None,
    }
    assert client.put("/api/runs").json()["error"]["title"] == "/api/runs does not take PUT"


def test_behind_a_base_path_everything_answers_with_and_without_it(catalogue: Catalogue) -> None:
    app = create_app(catalogue, base_path="/proxy/8017")
    with TestClient(app, base_url="http://127.0.0.1:8017") as client:
        for path in (
            "/proxy/8017/explore",
            "/explore",
            "/proxy/8017/api/models",
            "/proxy/8017/static/icon.svg",
        ):
            assert client.get(path).status_code == 200, path
        for path in ("/", "/proxy/8017", "/proxy/8017/"):
            answer = client.get(path, follow_redirects=False)
            assert answer.headers["location"] == "/proxy/8017/explore"
        assert client.get("/proxy/80177/explore").status_code == 404
