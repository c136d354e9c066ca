"""What takes the output of a call is found where it is certain, and is a reason where it is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnscope import load, record
from attnscope.errors import NotKept
from attnscope.listen import projecting
from attnscope.recording import Site
from attnscope.recording.manifest import NAME, seal
from attnscope.recording.mixes import BEFORE, Lengths
from tests.listen.routes.torch_layers import fastpath, sharp

T, WIDTH, HEADS = 11, 40, 5


def by_hand(site: Site, weight: Tensor, batch: int = 0) -> Tensor:
    """|v_j W_O^h| in float64, (h tk), from the values that the recording holds and the model's own weight."""
    numbers = site.kept or range(site.heads)
    v, wide = site.v[batch].double(), weight.detach().double()
    parts = [wide[:, head * site.dv : (head + 1) * site.dv] for head in numbers]
    group = len(parts) // len(v)
    return torch.stack([(v[at // group] @ part.T).norm(dim=-1) for at, part in enumerate(parts)])


def recorded(model: nn.Module, *given: Any, **options: Any) -> list[Site]:
    own = options.pop("record", {})
    with torch.no_grad(), record(model, **own) as recording:
        model(*given, **options)
    return recording.sites


def group(model: Any) -> Any:
    return model.encoder.albert_layer_groups[0]


FAMILIES: dict[str, Callable[[Any, int], Tensor]] = {
    "llama": lambda model, layer: model.model.layers[layer].self_attn.o_proj.weight,  # grouped heads
    "gemma2": lambda model, layer: model.model.layers[layer].self_attn.o_proj.weight,
    "gpt-oss": lambda model, layer: model.model.layers[layer].self_attn.o_proj.weight,  # biases, sinks
    "gpt2": lambda model, layer: model.transformer.h[layer].attn.c_proj.weight.T,  # Conv1D, biases
    "bert": lambda model, layer: model.encoder.layer[layer].attention.output.dense.weight,  # elsewhere
    "albert": lambda model, layer: group(model).albert_layers[0].attention.dense.weight,
    "whisper": lambda model, layer: model.model.encoder.layers[layer].self_attn.out_proj.weight,
    "t5": lambda model, layer: model.encoder.block[layer].layer[0].SelfAttention.o.weight,
}  # fmt: skip


EAGER = ("llama", "gemma2", "gpt-oss", "t5")


@pytest.mark.parametrize(
    ("family", "attention"),
    [*((one, "eager") for one in EAGER), *((one, "sdpa") for one in FAMILIES if one not in EAGER[1:])],
)
def test_lengths_are_those_of_the_models_own_weights(
    family: str, attention: str, tiny: Callable[..., Any], inputs: Callable[..., Any]
) -> None:
    model, given = tiny(family, attention), inputs(family, pad=None if family == "whisper" else "left")
    for site in [one for one in recorded(model, **given) if one.kind == "self"][:2]:
        for batch in range(2):
            wanted = by_hand(site, FAMILIES[family](model, site.layer), batch)
            found = site.lengths.values
            assert found is not None, site.lengths.why
            assert found.dtype == torch.float32
            torch.testing.assert_close(found[batch].double(), wanted, rtol=1e-5, atol=1e-7)
            assert "".join(site.lengths.through or "").endswith(
                ("o_proj", "c_proj", "dense", "out_proj", ".o")
            )


@pytest.mark.parametrize("way", ["fast", "steps", "grid"])
def test_torchs_own_attention_says_it_itself(way: str) -> None:
    torch.manual_seed(3)
    model = sharp(nn.MultiheadAttention(48, 6, batch_first=True))
    x = torch.randn(2, T, 48)
    with fastpath(way == "fast"):
        (site,) = recorded(model, x, x, x, need_weights=way == "grid")
    route = {"fast": "fused", "steps": "sdpa", "grid": "eager"}[way]
    assert (site.route, site.lengths.through) == (f"multihead/{route}", "out_proj")
    wanted = by_hand(site, model.out_proj.weight, 1)
    torch.testing.assert_close(site.lengths.values[1].double(), wanted, rtol=1e-5, atol=1e-7)  # type: ignore[index]


def test_a_fused_layer_names_the_layer_of_its_attention() -> None:
    torch.manual_seed(3)
    model = sharp(nn.TransformerEncoderLayer(48, 6, 60, batch_first=True))
    (site,) = recorded(model, torch.randn(2, T, 48))
    assert (site.route, site.lengths.through) == ("multihead/fused", "self_attn.out_proj")
    wanted = by_hand(site, model.self_attn.out_proj.weight, 1)
    torch.testing.assert_close(site.lengths.values[1].double(), wanted, rtol=1e-5, atol=1e-7)  # type: ignore[index]


class Own(nn.Module):
    """Attention whose way on is handed in: after(out (b h t dv), x) -> what the model gives."""

    num_heads = HEADS

    def __init__(self, *, by_softmax: bool = False) -> None:
        super().__init__()
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, 23)
        self.side, self.norm = nn.Linear(WIDTH, 23), nn.LayerNorm(WIDTH)
        self.by_softmax = by_softmax
        self.after: Callable[[Tensor], Tensor] = lambda out: self.proj(merged(out))

    def forward(self, x: Tensor) -> Tensor:
        b, t, _ = x.shape
        q, k, v = (part.view(b, t, HEADS, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        if self.by_softmax:
            return self.after((q @ k.transpose(-2, -1)).softmax(dim=-1) @ v)
        return self.after(F.scaled_dot_product_attention(q, k, v))


def merged(out: Tensor) -> Tensor:
    return out.transpose(1, 2).flatten(2)


@pytest.fixture
def own() -> Own:
    torch.manual_seed(5)
    return Own().eval()


def lengths_of(model: nn.Module) -> Lengths:
    return recorded(model, torch.randn(2, T, WIDTH))[0].lengths


@pytest.mark.parametrize("dv", [1, 8])
def test_a_long_text_and_a_short_one_give_the_same_lengths(own: Own, dv: int) -> None:
    """Past as many keys as a value is wide the triangle stands for W_O^h."""
    x = torch.randn(1, 97, WIDTH)
    long, short = (recorded(own, given)[0].lengths.values for given in (x, x[:, :dv]))
    torch.testing.assert_close(long[:, :, :dv], short, rtol=2e-6, atol=0)  # type: ignore[index]


def test_a_model_with_attention_in_its_own_code_has_them_too() -> None:
    torch.manual_seed(5)
    model, x = Own(by_softmax=True).eval(), torch.randn(2, T, WIDTH)
    (site,) = recorded(model, x)
    assert site.heard_scores_alone
    v = model.qkv(x).chunk(3, dim=-1)[2].view(2, T, HEADS, -1).transpose(1, 2).detach().double()
    parts = model.proj.weight.detach().double().unflatten(1, (HEADS, 8)).transpose(0, 1)  # (h n dv)
    wanted = (v @ parts.transpose(1, 2)).norm(dim=-1)
    torch.testing.assert_close(site.lengths.values.double(), wanted, rtol=1e-5, atol=0)  # type: ignore[union-attr]
    assert site.lengths.through == "proj"


def test_positions_before_texts_are_the_same_heads(own: Own) -> None:
    own.after = lambda out: own.proj(merged(out).transpose(0, 1)).transpose(0, 1)
    assert lengths_of(own).through == "proj"


def test_a_model_that_gives_its_heads_away_has_lengths_of_values_alone(own: Own) -> None:
    for after in (merged, lambda out: out, lambda out: (merged(out), None)):
        own.after = after
        (site,) = recorded(own, torch.randn(2, T, WIDTH))
        assert (site.lengths.through, site.lengths.why) == (None, None)
        torch.testing.assert_close(site.lengths.values, site.v.norm(dim=-1))


def halved(out: Tensor) -> Tensor:
    return out.mul_(0.5)


def beside(own: Own, out: Tensor) -> Tensor:
    heads = merged(out)
    return own.proj(heads) + own.side(heads)


def width_first(own: Own, out: Tensor) -> Tensor:
    return own.proj(out.permute(0, 2, 3, 1).flatten(2))


def sparse(own: Own, out: Tensor) -> Tensor:
    return F.linear(merged(out), own.proj.weight.to_sparse())


WAYS: dict[str, tuple[Callable[[Own, Tensor], Tensor], str]] = {
    "a norm": (lambda own, out: own.proj(own.norm(merged(out))), projecting.NONE),
    "a gate": (lambda own, out: own.proj(merged(out) * 0.9), projecting.NONE),
    "no layer at all": (lambda own, out: merged(out) + 1, projecting.NONE),
    "width before heads": (width_first, projecting.NONE),
    "heads that are all alike": (lambda own, out: own.proj(merged(out.zero_())), projecting.NONE),
    "an adapter beside it": (beside, projecting.SEVERAL),
    "a gate in place": (lambda own, out: own.proj(merged(halved(out))), projecting.CHANGED),
    "a weight of no plain form": (sparse, projecting.FORM),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_not_certain_is_a_reason(own: Own, way: str) -> None:
    after, reason = WAYS[way]
    own.after = lambda out: after(own, out)
    found = lengths_of(own)
    assert (found.values, found.why) == (None, reason)


class Adapter(nn.Module):
    """A layer beside another one, as adapters wrap it."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base, self.down, self.up = base, nn.Linear(WIDTH, 3), nn.Linear(3, 23)

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + self.up(self.down(x))


def test_an_adapter_around_the_layer_is_no_certain_layer(own: Own) -> None:
    own.proj = Adapter(own.proj)  # type: ignore[assignment]
    assert lengths_of(own).why == projecting.SEVERAL


def test_looking_at_it_leaves_the_models_bits_alone(own: Own) -> None:
    x = torch.randn(2, T, WIDTH)
    with torch.no_grad():
        alone = own(x)
        with record(own):
            assert own(x).equal(alone)


@pytest.mark.parametrize("keep", ["summary", "qk", "qkv", "all"])
def test_they_are_kept_whatever_is_kept_and_come_back_from_disk(own: Own, keep: str, tmp_path: Any) -> None:
    x = torch.randn(2, T, WIDTH)
    with torch.no_grad():
        with record(own, heads=[1, 3], keep=keep) as live:
            own(x)
        with record(own, heads=[1, 3], keep=keep, path=tmp_path / "streamed"):
            own(x)
        with record(own) as whole:
            own(x)
    live.save(tmp_path / "saved")
    wanted = whole.sites[0].lengths.values[:, [1, 3]]  # type: ignore[index]
    for recording in (live, load(tmp_path / "saved"), load(tmp_path / "streamed")):
        torch.testing.assert_close(recording.sites[0].lengths.values, wanted, rtol=1e-6, atol=0)
        assert recording.sites[0].lengths.through == "proj"


@pytest.mark.parametrize("keep", ["qkv", "qk"])
def test_a_generation_has_them_of_all_its_keys(keep: str, tiny: Callable[..., Any]) -> None:
    model, ids = tiny("llama"), torch.arange(3, 16)[None]
    with record(model, keep=keep) as recording:
        model.generate(ids, max_new_tokens=6, do_sample=False)
    site = recording.site(1)
    if keep == "qk":
        assert site.lengths.why == projecting.UNKEPT
        return
    wanted = by_hand(site, model.model.layers[1].self_attn.o_proj.weight)
    assert site.lengths.values.shape == (1, 6, 18)  # type: ignore[union-attr]
    torch.testing.assert_close(site.lengths.values[0].double(), wanted, rtol=1e-5, atol=0)  # type: ignore[index]


def test_a_recording_from_before_says_so(own: Own, tmp_path: Any) -> None:
    with torch.no_grad(), record(own) as recording:
        own(torch.randn(1, T, WIDTH))
    recording.save(tmp_path / "old")
    manifest = json.loads((tmp_path / "old" / NAME).read_text())
    del manifest["runs"][0]["sites"][0]["stored"]["lengths"]
    (tmp_path / "old" / NAME).write_text(json.dumps(manifest | {"checksum": seal(manifest)}))
    again = load(tmp_path / "old").sites[0]
    assert (again.lengths.values, again.lengths.why) == (None, BEFORE)
    with pytest.raises(NotKept, match="has no lengths of values: the recording is from before"):
        again.mixes(0)
