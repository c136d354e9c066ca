"""The shape of a model: every number needed to build it, and nothing about how it was trained."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self

from attnscope.errors import BrokenModel

Style = Literal["lesson", "modern"]
Positions = Literal["learned", "rotary", "none"]
FORMAT = "attnscope-gpt"
FORMAT_VERSION = 1
MOST = 2**24  # of context and width; no tensor of such a model has more bytes than an address


@dataclass(frozen=True)
class GPTConfig:
    """A character-level GPT.

    vocabulary: how many characters; context: how many of them it reads at most. style: "lesson" has
    CausalSelfAttention, layer norms, biases and GELU; "modern" has MultiHeadAttention with normalised q and
    k, RMS norms, no biases and squared ReLU. positions: "rotary" needs the modern style, "learned" and "none"
    the lesson's.
    """

    vocabulary: int
    context: int
    n_layers: int
    n_heads: int
    d_model: int
    style: Style = "modern"
    positions: Positions = "rotary"

    def __post_init__(self) -> None:
        for name in ("vocabulary", "context", "n_layers", "n_heads", "d_model"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise BrokenModel(f"{name} is {value!r}", wanted="A whole number of 1 or more")
            if name in ("context", "d_model") and value > MOST:
                raise BrokenModel(f"{name} is {value}", wanted=f"A whole number of {MOST} at most")
        if self.d_model % self.n_heads:
            raise BrokenModel(
                f"d_model={self.d_model} and n_heads={self.n_heads}", wanted="A width of n_heads equal parts"
            )
        pairs = [("modern", "rotary"), ("lesson", "learned"), ("lesson", "none")]
        if (self.style, self.positions) not in pairs:
            raise BrokenModel(
                f"style={self.style!r} with positions={self.positions!r}",
                wanted='"modern" with "rotary", or "lesson" with "learned" or "none"',
            )
        if self.positions == "rotary" and self.d_model // self.n_heads % 2:
            raise BrokenModel(
                f"d_model={self.d_model} and n_heads={self.n_heads} with rotary positions",
                wanted="Heads of an even width: rotations turn pairs",
            )

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON: the format's name and version first."""
        return {"format": FORMAT, "version": FORMAT_VERSION, **asdict(self)}

    @classmethod
    def from_dict(cls, given: object) -> Self:
        """The config that `to_dict` wrote. Raises BrokenModel for anything else, and says what it is."""
        if not isinstance(given, dict) or given.get("format") != FORMAT:
            kind = given.get("model_type") if isinstance(given, dict) else None
            raise BrokenModel(
                "This config.json is of "
                + (f"a {kind} model" if kind and isinstance(kind, str) else "something else"),
                wanted=f'One that `attnscope train` wrote: "format": "{FORMAT}"',
            )
        if given.get("version") != FORMAT_VERSION or isinstance(given["version"], bool):
            raise BrokenModel(
                f"The model's format is version {given.get('version')!r}",
                wanted=f"Version {FORMAT_VERSION}",
                hint="A newer attnscope may read it",
            )
        names = {field.name for field in fields(cls)}
        values = {name: value for name, value in given.items() if name in names}
        missing = sorted(names - set(values))
        if missing:
            raise BrokenModel(f"The model's config.json lacks {', '.join(missing)}")
        return cls(**values)
