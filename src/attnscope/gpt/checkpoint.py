"""A training run on disk: one safetensors file with weights, optimiser state, history and settings."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from attnscope.errors import TrainingError
from attnscope.files import reading, write_whole
from attnscope.gpt.history import History

NAME = "checkpoint.safetensors"
FORMAT = "attnscope-checkpoint"


@dataclass(frozen=True)
class Settings:
    """What decides the result of a run: two runs with equal settings end with the same weights."""

    preset: str
    config: dict[str, Any]
    recipe: dict[str, Any]
    seed: int
    threads: int
    text_sha256: str
    characters: str

    def differences(self, other: Settings) -> list[str]:
        """The settings in which `other` is not this one, as words: "seed 1, not 2"."""
        mine, theirs = asdict(self), asdict(other)
        words = {"text_sha256": "another text", "config": "another model", "recipe": "another recipe"}
        return [
            words.get(name, f"{name} {mine[name]}, not {theirs[name]}")
            for name in ("text_sha256", "preset", "seed", "threads", "recipe", "config")
            if mine[name] != theirs[name]
        ]


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The state after `step` steps. What a step draws is a function of seed and step (data.Blocks), so that
    no state of a random generator is needed beside them."""

    settings: Settings
    step: int
    history: History
    weights: dict[str, Tensor]
    optimiser: dict[str, Tensor]

    def save(self, folder: Path) -> None:
        """Write it over the one in the folder; a reader finds either the old or the new one, whole."""
        about = {
            "format": FORMAT,
            "settings": json.dumps(asdict(self.settings), ensure_ascii=False),
            "step": str(self.step),
            "history": json.dumps(self.history.to_dict()),
        }
        tensors = {f"weights/{name}": tensor.detach() for name, tensor in self.weights.items()}
        tensors |= {f"optimiser/{name}": tensor for name, tensor in self.optimiser.items()}
        write_whole(folder / NAME, save(tensors, metadata=about), TrainingError)


def read_checkpoint(folder: Path) -> Checkpoint | None:
    """The run in a folder; None where the folder holds none. Raises TrainingError for a broken file."""
    path = folder / NAME
    with reading(path, TrainingError):
        if not path.exists():
            return None
        path.open("rb").close()
    try:
        with safe_open(path, framework="pt") as file:
            about = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if about.get("format") != FORMAT:
            raise TrainingError(f"{path} is not of a run of attnscope", hint="Choose another --out")
        return Checkpoint(
            settings=Settings(**json.loads(about["settings"])),
            step=int(about["step"]),
            history=History.from_dict(json.loads(about["history"])),
            weights=_under("weights/", tensors),
            optimiser=_under("optimiser/", tensors),
        )
    except TrainingError:
        raise
    except (SafetensorError, OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise not_whole(path, error) from None


def not_whole(path: Path, error: Exception) -> TrainingError:
    """The refusal of a checkpoint that is damaged."""
    return TrainingError(
        f"{path} is not a whole checkpoint ({error})",
        hint="Delete that file to start this run again, or choose another --out",
    )


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): x for name, x in tensors.items() if name.startswith(prefix)}
