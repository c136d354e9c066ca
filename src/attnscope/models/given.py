"""A model that is at hand already, with or without a tokeniser, as a subject."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from attnscope.errors import ModelError
from attnscope.gpt import GPT
from attnscope.models import tokens as marks
from attnscope.models.encoded import Encoded
from attnscope.models.huggingface import (
    UNSTATED_CONTEXT,
    choose,
    describe,
    forward_of,
    huggingface_subject,
    inputs_for,
)
from attnscope.models.own import own_subject
from attnscope.models.subject import Description, Subject
from attnscope.models.texts import longest_prefix
from attnscope.models.tokens import Token


def subject_of(model: nn.Module, tokenizer: Any = None) -> Subject:
    """Return a module as a subject: one of ours, one of transformers, or any that is called with ids (1 t).

    Without a tokeniser it reads ids alone, and texts are refused. The module's mode (train or eval) is left
    as it is. Raises ModelError where the size of its vocabulary cannot be told.
    """
    name = type(model).__name__
    if isinstance(model, GPT):
        return own_subject(model, name=name, label=name)
    config = getattr(model, "config", None)
    if getattr(config, "model_type", None) is None:
        return _plain(model, name)
    import transformers
    import transformers.models.auto.modeling_auto

    label = getattr(config, "name_or_path", "") or name
    choice = choose(transformers, config, architecture=name)
    if tokenizer is not None:
        return huggingface_subject(model, tokenizer, choice, name=label, label=label)
    description = describe(config, None, model, choice, name=label, label=label)
    read = inputs_for(model)
    codec = IdCodec(_vocabulary(model), description.context, lambda ids: read({"input_ids": ids}))
    return Subject(description, model, codec, forward_of(model), predicts=choice.predicts)


class IdCodec:
    """Reads ids alone: for a model without a tokeniser."""

    def __init__(self, vocabulary: int, limit: int, inputs: Callable[[list[int]], dict[str, Tensor]]) -> None:
        """`inputs` makes the model's inputs of ids; `limit` is its context, in tokens."""
        self._vocabulary, self._limit, self._inputs = vocabulary, limit, inputs

    def encode(self, text: str, *, target: bool = False) -> Encoded:
        """Refuse: nothing says how the text is cut into tokens."""
        raise _no_tokenizer()

    def chat(self, messages: Sequence[Mapping[str, Any]]) -> Encoded:
        """Refuse: nothing says how the text is cut into tokens."""
        raise _no_tokenizer()

    def token(self, token_id: int) -> Token:
        """Return a token that is named by its number."""
        return marks.of_text(token_id, f"#{token_id}")

    def row(self, ids: Sequence[int], after: Token | None = None) -> list[Token]:
        """Return a token named by its number for each."""
        return [self.token(one) for one in ids]

    def of_ids(self, ids: Sequence[int]) -> Encoded:
        """Return the ids as the model reads them."""
        return Encoded(list(ids), self.row(ids), self._inputs(list(ids)), "")

    def ordinary(self) -> list[int]:
        """Return every id of the vocabulary: which of them are special is not known."""
        return list(range(self._vocabulary))

    @property
    def beginning(self) -> int | None:
        """Return None: what a text begins with is not known."""
        return None

    def fitting(self, text: str) -> str:
        """Return as many characters as there are places."""
        return longest_prefix(text, len, self._limit, guess=self._limit)

    def mended(self, text: str) -> str:
        """Return the text."""
        return text


def _plain(model: nn.Module, name: str) -> Subject:
    """Any module whose forward takes ids (1 t) and gives a tensor or what begins with one."""

    def forward(encoded: Encoded) -> Tensor:
        answer = model(encoded.inputs["ids"].to(next(model.parameters()).device))
        found = answer[0] if isinstance(answer, tuple | list) else getattr(answer, "logits", answer)
        return cast(Tensor, found)[0]

    context = getattr(model, "context", None)
    description = Description(
        name, name, context if isinstance(context, int) else UNSTATED_CONTEXT, "token", 0, 0, "causal"
    )
    codec = IdCodec(_vocabulary(model), description.context, lambda ids: {"ids": torch.tensor([ids])})
    return Subject(description, model, codec, forward, predicts=False)


def _vocabulary(model: nn.Module) -> int:
    """Return how many tokens a model knows: what its config says, else the rows of its first table."""
    config: Any = getattr(model, "config", None)
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    stated = getattr(text, "vocab_size", None)
    if isinstance(stated, int):
        return stated
    tables = [one.num_embeddings for one in model.modules() if isinstance(one, nn.Embedding)]
    if not tables:
        raise ModelError(
            f"{type(model).__name__} has no table of tokens", wanted="A model that reads ids of tokens"
        )
    return tables[0]


def _no_tokenizer() -> ModelError:
    return ModelError(
        "This model came without a tokeniser", wanted="Texts as lists of ids, or tokenizer= beside the model"
    )
