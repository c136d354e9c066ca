"""Finds the folder of a model on the Hugging Face hub: in the local cache, else over the network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from attnscope.errors import MissingModel, ModelError
from attnscope.models.folders import SHIPPED_HINT

_HUB_ID = re.compile(r"[A-Za-z0-9_.-]{1,96}(/[A-Za-z0-9_.-]{1,96})?\Z")
_PATTERNS = ["*.json", "*.txt", "*.model", "*.safetensors"]
_ANSWER_SECONDS = 5.0


def is_hub_id(name: str) -> bool:
    """Return whether `name` can be the name of a model on the hub: NAME or OWNER/NAME."""
    return bool(_HUB_ID.match(name)) and not name.startswith((".", "-"))


def find_on_hub(name: str) -> Path:
    """Return the local folder of the hub's model `name`, fetched if it is not in the cache.

    Without a network it says so after one try of a few seconds; transformers' own five retries take half a
    minute.
    """
    try:
        import huggingface_hub as hub
    except ImportError as error:
        raise ModelError(
            f"{name} is no folder, and opening it from the Hugging Face hub needs transformers",
            hint="pip install 'attnscope[hf]'",
        ) from error
    cached = _cached(hub, name)
    if cached is not None:
        return cached
    try:
        info = hub.HfApi().model_info(name, timeout=_ANSWER_SECONDS)
    except Exception as error:  # connection errors come from whichever HTTP library the hub's client uses
        raise _refusal(name, error) from error
    files = [str(sibling.rfilename) for sibling in info.siblings or []]
    patterns = list(_PATTERNS)
    if not any(file.endswith(".safetensors") for file in files):
        patterns.append("pytorch_model*.bin")
    try:
        return Path(hub.snapshot_download(name, allow_patterns=patterns))
    except Exception as error:
        raise _refusal(name, error) from error


def _cached(hub: Any, name: str) -> Path | None:
    try:
        folder = Path(hub.snapshot_download(name, local_files_only=True))
    except (OSError, ValueError):
        return None
    whole = any(folder.glob("*.safetensors")) or any(folder.glob("pytorch_model*.bin"))
    return folder if whole and (folder / "config.json").is_file() else None


def _refusal(name: str, error: Exception) -> MissingModel:
    kind = type(error).__name__
    if kind == "GatedRepoError":
        return MissingModel(
            f"The hub hands out {name} only to those who accepted its terms",
            hint="Log in with `hf auth login`, or name a folder",
        )
    if kind in ("RepositoryNotFoundError", "RevisionNotFoundError"):
        return MissingModel(
            f"There is no folder {name}, and no model of that name on the Hugging Face hub", hint=SHIPPED_HINT
        )
    reason = (
        "the network is switched off (HF_HUB_OFFLINE)" if "Offline" in kind else "the hub cannot be reached"
    )
    return MissingModel(
        f"There is no folder {name}; it is not in the Hugging Face cache, and {reason}",
        wanted="A folder, a model in the cache, or a network is wanted",
        hint=SHIPPED_HINT,
    )
