"""The model card: what was trained, on what, how, how well, and the hash of the weights."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnscope.errors import TrainingError
from attnscope.files import reading, write_whole
from attnscope.gpt.checkpoint import Settings
from attnscope.gpt.presets import Preset, preset_named
from attnscope.gpt.store import WEIGHTS

CARD, RECORD = "README.md", "training.json"


@dataclass(frozen=True)
class Result:
    """The end of a run. loss: validation, in nats a character; sha256: of model.safetensors."""

    loss: float
    parameters: int
    characters: int
    sample: str


def write_card(folder: Path, preset: Preset, settings: Settings, result: Result, *, source: str) -> None:
    """Write README.md for people and training.json for programs. `source` names the text."""
    import torch

    from attnscope import __version__

    with reading(folder / WEIGHTS, TrainingError):
        weights = (folder / WEIGHTS).read_bytes()
    record: dict[str, Any] = {
        "preset": preset.name,
        "text": {"name": source, "sha256": settings.text_sha256, "characters": result.characters},
        "seed": settings.seed,
        "threads": settings.threads,
        "recipe": settings.recipe,
        "parameters": result.parameters,
        "validation_loss": result.loss,
        "weights": {
            "sha256": hashlib.sha256(weights).hexdigest(),
            "bytes": len(weights),
            "dtype": preset.stored,
        },
        "versions": {"attnscope": __version__, "torch": torch.__version__},
    }
    write_whole(
        folder / RECORD, (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode(), TrainingError
    )
    write_whole(folder / CARD, _card(preset, record, result.sample).encode(), TrainingError)


def _card(preset: Preset, record: dict[str, Any], sample: str) -> str:
    rows = "\n".join(f"| {name} | {value} |" for name, value in _facts(preset, record).items())
    return f"""# {preset.name}

{preset.what}. A character-level language model: it continues text in the manner of what it was
trained on, knows nothing else, and is meant to be looked into.

| | |
|---|---|
{rows}

`losses.csv` and `losses.png` hold the loss curve, `training.json` the same facts for programs.

## A sample (temperature 0.8)

```text
{sample}
```
"""


def _facts(preset: Preset, record: dict[str, Any]) -> dict[str, str]:
    recipe, text, weights, versions = (record[name] for name in ("recipe", "text", "weights", "versions"))
    loss, threads = record["validation_loss"], record["threads"]
    rates = f"AdamW at {recipe['rate']:g}"
    if recipe["optimiser"] == "muon":
        rates = f"Muon at {recipe['matrix_rate']:g} for the layers' matrices, {rates} for the rest"
    return {
        "validation loss": f"**{loss:.4f}** nats a character (exactly {loss!r})",
        "measured": f"over the whole last 10% of the text, in blocks of {preset.context} from position 0, "
        "every position counted, with the weights of this file read as float32",
        "data": f"`{text['name']}`, {text['characters']:,} characters, the first 90% to train on; "
        f"SHA-256 `{text['sha256']}`",
        "shape": f"{preset.n_layers} layers, {preset.n_heads} heads, width {preset.d_model}, "
        f'context {preset.context}, {record["parameters"]:,} parameters; style "{preset.style}", '
        f'positions "{preset.positions}"',
        "recipe": f"{recipe['steps']:,} steps of {recipe['batch']} blocks "
        f"({recipe['steps'] * recipe['batch'] * preset.context:,} characters); {rates}; "
        f"{recipe['warmup']} steps of warm-up, cool-down over the last {recipe['cooldown']:.0%}; "
        f"decay {recipe['decay']:g}",
        "seed": f"{record['seed']}, on {threads} thread{'' if threads == 1 else 's'}",
        "made by": f"`{made_by(preset, record)}` (attnscope {versions['attnscope']}, "
        f"torch {versions['torch']})",
        "weights": f"{weights['bytes']:,} bytes of {weights['dtype']}; SHA-256 `{weights['sha256']}`",
    }


def made_by(preset: Preset, record: dict[str, Any]) -> str:
    """The command line that makes the same model."""
    words = ["attnscope train", f"--text {record['text']['name']}", f"--preset {preset.name}"]
    words += [f"--seed {record['seed']}", f"--threads {record['threads']}"]
    if preset.recipe.steps != preset_named(preset.name).recipe.steps:
        words.append(f"--steps {preset.recipe.steps}")
    return " ".join(words)
