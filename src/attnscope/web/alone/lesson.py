"""The lesson as one HTML file: the page Walk with its styles, modules and numbers inside it.

Nothing is built: each module stays as it is but for the names it imports. A relative specifier means nothing
inside a data: URL, so "./dom.js" becomes the bare name "js/dom.js", and an import map leads from that name to
the module's text. The file carries a policy of its own that forbids every request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

from attnscope.errors import LessonError
from attnscope.files import home_made, make_folder, reading, write_whole
from attnscope.lesson import SECTIONS
from attnscope.web.alone.page import hashed, json_text
from attnscope.web.modules import imports, reached
from attnscope.web.pages import walk_page
from attnscope.web.statics import read

Progress = Callable[[str, int, int], None]

GENERATOR = "attnscope lesson"
_MARK = f'<meta name="generator" content="{GENERATOR}">'
_MARK_WITHIN = 4096  # bytes from the file's beginning
_SHEET = re.compile(r'<link rel="stylesheet" href="static/([^"]+)">\n?')
_PLAIN_SCRIPT = re.compile(r'<script src="static/([^"]+)"></script>')
_MODULE_SCRIPT = re.compile(r'<script type="module" src="static/([^"]+)"></script>')
_ICON = re.compile(r'href="static/([^"]+\.svg)"')
_PAGES = re.compile(r'\s*<nav aria-label="Pages">.*?</nav>', re.DOTALL)
_CHARSET = '<meta charset="utf-8">'


def write_lesson(file: str | Path, *, progress: Progress | None = None) -> Path:
    """Write the lesson as one file and return its path.

    A file of that name is replaced only where it is an export of the lesson itself. Raises LessonError where
    another file or a folder is in its place, or where the system refuses.
    """
    path = home_made(str(file), LessonError)
    _refuse_foreign(path)
    make_folder(path.parent, LessonError, "Choose another file")
    page = lesson_page(progress=progress)
    write_whole(path, page.encode(), LessonError)
    return path


def lesson_page(*, progress: Progress | None = None) -> str:
    """Return the whole lesson as the text of one HTML file."""
    text = _PAGES.sub("", walk_page()).replace('href="walk"', 'href="?"')
    styles = "\n" + "\n".join(read(name) for name in _SHEET.findall(text))
    text = _SHEET.sub("", text)
    text = _ICON.sub(lambda found: f'href="data:image/svg+xml,{_quoted(read(found[1]))}"', text)
    text, allowed = _with_scripts(text)
    text = text.replace("</head>", f"<style>{styles}</style>\n</head>")
    text = text.replace("</body>", "\n".join([*_data(progress), "</body>"]))
    policy = (
        f"default-src 'none'; script-src {' '.join(allowed)} data:; style-src {hashed(styles)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    head = f'{_CHARSET}\n<meta http-equiv="Content-Security-Policy" content="{policy}">\n{_MARK}'
    return text.replace(_CHARSET, head, 1)


def _with_scripts(text: str) -> tuple[str, list[str]]:
    """Return the page with its scripts inside it, and the hash of each for the policy."""
    allowed: list[str] = []

    def script(content: str, kind: str = "") -> str:
        allowed.append(hashed(content))
        return f"<script{kind}>{content}</script>"

    def module(found: re.Match[str]) -> str:
        modules = modules_from(found[1])
        urls = {name: f"data:text/javascript;charset=utf-8,{_quoted(code)}" for name, code in modules.items()}
        import_map = script(json_text({"imports": urls}), ' type="importmap"')
        return import_map + "\n" + script(f'import "{found[1]}"', ' type="module"')

    text = _PLAIN_SCRIPT.sub(lambda found: script(read(found[1])), text)
    return _MODULE_SCRIPT.sub(module, text), allowed


def modules_from(entry: str) -> dict[str, str]:
    """Return every module that `entry` reaches, by its path below static/, its imports made bare names.

    >>> sorted(modules_from("js/pure/number.js"))
    ['js/pure/number.js']
    """
    return {name: with_bare_names(text, name) for name, text in reached(entry).items()}


def with_bare_names(text: str, name: str) -> str:
    """Return a module's text with "./x.js" and "../x.js" as paths below static/.

    >>> with_bare_names("import { h } from '../dom.js'", "js/kit/curve.js")
    "import { h } from 'js/dom.js'"
    """
    for (start, end), target in reversed(list(imports(text, name))):
        text = text[:start] + target + text[end:]
    return text


def _data(progress: Progress | None) -> Iterator[str]:
    """Yield every chapter's numbers as a script element that holds JSON."""
    for done, one in enumerate(SECTIONS):
        if progress is not None:
            progress(f"section {one.number}, {one.title}", done, len(SECTIONS))
        held = json_text(one.to_dict())
        yield f'<script type="application/json" data-lesson="{one.number}">{held}</script>'
    if progress is not None:
        progress("", len(SECTIONS), len(SECTIONS))


def _quoted(text: str) -> str:
    return quote(text, safe=" !$&'()*+,-./:;=?@_~[]{}|^`")


def _refuse_foreign(path: Path) -> None:
    with reading(path, LessonError):
        if not path.exists():
            return
        if not path.is_file():
            what = "a folder" if path.is_dir() else "no file but a device or a pipe"
            raise LessonError(f"{path} is {what}", wanted="The name of a file is wanted")
        with path.open("rb") as file:
            head = file.read(_MARK_WITHIN)
    if _MARK.encode() not in head:
        raise LessonError(
            f"{path} is there and was not written by attnscope lesson",
            wanted="It was left as it is",
            hint="Choose another name",
        )
