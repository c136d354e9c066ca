"""Opens a folder of transformers: config chooses the class, files are checked, code in it never runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from attnscope.errors import AttnscopeError, BrokenModel, ModelError
from attnscope.models.codecs import HuggingFaceCodec
from attnscope.models.encoded import Encoded
from attnscope.models.folders import check_json, check_parts, gguf_of, read_config
from attnscope.models.subject import Description, Kind, Subject
from attnscope.models.weightfiles import check_finite, check_match, check_safetensors, weight_file
from attnscope.models.writing import HuggingFaceWriter

UNSTATED_CONTEXT = 4096  # tokens, for models that name no limit (relative positions): keeps a run in minutes
_NO_LIMIT = 1_000_000_000  # transformers writes 1e30 where a tokeniser has no limit


@dataclass(frozen=True)
class Choice:
    """The class to load a config with, and what its output is."""

    auto: str
    kind: Kind
    predicts: bool


def open_huggingface(
    folder: Path, *, name: str, label: str, dtype: torch.dtype | None = None, attention: str | None = None
) -> Subject:
    """Return the model of a Hugging Face folder; MissingModel or BrokenModel with the file where it cannot
    be.

    `dtype` None keeps the one of the files. Nothing is fetched, and code that lies in the folder never runs.
    """
    transformers = _transformers(folder)
    gguf = gguf_of(folder)
    extra: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    if gguf is None:
        _check_family(transformers, folder, read_config(folder))
        check_parts(folder)
        check_safetensors(folder)
    else:
        extra["gguf_file"] = gguf
    with _quiet(transformers):
        config = _guarded(folder, lambda: transformers.AutoConfig.from_pretrained(folder, **extra))
        tokenizer = _guarded(folder, lambda: transformers.AutoTokenizer.from_pretrained(folder, **extra))
        choice = choose(transformers, config)
        _check_reads_text(transformers, folder, config)
        module = _load(transformers, folder, choice, {**extra, "dtype": dtype or "auto", "attn": attention})
    _check_finite(module, folder)
    source = str(folder.resolve())
    return huggingface_subject(module, tokenizer, choice, name=name, label=label, source=source)


def huggingface_subject(
    module: nn.Module,
    tokenizer: Any,
    choice: Choice,
    *,
    name: str,
    label: str,
    source: str | None = None,
) -> Subject:
    """Return a model that is loaded, with its tokeniser; `source` is what opens it again."""
    description = describe(module.config, tokenizer, module, choice, name=name, label=label)
    codec = HuggingFaceCodec(tokenizer, description.context, inputs_for(module))
    writer = None
    if choice.predicts:
        answers = choice.kind == "encoder-decoder"
        writer = HuggingFaceWriter(module, codec, description.context, answers=answers)
    return Subject(
        description, module, codec, forward_of(module), predicts=choice.predicts, writer=writer,
        source=source,
    )  # fmt: skip


def _check_family(transformers: Any, folder: Path, config: dict[str, Any]) -> None:
    """Refuse a config of a family that the installed transformers has no code for."""
    family, file = config.get("model_type"), folder / "config.json"
    if not isinstance(family, str):
        raise BrokenModel(
            f"{file} names no model_type", wanted="The config of a Hugging Face model is wanted"
        )
    if family in transformers.models.auto.configuration_auto.CONFIG_MAPPING_NAMES:
        return
    if "auto_map" in config:
        raise ModelError(
            f"{folder} wants Python code of its own to be run", wanted="attnscope never runs a model's code"
        )
    installed = f"transformers {transformers.__version__}"
    raise ModelError(
        f"{file} names the model type {family!r}, which {installed} does not know",
        hint="A newer transformers may: pip install --upgrade transformers",
    )


def _check_reads_text(transformers: Any, folder: Path, config: Any) -> None:
    """Refuse a model that is run on a picture or on sound, before its weights are read."""
    families = transformers.AutoModel._model_mapping
    reads = families[type(config)].main_input_name if type(config) in families else "input_ids"
    both = transformers.models.auto.modeling_auto.MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING_NAMES
    if config.model_type in both:
        reads = "pixel_values"
    if reads in ("input_ids", None):
        return
    raise ModelError(
        f"{folder} holds a {config.model_type} model, which reads {reads} and cannot be run on a text alone",
        wanted="A model that reads a text",
        hint="In Python any model is recorded: with attnscope.record(model, path='recording'): "
        f"model({reads}=…); attnscope app recording shows it",
    )


def choose(transformers: Any, config: Any, *, architecture: str | None = None) -> Choice:
    """Return the class for a config: by the architecture where it is known, else by those that the config
    names, else by what its family can be.
    """
    tables = transformers.models.auto.modeling_auto
    causal, masked = tables.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, tables.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    named = {architecture} if architecture else set(getattr(config, "architectures", None) or [])
    if getattr(config, "is_encoder_decoder", False):
        return Choice("AutoModelForSeq2SeqLM", "encoder-decoder", True)
    looks_back = (config.model_type in causal and config.model_type not in masked) or bool(
        getattr(config, "is_decoder", False)
    )
    if named & _names(causal.values()):
        return Choice("AutoModelForCausalLM", "causal", True)
    if named & _names(masked.values()):
        return Choice("AutoModelForMaskedLM", "bidirectional", False)
    if not named and looks_back:
        return Choice("AutoModelForCausalLM", "causal", True)
    return Choice("AutoModel", "causal" if looks_back else "bidirectional", False)


def describe(
    config: Any, tokenizer: Any, module: nn.Module, choice: Choice, *, name: str, label: str
) -> Description:
    """Return the description of a loaded model."""
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    return Description(
        id=name,
        label=label,
        context=_context(text, tokenizer, module),
        unit="token",
        layers=int(getattr(text, "num_hidden_layers", 0) or 0),
        heads=int(getattr(text, "num_attention_heads", 0) or 0),
        kind=choice.kind,
    )


def _context(config: Any, tokenizer: Any, module: nn.Module) -> int:
    """Return how many tokens fit: the least of what config, position table and tokeniser allow."""
    limits = [getattr(config, "max_position_embeddings", None), getattr(tokenizer, "model_max_length", None)]
    for place, table in module.named_modules():
        if place.endswith("position_embeddings") and isinstance(table, nn.Embedding):
            # RoBERTa's positions start behind the padding's number
            skipped = 0 if table.padding_idx is None else table.padding_idx + 1
            limits.append(table.num_embeddings - skipped)
    stated = [int(limit) for limit in limits if isinstance(limit, int | float) and 0 < limit < _NO_LIMIT]
    return min(stated, default=UNSTATED_CONTEXT)


def _load(transformers: Any, folder: Path, choice: Choice, options: dict[str, Any]) -> nn.Module:
    attention = options.pop("attn")
    if attention is not None:
        options["attn_implementation"] = attention
    auto = getattr(transformers, choice.auto)

    def load() -> Any:
        return auto.from_pretrained(
            folder, output_loading_info=True, weights_only=True, ignore_mismatched_sizes=True, **options
        )

    module, info = cast(tuple[nn.Module, dict[str, Any]], _guarded(folder, load))
    check_match(module, folder, info)
    module.eval()
    return module


def _check_finite(module: nn.Module, folder: Path) -> None:
    files = {weight_file(folder, name) for name, _ in module.named_parameters()}
    check_finite(module, next(iter(files)) if len(files) == 1 else folder)


def _guarded(folder: Path, load: Callable[[], Any]) -> Any:
    """Return what `load` returns; whatever transformers raises becomes one sentence about the folder."""
    try:
        return load()
    except AttnscopeError:
        raise
    except Exception as error:  # transformers and its loaders raise many kinds, KeyError among them
        check_json(folder)
        said = " ".join(str(error).split())
        short = said[:300] + (" …" if len(said) > 300 else "")
        raise BrokenModel(f"{folder} cannot be opened ({type(error).__name__}: {short})") from error


def forward_of(module: nn.Module) -> Callable[[Encoded], Tensor]:
    accepts = inspect.signature(module.forward).parameters
    fixed = {"use_cache": False} if "use_cache" in accepts else {}

    def forward(encoded: Encoded) -> Tensor:
        device = next(module.parameters()).device
        answer = module(**{name: x.to(device) for name, x in encoded.inputs.items()}, **fixed)
        found = getattr(answer, "logits", None)
        states: Tensor = found if found is not None else answer.last_hidden_state
        return states[0]

    return forward


def inputs_for(module: nn.Module) -> Callable[[dict[str, list[int]]], dict[str, Tensor]]:
    """Return what makes the keyword inputs. No mask: one text has no padding, and the plain path is the
    model's.
    """
    accepts = inspect.signature(module.forward).parameters
    names = [name for name in ("input_ids", "token_type_ids") if name in accepts]

    def inputs(answer: dict[str, list[int]]) -> dict[str, Tensor]:
        return {name: torch.tensor([answer[name]]) for name in names if name in answer}

    return inputs


def _names(values: Any) -> set[str]:
    return {name for value in values for name in ((value,) if isinstance(value, str) else value)}


def _transformers(folder: Path) -> Any:
    try:
        import transformers
        import transformers.models.auto.modeling_auto
    except ImportError as error:
        raise ModelError(
            f"{folder} is a Hugging Face model, and transformers is not installed",
            hint="pip install 'attnscope[hf]'",
        ) from error
    return transformers


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Keep transformers' reports and bars off the terminal while a model is loaded."""
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
