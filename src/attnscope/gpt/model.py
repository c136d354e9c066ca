"""The language model: characters in, logits of the next character out, at every position."""

from __future__ import annotations

from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnscope.core.dense import Steps
from attnscope.errors import EmptyText, ShapeError, TextTooLong
from attnscope.gpt.block import LessonBlock, ModernBlock
from attnscope.gpt.chance import drawing
from attnscope.gpt.config import GPTConfig
from attnscope.gpt.tokenizer import CharacterTokenizer
from attnscope.nn import KeyValueCache
from attnscope.shapes import Ids


class GPT(nn.Module):
    """A stack of transformer layers between an embedding and a linear head."""

    def __init__(self, config: GPTConfig, tokenizer: CharacterTokenizer, *, seed: int = 0) -> None:
        super().__init__()
        if len(tokenizer) != config.vocabulary:
            raise ShapeError(
                f"A vocabulary of {len(tokenizer)} characters and a model of {config.vocabulary}",
                wanted="As many of the one as of the other",
            )
        self.config, self.tokenizer = config, tokenizer
        modern = config.style == "modern"
        with drawing(seed):
            self.embedding = nn.Embedding(config.vocabulary, config.d_model)
            self.position = (
                nn.Embedding(config.context, config.d_model) if config.positions == "learned" else None
            )
            block = ModernBlock if modern else LessonBlock
            self.layers = nn.ModuleList(block(config) for _ in range(config.n_layers))
            self.norm = nn.RMSNorm(config.d_model, eps=1e-6) if modern else nn.LayerNorm(config.d_model)
            self.head = nn.Linear(config.d_model, config.vocabulary, bias=False)
            _initialise(self, modern)

    @property
    def context(self) -> int:
        """How many characters the model reads at most."""
        return self.config.context

    @property
    def parameter_count(self) -> int:
        """How many numbers were learned."""
        return sum(parameter.numel() for parameter in self.parameters())

    def forward(self, ids: Ids, *, caches: list[KeyValueCache] | None = None) -> Float[Tensor, "b t n"]:
        """Logits (b t vocabulary) for ids (b t): at each position, of the character after it.

        caches: one KeyValueCache a layer, holding the characters before these. Raises EmptyText, TextTooLong
        past the context, ShapeError where ids is not (b t).
        """
        return self.after(self._enter(ids, caches[0].length if caches else 0), caches=caches)

    def after(
        self, x: Float[Tensor, "b t c"], *, layer: int = 0, caches: list[KeyValueCache] | None = None
    ) -> Float[Tensor, "b t n"]:
        """Logits (b t vocabulary) from the stream x (b t d_model) that enters that layer; caches as above."""
        for i in range(layer, len(self.layers)):
            x = self.layers[i](x, caches[i] if caches else None)
        logits: Tensor = self.head(self.norm(x))
        return logits

    @property
    def blocks(self) -> list[LessonBlock | ModernBlock]:
        """The layers, in order."""
        return cast(list[LessonBlock | ModernBlock], list(self.layers))

    @torch.no_grad()
    def streams(self, ids: Ids) -> list[Float[Tensor, "b t c"]]:
        """The stream (b t d_model) of ids (b t) as it enters each layer."""
        found = [self._enter(ids, 0)]
        for block in self.blocks[:-1]:
            found.append(block(found[-1], None))
        return found

    @torch.no_grad()
    def steps(self, ids: Ids) -> list[Steps]:
        """What each layer's attention does with ids (b t), on whole grids: memory O(t^2), for looking."""
        return [block.steps(x) for block, x in zip(self.blocks, self.streams(ids), strict=True)]

    def new_caches(self) -> list[KeyValueCache]:
        """One empty cache for each layer."""
        return [KeyValueCache() for _ in self.layers]

    def _enter(self, ids: Tensor, first: int) -> Tensor:
        """The stream before the first layer, (b t d_model), of characters from position `first` on."""
        self._check(ids, first)
        x: Tensor = self.embedding(ids)
        if self.position is not None:
            x = x + self.position(torch.arange(first, first + ids.shape[1], device=ids.device))
        return x

    def _check(self, ids: Tensor, first: int) -> None:
        if ids.dim() != 2:
            raise ShapeError(f"ids is {tuple(ids.shape)}", wanted="(batch, tokens)")
        if not ids.shape[1]:
            raise EmptyText("A text without a character", wanted="At least one")
        if first + ids.shape[1] > self.context:
            raise TextTooLong(
                f"{first + ids.shape[1]} characters, and this model reads at most {self.context}",
                length=first + ids.shape[1],
                limit=self.context,
            )


def _initialise(model: GPT, modern: bool) -> None:
    """Start values of the matrices; gains stay 1 and biases 0.

    modern: a layer's last matrices and the head at 0, so that each layer begins as the identity. lesson: q
    and k of unit variance, so that an untrained head has scores to look at; what is added to the stream is
    smaller by the root of how often that happens (GPT-2).
    """
    shrink = (2 * len(model.layers)) ** -0.5
    for name, parameter in model.named_parameters():
        if parameter.dim() < 2:
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
        elif name in ("embedding.weight", "position.weight"):
            nn.init.normal_(parameter)
        elif not modern:
            last = name.endswith(("attention.out.weight", "mlp_down.weight"))
            nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5 * (shrink if last else 1.0))
        elif name.endswith(("out_proj.weight", "mlp_down.weight", "head.weight")):
            nn.init.zeros_(parameter)
