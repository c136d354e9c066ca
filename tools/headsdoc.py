"""headsdoc.py: writes the tables of docs/heads.md anew, from the registry of scores and the rules."""

from __future__ import annotations

from pathlib import Path

from attnscope.measure.docs import between, class_table, score_table

PAGE = Path(__file__).parents[1] / "docs" / "heads.md"


def main() -> None:
    """Write the page."""
    page = PAGE.read_text("utf-8")
    for name, table in (("scores", score_table()), ("classes", class_table())):
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        page = page.replace(f"{begin}{between(page, name)}{end}", f"{begin}\n{table}\n{end}")
    PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
