"""The turns of a chat, read from the special tokens that its template puts round them.

<|im_start|>user \\n … <|im_end|>                        ChatML: Qwen, SmolLM2, and many others
<|start_header_id|>user<|end_header_id|> … <|eot_id|>   Llama 3
<start_of_turn>user \\n … <end_of_turn>                  Gemma
<|start|>user<|message|> … <|end|>                      gpt-oss
<|start_of_role|>user<|end_of_role|> … <|end_of_text|>  Granite
<|user|> … <|end|>                                      Phi, GLM: the token is the role
[INST] … [/INST] …                                      Mistral, Llama 2
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attnscope.models.tokens import raw_of, spelled

_OPENS = {"<|im_start|>", "<|start_header_id|>", "<start_of_turn>", "<|start|>", "<|start_of_role|>"}
_ENDS = {
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<|end|>", "<|return|>", "<|call|>",
    "<|end_of_text|>", "<|endoftext|>", "</s>",
}  # fmt: skip
_NAMED = re.compile(r"<\|?(system|user|assistant|tool|observation|ipython|developer)\|?>")
_BRACKETS = {"[INST]": "user", "[/INST]": "assistant", "[SYSTEM_PROMPT]": "system"}
_LONGEST = 16
"""Tokens of a role's name at most."""


@dataclass(frozen=True)
class Turn:
    """One turn: who speaks, and the tokens first .. end - 1, those of the template included."""

    role: str
    first: int
    end: int


def turns_of(tokens: Sequence[Mapping[str, Any]]) -> tuple[Turn, ...]:
    """Return the turns of tokens as JSON values; none where no special token opens one."""
    found: list[Turn] = []
    role, first = None, 0
    for place, token in enumerate(tokens):
        name = str(token["text"]) if token["kind"] == "special" else ""
        opened = _role(tokens, place, name)
        if opened is not None:
            if role is not None:
                found.append(Turn(role, first, place))
            role, first = opened, place
        elif role is not None and name in _ENDS:
            found.append(Turn(role, first, place + 1))
            role = None
    return (*found, Turn(role, first, len(tokens))) if role is not None else tuple(found)


def _role(tokens: Sequence[Mapping[str, Any]], place: int, name: str) -> str | None:
    """Return who speaks from here on; None where no turn begins."""
    if name in _BRACKETS:
        return _BRACKETS[name]
    named = _NAMED.fullmatch(name)
    if named is not None:
        return named[1]
    if name not in _OPENS:
        return None
    raw = b""
    for token in tokens[place + 1 : place + 1 + _LONGEST]:
        if token["kind"] in ("special", "newline"):
            break
        raw += raw_of(token)
    role = spelled([raw]).partition("\n")[0].strip()
    return role or None
