"""The tables of docs/heads.md, written from the registry of scores and the rules of classes."""

from __future__ import annotations

from attnscope.measure.classes import RULES, Rule
from attnscope.measure.scores import SCORES

ON = {
    "plain": "running text",
    "twice": "n random tokens twice",
    "four": "a start token, n random tokens four times",
    "needle": "a sentence hidden in a text",
}


def score_table() -> str:
    """A row for each score: its column, definition, formula, the text it is measured on, its source."""
    lines = ["| column | definition | formula | on | source |", "|---|---|---|---|---|"]
    for one in SCORES:
        formula = one.formula.replace("|", "∣")  # the sign itself would end a cell
        lines.append(f"| `{one.name}` | {one.definition} | {formula} | {ON[one.text]} | {one.source} |")
    return "\n".join(lines)


def class_table() -> str:
    """A row for each class: what such a head does, and its rule."""
    lines = ["| class | a head that | rule |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {rule.name} | {rule.says} | {rule_in_words(rule)} |" for rule in RULES)])


def rule_in_words(rule: Rule) -> str:
    """What a rule asks for."""
    if rule.of_uniform:
        return f"low end of `{rule.score}` at least {rule.least:g} of the uniform head's"
    above = "the uniform head and the shuffled tokens" if rule.by_tokens else "the uniform head"
    return f"low end of `{rule.score}` at least {rule.least:g}, and above {above}"


def between(page: str, name: str) -> str:
    """What stands in a page between the marks of a table."""
    return page.split(f"<!-- {name} -->", 1)[1].split(f"<!-- end of {name} -->", 1)[0]
