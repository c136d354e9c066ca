"""One transformer layer, in the two styles: attention added to the stream, then an MLP added to it."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import gelu, relu

from attnscope.core.dense import Steps
from attnscope.core.masks import causal
from attnscope.core.scoring import Scoring
from attnscope.gpt.config import GPTConfig
from attnscope.nn import CausalSelfAttention, KeyValueCache, MultiHeadAttention
from attnscope.shapes import Key, Query, Value

CAUSAL = Scoring(causal())


class LessonBlock(nn.Module):
    """The ordinary pre-norm block around the lesson's CausalSelfAttention."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        d = config.d_model
        self.attention_norm = nn.LayerNorm(d)
        self.attention = CausalSelfAttention(d, config.n_heads)
        self.mlp_norm = nn.LayerNorm(d)
        self.mlp_up = nn.Linear(d, 4 * d)
        self.mlp_down = nn.Linear(4 * d, d)

    def forward(self, x: Float[Tensor, "b t c"], cache: KeyValueCache | None) -> Float[Tensor, "b t c"]:
        """The stream after this layer, (b t d_model)."""
        x = x + self.attention(self.attention_norm(x), cache=cache)
        mixed: Tensor = self.mlp_down(gelu(self.mlp_up(self.mlp_norm(x))))
        return x + mixed

    def steps(self, x: Float[Tensor, "b t c"]) -> Steps:
        """What attention does with the stream x (b t d_model), step by step."""
        return self.attention.steps(self.attention_norm(x))

    def project(self, x: Float[Tensor, "b t c"]) -> tuple[Query, Key, Value]:
        """q, k and v that attention makes of the stream x (b t d_model): (b h t d) each."""
        return self.attention.project(self.attention_norm(x))

    @property
    def output(self) -> nn.Linear:
        """What the joined heads go through on their way into the stream."""
        return self.attention.out


class ModernBlock(nn.Module):
    """Rotary attention with normalised q and k, and squared ReLU (So et al. 2021); no biases."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        d = config.d_model
        self.attention_norm = nn.RMSNorm(d, eps=1e-6)
        self.attention = MultiHeadAttention(d, config.n_heads, bias=False, rotary="half", norm_qk=True)
        self.mlp_norm = nn.RMSNorm(d, eps=1e-6)
        self.mlp_up = nn.Linear(d, 4 * d, bias=False)
        self.mlp_down = nn.Linear(4 * d, d, bias=False)

    def forward(self, x: Float[Tensor, "b t c"], cache: KeyValueCache | None) -> Float[Tensor, "b t c"]:
        """The stream after this layer, (b t d_model)."""
        x = x + self.attention(self.attention_norm(x), scoring=CAUSAL, cache=cache)
        mixed: Tensor = self.mlp_down(relu(self.mlp_up(self.mlp_norm(x))).square())
        return x + mixed

    def steps(self, x: Float[Tensor, "b t c"]) -> Steps:
        """What attention does with the stream x (b t d_model), step by step."""
        return self.attention.steps(self.attention_norm(x), scoring=CAUSAL)

    def project(self, x: Float[Tensor, "b t c"]) -> tuple[Query, Key, Value]:
        """q, k and v that attention makes of the stream x (b t d_model): (b h t d) each."""
        return self.attention.project(self.attention_norm(x))

    @property
    def output(self) -> nn.Linear:
        """What the joined heads go through on their way into the stream."""
        return self.attention.out_proj
