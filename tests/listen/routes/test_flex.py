"""flex_attention in any code and in Hugging Face models: its functions are asked what they do at each cell.

torch compiles it; "force_eager" runs the same operator without a compiler, which takes a minute here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from attnscope.errors import NothingRecorded
from attnscope.listen import record
from attnscope.recording import Recording

B, H, HK, T, D = 2, 6, 2, 23, 8

pytestmark = [
    pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile"),
    pytest.mark.filterwarnings("ignore:_compile flag on create_block_mask:DeprecationWarning"),
]


@pytest.fixture
def uncompiled() -> Iterator[None]:
    with torch.compiler.set_stance("force_eager"):
        yield


class Calls(nn.Module):
    """One call of the function, with whatever it is given."""

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        mixed: Tensor = flex_attention(*args, **kwargs)
        return mixed


def qkv() -> tuple[Tensor, Tensor, Tensor]:
    return 3 * torch.randn(B, H, T, D), torch.randn(B, HK, T, D), torch.randn(B, HK, T, D)


def heard(model: nn.Module, *args: Any, **kwargs: Any) -> Recording:
    first = lambda out: out if isinstance(out, Tensor) else out[0]  # noqa: E731
    with torch.no_grad():
        alone = first(model(*args, **kwargs))
        with record(model, keep="all") as recording:
            assert torch.equal(first(model(*args, **kwargs)), alone)
    assert all(verdict == "passed" for site in recording.sites for row in site.certificate.verdict
               for verdict in row)  # fmt: skip
    return recording


def documents(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """Packed texts of 9 tokens, causal."""
    return (i // 9 == j // 9) & (j <= i)


def by_head(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """A window that grows with the head, one wider in the second text."""
    return (j <= i) & (i - j < 2 + h + b)


def slope(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return score - (i - j) * 0.5 ** (h + 1)


def cap(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return 4 * torch.tanh(score / 4)


def halved(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return score / 2


def cells(recording: Recording) -> Tensor:
    site = recording.sites[0]
    return torch.stack([torch.stack([site.visible(h, batch=b) for h in range(H)]) for b in range(B)])


@pytest.mark.parametrize("rule", [documents, by_head])
def test_a_mask_function_is_asked_at_every_position(rule: Callable[..., Tensor], uncompiled: None) -> None:
    mask = create_block_mask(rule, B, H, T, T, device="cpu")
    recording = heard(Calls(), *qkv(), block_mask=mask, enable_gqa=True)
    site = recording.sites[0]
    assert (site.route, site.heads, site.key_heads) == ("flex_attention", H, HK)
    places = (torch.arange(n).view(shape) for n, shape in
              ((B, (B, 1, 1, 1)), (H, (H, 1, 1)), (T, (T, 1)), (T, (T,))))  # fmt: skip
    assert torch.equal(cells(recording), rule(*places).expand(B, H, T, T))


def test_a_score_function_that_adds_is_a_bias_and_one_that_caps_a_cap(uncompiled: None) -> None:
    mask = create_block_mask(documents, None, None, T, T, device="cpu")
    q, k, v = qkv()
    added = heard(Calls(), q, k, v, score_mod=slope, block_mask=mask, enable_gqa=True).sites[0]
    assert type(added.scoring.bias).__name__ == "RelativeBias" and added.scoring.softcap is None
    capped = heard(Calls(), q, k, v, score_mod=cap, enable_gqa=True).sites[0]
    assert capped.scoring.bias is None and capped.scoring.softcap == pytest.approx(4)


def test_one_function_for_calls_of_other_batches_and_heads_is_read_for_each(uncompiled: None) -> None:
    class Three(nn.Module):
        def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            out = []
            for b, h in ((1, 2), (B, 2), (B, H)):
                mask = create_block_mask(by_head, b, h, T, T, device="cpu")
                some: Any = flex_attention(q[:b, :h], k[:b], v[:b], block_mask=mask, enable_gqa=True)
                out.append(some.flatten())
            return torch.cat(out)

    i, j = torch.arange(T)[:, None], torch.arange(T)
    sites = heard(Three(), *qkv()).sites
    assert [(site.batch, site.heads) for site in sites] == [(1, 2), (B, 2), (B, H)]
    for site in sites:
        for b, h in itertools.product(range(site.batch), range(site.heads)):
            assert torch.equal(site.visible(h, batch=b), (j <= i) & (i - j < 2 + h + b))


def test_a_score_function_is_asked_some_rows_at_a_time(
    uncompiled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from attnscope.listen.routes import flex

    asked: list[int] = []
    everywhere = flex._everywhere

    def counted(mod: Any, *places: Tensor) -> Tensor:
        cells = everywhere(mod, *places)
        asked.append(cells.numel())
        return cells

    monkeypatch.setattr(flex, "_everywhere", counted)
    monkeypatch.setattr(flex, "AT_ONCE", 5 * B * H * T)
    both = lambda score, b, h, i, j: cap(slope(score, b, h, i, j) * 0 + score, b, h, i, j) - (i - j)  # noqa: E731
    (site,) = heard(Calls(), *qkv(), score_mod=both, enable_gqa=True).sites
    assert site.scoring.softcap == pytest.approx(4) and type(site.scoring.bias).__name__ == "RelativeBias"
    assert len(asked) > 16 and max(asked) == 5 * B * H * T
    monkeypatch.setattr(flex, "LARGEST", 2 * T * T)
    uneven = lambda score, b, h, i, j: score + torch.sin(i * j * (h + 1.0))  # noqa: E731
    with pytest.raises(NothingRecorded, match="adds another number in each of more than 1,058 cells"):
        heard(Calls(), *qkv(), score_mod=uneven, enable_gqa=True)


def test_a_score_function_that_does_more_is_refused_in_words(uncompiled: None) -> None:
    with pytest.raises(NothingRecorded, match="does more to a score than cap it and add to it"):
        heard(Calls(), *qkv(), score_mod=halved, enable_gqa=True)


def test_the_operator_is_heard_where_torch_has_taken_it_through_its_compiler() -> None:
    offset = torch.tensor(3)
    mask = create_block_mask(lambda b, h, i, j: j <= i + offset, B, None, T, T, device="cpu")
    recording = heard(Calls(), *qkv(), block_mask=mask, enable_gqa=True)
    assert torch.equal(cells(recording)[1, 5], torch.ones(T, T, dtype=torch.bool).tril(3))


@pytest.mark.parametrize("pad", [None, "left", "right"])
@pytest.mark.parametrize("family", ["llama", "llama4", "mistral", "gemma2", "bert", "t5"])
def test_hugging_face_models_are_read_by_what_they_hand_over(
    family: str, pad: str | None, uncompiled: None, tiny: Callable[..., nn.Module],
    inputs: Callable[..., dict[str, Tensor]],
) -> None:  # fmt: skip
    given = inputs(family, pad, t=T)
    if family == "t5":  # transformers asks a bias of one batch for its second
        given = {name: tensor[1:] for name, tensor in given.items()}
    real = given.get("attention_mask", torch.ones(B, T)).bool()
    recording = heard(tiny(family, "flex_attention"), **given)
    beside = heard(tiny(family, "eager"), **given)
    assert {site.route for site in recording.sites} == {"huggingface/flex_attention"}
    assert len(recording.sites) == len(beside.sites)
    for one, other in zip(recording.sites, beside.sites, strict=True):
        for batch in range(one.batch):
            rows = other.visible(0, batch=batch).any(dim=-1)
            rows = rows & real[batch] if one.tq == T else rows  # what padded rows mix is anybody's
            assert torch.equal(one.visible(0, batch=batch)[rows], other.visible(0, batch=batch)[rows])
            torch.testing.assert_close(
                one.weights(5, batch=batch)[rows], other.weights(5, batch=batch)[rows], rtol=0, atol=1e-4
            )
