"""The language model: characters in, logits of the next character out, at every position."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnscope.errors import EmptyText, ShapeError, TextTooLong
from attnscope.gpt.block import LessonBlock, ModernBlock
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
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
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
        first = caches[0].length if caches else 0
        self._check(ids, first)
        x = self.embedding(ids)  # (b t d_model)
        if self.position is not None:
            x = x + self.position(torch.arange(first, first + ids.shape[1], device=ids.device))
        for i, layer in enumerate(self.layers):
            x = layer(x, caches[i] if caches else None)
        logits: Tensor = self.head(self.norm(x))
        return logits

    def new_caches(self) -> list[KeyValueCache]:
        """One empty cache for each layer."""
        return [KeyValueCache() for _ in self.layers]

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
    """Start values: the last matrices of modern layers at 0, so that each layer begins as the identity."""
    for name, parameter in model.named_parameters():
        if parameter.dim() < 2:
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
        elif not modern:
            # GPT-2: 0.02, and what is added to the stream smaller by the root of how often that happens.
            last = name.endswith(("attention.out.weight", "mlp_down.weight"))
            nn.init.normal_(parameter, std=0.02 / (2 * len(model.layers)) ** 0.5 if last else 0.02)
        elif name.endswith(("out_proj.weight", "mlp_down.weight", "head.weight")):
            nn.init.zeros_(parameter)
        elif name == "embedding.weight":
            nn.init.normal_(parameter)
