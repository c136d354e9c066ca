"""The models that `attnscope train` knows by name: their shape, their recipe, how their weights are kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from attnscope.errors import TrainingError
from attnscope.gpt.config import GPTConfig, Positions, Style
from attnscope.gpt.recipe import Recipe

Stored = Literal["float32", "float16"]


@dataclass(frozen=True)
class Preset:
    """A named model: all of its config but the vocabulary, its recipe, and the dtype of its weights file."""

    name: str
    what: str
    style: Style
    positions: Positions
    n_layers: int
    n_heads: int
    d_model: int
    context: int
    recipe: Recipe
    stored: Stored = "float32"

    def config(self, vocabulary: int) -> GPTConfig:
        """The config for a text of so many different characters."""
        return GPTConfig(
            vocabulary=vocabulary,
            context=self.context,
            n_layers=self.n_layers,
            n_heads=self.n_heads,
            d_model=self.d_model,
            style=self.style,
            positions=self.positions,
        )


_LESSON = Recipe(steps=3000, batch=16, optimiser="adamw", rate=3e-3, decay=0.1, warmup=100, cooldown=0.8)
_LAPTOP = Recipe(
    steps=2000,
    batch=12,
    optimiser="muon",
    rate=4e-3,
    matrix_rate=0.02,
    warmup=50,
    cooldown=0.6,
    measure_every=500,
)
_EMBEDDED = replace(_LAPTOP, steps=1500, save_every=50)

PRESETS = {
    preset.name: preset
    for preset in (
        Preset(
            "lesson", "The lesson's own model: 4 layers of CausalSelfAttention(64, 4)",
            "lesson", "learned", 4, 4, 64, 64, _LESSON,
        ),
        Preset(
            "lesson-no-positions", "The same without positions, to see what they are worth",
            "lesson", "none", 4, 4, 64, 64, _LESSON,
        ),
        Preset(
            "laptop", "0.8 million parameters, trained in minutes on one core",
            "modern", "rotary", 4, 4, 128, 64, _LAPTOP,
        ),
        Preset(
            "embedded", "The model that ships with attnscope: 6 layers of 6 heads, context 256",
            "modern", "rotary", 6, 6, 144, 256, _EMBEDDED, "float16",
        ),
    )
}  # fmt: skip


def preset_named(name: str) -> Preset:
    """The preset of that name. Raises TrainingError with the names there are."""
    if name not in PRESETS:
        raise TrainingError(f"There is no preset {name!r}", wanted=f"One of {', '.join(PRESETS)}")
    return PRESETS[name]
