"""The site of the docs: every page is in its menu, every public name in its list, all of it our own."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import attnscope

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SITE = (ROOT / "mkdocs.yml").read_text("utf-8")


def test_every_page_is_in_the_menu_once() -> None:
    listed = re.findall(r"^ +- (?:[^:\n]+: )?([\w-]+\.md)$", SITE, re.MULTILINE)
    assert sorted(listed) == sorted(page.name for page in DOCS.glob("*.md"))


def test_every_public_name_is_in_the_list_of_names() -> None:
    text = (DOCS / "api.md").read_text("utf-8")
    told = {}
    for home, name in re.findall(r"^::: ([\w.]+)\.(\w+)$", text, re.MULTILINE):
        told[name] = getattr(import_module(home), name)
    assert set(told) == set(attnscope.__all__)
    for name, value in told.items():
        assert value is getattr(attnscope, name), name


def test_pictures_of_the_pages_are_there() -> None:
    for page in DOCS.glob("*.md"):
        for name in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text("utf-8")):
            assert (DOCS / name).is_file(), (page.name, name)


def test_the_site_takes_nothing_from_elsewhere() -> None:
    assert "strict: true" in SITE and "font: false" in SITE
    assert not re.search(r"https?://", SITE)


def test_links_between_pages_lead_somewhere() -> None:
    for page in DOCS.glob("*.md"):
        for name in re.findall(r"\]\((?!https?:)([\w./-]+\.md)(?:#[\w-]+)?\)", page.read_text("utf-8")):
            assert (DOCS / name).is_file(), (page.name, name)
