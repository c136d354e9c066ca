"""Plain PyTorch that computes softmax attention itself is heard however it is written; lookalikes are not."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnscope.errors import NothingRecorded
from attnscope.listen import record
from attnscope.recording import Recording, Site

B, T, WIDTH, HEADS, D = 3, 17, 32, 4, 8


class Packed(nn.Module):
    """Packed qkv and softmax by hand; `mix` is how probabilities and values meet."""

    def __init__(self, mix: Callable[..., Tensor] | None = None) -> None:
        super().__init__()
        self.n_head = HEADS
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.drop, self.soft = nn.Dropout(0.1), nn.Softmax(dim=-1)
        self.mix = mix or (lambda own, s, v: s.softmax(-1) @ v)
        with torch.no_grad():
            self.qkv.weight[: 2 * WIDTH].mul_(5)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part.unflatten(-1, (HEADS, D)).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-2, -1) * D**-0.5
        hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        self.scores = scores.masked_fill(hidden, -torch.inf)
        return self.proj(self.mix(self, self.scores, v).transpose(1, 2).flatten(2))


def flat(x: Tensor) -> Tensor:
    return x.reshape(-1, *x.shape[2:])


WAYS: dict[str, Callable[..., Tensor]] = {
    "method and @": lambda own, s, v: s.softmax(-1) @ v,
    "torch.softmax and matmul": lambda own, s, v: torch.matmul(torch.softmax(s, dim=3), v),
    "functional, float32, bmm": lambda own, s, v: torch.bmm(
        flat(F.softmax(s, dim=-1, dtype=torch.float32)), flat(v)
    ).view(v.shape),
    "special and einsum": lambda own, s, v: torch.einsum("bhij,bhjd->bhid", torch.special.softmax(s, -1), v),
    "heads folded into the batch": lambda own, s, v: (flat(s).softmax(dim=2) @ flat(v)).view(v.shape),
    "modules": lambda own, s, v: own.drop(own.soft(s)) @ v,
    "einsum of a list, values in another order": lambda own, s, v: torch.einsum(
        "bhij,jbhd->bhid", [s.softmax(-1), v.permute(2, 0, 1, 3)]
    ),
    "einsum with dots": lambda own, s, v: torch.einsum("...ij,...jd->...id", s.softmax(-1), v),
    "transposed": lambda own, s, v: (v.mT @ s.softmax(-1).mT).mT,
    "through copies and casts": lambda own, s, v: s.softmax(-1).clone().double().float().contiguous() @ v,
    "keywords": lambda own, s, v: torch.matmul(input=torch.softmax(input=s, dim=-1), other=v),
}


def heard(model: nn.Module, x: Tensor | None = None) -> Recording:
    x = torch.randn(B, T, WIDTH) if x is None else x
    with torch.no_grad():
        alone = model(x)
        with record(model) as recording:
            assert torch.equal(model(x), alone)
    return recording


def passed(site: Site) -> bool:
    assert site.certificate is not None
    return {word for row in site.certificate.verdict for word in row} == {"passed"}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_of_writing_it_gives_the_same_summary(way: str) -> None:
    model = Packed(WAYS[way]).eval()
    (site,) = heard(model).sites
    weights = model.scores.double().softmax(dim=-1)
    assert (site.route, site.name, site.batch, site.heads, site.key_heads) == ("softmax", "", B, HEADS, HEADS)
    assert passed(site) and (site.kind, site.stack, site.offset) == ("self", "decoder", 0)
    for batch in range(B):
        summary = site.summary(batch)
        torch.testing.assert_close(summary.received[0].double(), weights[batch].sum(-2), rtol=0, atol=1e-5)
        torch.testing.assert_close(summary.largest[0].double(), weights[batch].amax(-1), rtol=0, atol=1e-6)
    assert float(weights[:, :, 3:].amax()) > 0.9
    for row in range(T):
        assert torch.equal(site.visible(2, row)[0], torch.arange(T) <= row)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_scores_that_softmax_rounds_first_are_read_as_it_takes_them(
    dtype: torch.dtype,
) -> None:
    slope = torch.linspace(-9, 9, T)  # as eager Falcon adds ALiBi, in float32
    model = Packed(lambda own, s, v: F.softmax(s.float() + slope, dim=-1, dtype=dtype) @ v).to(dtype).eval()
    (site,) = heard(model, torch.randn(B, T, WIDTH, dtype=dtype)).sites
    assert passed(site)
    weights = torch.softmax((model.scores.float() + slope).to(dtype).float(), dim=-1)
    largest = site.summary(1).largest[0].float()
    torch.testing.assert_close(largest, weights[1].amax(dim=-1).to(dtype).float(), rtol=0, atol=1e-6)


ALTERED: dict[str, Callable[..., Tensor]] = {
    "one head is knocked out": lambda own, s, v: (
        s.softmax(-1) * torch.tensor([1.0, 0, 1, 1]).view(4, 1, 1) @ v
    ),
    "the heads are mixed afterwards": lambda own, s, v: s.softmax(-1).flip(1).clone() @ v,
    "renormalised in place": lambda own, s, v: s.softmax(-1).mul_(0.99) @ v,
    "transposed by mistake": lambda own, s, v: s.softmax(-1).mT @ v,
}


@pytest.mark.parametrize("how", ALTERED)
def test_probabilities_that_are_changed_on_their_way_are_refused(how: str) -> None:
    (site,) = heard(Packed(ALTERED[how]).eval()).sites
    assert site.certificate is not None
    verdict = site.certificate.verdict[0]
    assert verdict == (("passed", "refused") + ("passed",) * 2 if "one head" in how else ("refused",) * 4)


class Heads(nn.Module):
    """One module a head, as in teaching code."""

    class Head(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(WIDTH, D) for _ in range(3))

        def forward(self, x: Tensor) -> Tensor:
            return (4 * self.q(x) @ self.k(x).mT).softmax(dim=-1) @ self.v(x)

    def __init__(self) -> None:
        super().__init__()
        self.num_heads = 3
        self.heads = nn.ModuleList(Heads.Head() for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([head(x) for head in self.heads], dim=-1)


def test_a_module_of_one_head_is_never_taken_for_several() -> None:
    recording = heard(Heads())  # 3 texts, and 3 heads that the outer module speaks of
    assert [(site.name, site.batch, site.heads, site.stack) for site in recording.sites] == [
        (f"heads.{i}", 3, 1, "encoder") for i in range(3)
    ]
    assert all(passed(site) for site in recording.sites)


class Cross(nn.Module):
    """Queries of one sequence, one key head of another."""

    def __init__(self) -> None:
        super().__init__()
        self.num_heads = HEADS
        self.q, self.kv = nn.Linear(WIDTH, HEADS * D), nn.Linear(WIDTH, 2 * D)

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        q = self.q(x).unflatten(-1, (HEADS, D)).transpose(1, 2)
        k, v = (part[:, None] for part in self.kv(memory).chunk(2, dim=-1))
        return ((q @ k.mT).softmax(dim=-1) @ v).transpose(1, 2).flatten(2)


def test_cross_attention_with_one_key_head_has_no_offset() -> None:
    model = Cross()
    with record(model) as recording:
        model(torch.randn(B, T, WIDTH), torch.randn(B, 5, WIDTH))
    (site,) = recording.sites
    assert (site.tq, site.tk, site.heads, site.key_heads, site.offset) == (T, 5, HEADS, 1, None) and passed(
        site
    )


class Lookalike(nn.Module):
    """A softmax that is no attention over positions."""

    def __init__(self, made: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.num_heads = HEADS
        self.experts, self.made = nn.Linear(WIDTH, B), made

    def forward(self, x: Tensor) -> Tensor:
        return self.made(self.experts(x) if x.dim() == 3 else x)


VALUES = torch.randn(B, B, 7)

LOOKALIKES: dict[str, Callable[[Tensor], Tensor]] = {
    "a router over as many experts as texts": lambda gates: gates.softmax(dim=-1) @ VALUES,
    "a router of flat tokens": lambda gates: gates.flatten(0, 1).softmax(dim=-1) @ VALUES[0],
    "pooling over positions": lambda gates: gates.softmax(dim=1).mT @ gates,
    "a vocabulary": lambda gates: gates.softmax(dim=-1),
    "four axes of which none is a length": lambda gates: (
        gates.repeat(1, 1, 4).view(B, 4, T, B).mT.softmax(dim=-1)[:, :, :, :5] @ torch.ones(B, 4, 5, 2)
    ),
    "blocks of rows": lambda gates: (
        (gates.mT[:, None] * torch.ones(B, HEADS, 1, 1))[:, :, :2].softmax(dim=-1) @ gates[:, None]
    ),
}


@pytest.mark.parametrize("what", LOOKALIKES)
def test_what_only_looks_like_attention_is_not_shown(what: str) -> None:
    model = Lookalike(LOOKALIKES[what])
    with pytest.raises(NothingRecorded), record(model):
        model(torch.randn(B, T, WIDTH))


class Linear(nn.Module):
    """Linear attention: softmax over features, as many as there are positions."""

    def __init__(self, side: str, *, functional: bool) -> None:
        super().__init__()
        self.num_heads, self.side, self.functional = 2, side, functional
        self.weight = nn.Parameter(torch.randn(3, 2, WIDTH, T) / WIDTH**0.5)
        self.qkv = nn.Linear(WIDTH, 3 * 2 * T)

    def forward(self, x: Tensor) -> Tensor:
        if self.functional:  # a weight of three axes multiplies as queries and keys do
            q, k, v = (torch.einsum("btw,hwd->bhtd", x, weight) for weight in self.weight)
        else:
            q, k, v = self.qkv(x).unflatten(-1, (3, 2, T)).permute(2, 0, 3, 1, 4)
        if self.side == "queries over width":
            return (q.softmax(dim=-1) @ (k.exp().mT @ v)).transpose(1, 2).flatten(2)
        return (q @ (k.mT.softmax(dim=-1) @ v)).transpose(1, 2).flatten(2)


@pytest.mark.parametrize("functional", [False, True])
@pytest.mark.parametrize("side", ["queries over width", "keys over positions"])
def test_softmax_over_features_is_no_attention_however_many_there_are(side: str, functional: bool) -> None:
    message = r"its softmax over \(3, 2, 17, 17\) was heard, and its scores could not be followed back"
    model = nn.Sequential(Linear(side, functional=functional), nn.Linear(2 * T, WIDTH))
    model.append(Linear(side, functional=functional))  # comes after products
    with pytest.raises(NothingRecorded, match=message):
        heard(model)


SCORED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "baddbmm": lambda q, k: torch.baddbmm(
        torch.zeros(1, 1, 1), flat(q), flat(k).mT, beta=0.0, alpha=0.5
    ).view(B, HEADS, T, T),
    "its method": lambda q, k: torch.zeros(1, 1, 1).baddbmm(flat(q), flat(k).mT).view(B, HEADS, T, T),
    "einsum": lambda q, k: torch.einsum("bhid,bhjd->bhij", q, k),
    "axes turned by einsum": lambda q, k: torch.einsum("bhid,bhjd->bijh", q, k).permute(0, 3, 1, 2),
    "in place": lambda q, k: (q @ k.mT).mul_(0.5).clamp_(-9, 9),
    "where": lambda q, k: torch.where(torch.ones(T, T).tril() > 0, q @ k.mT, -1e9),
    "two products": lambda q, k: q @ k.mT + (q.flip(1) @ k.mT),
    "in double": lambda q, k: (q.double() @ k.double().mT).float(),
}


@pytest.mark.parametrize("how", SCORED)
def test_scores_are_known_by_the_product_that_they_come_of(how: str) -> None:
    class Scored(Packed):
        def forward(self, x: Tensor) -> Tensor:
            q, k, v = (part.unflatten(-1, (HEADS, D)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
            return (SCORED[how](q, k).softmax(dim=-1) @ v).transpose(1, 2).flatten(2)

    (site,) = heard(Scored().eval()).sites
    assert passed(site)


def test_axes_are_named_as_numpy_names_them_too() -> None:
    class Named(Packed):
        def forward(self, x: Tensor) -> Tensor:
            q, k, v = (part.unflatten(-1, (HEADS, D)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
            past = torch.zeros(B, HEADS, 3, D)
            k, v = (torch.cat([past, part], axis=2) for part in (k, v))  # type: ignore[call-overload]
            weights = torch.softmax(q @ k.mT, axis=-1)  # type: ignore[call-overload]
            return (weights @ v).transpose(1, 2).flatten(2)

    (site,) = heard(Named().eval()).sites
    assert passed(site) and (site.tq, site.tk) == (T, T + 3)


@pytest.mark.parametrize(
    "part",
    [
        "routes.softmax.mixed", "routes.softmax._heard", "routes.softmax.multiplied", "folds.folded",
        "following.tensors_in",
    ],
)  # fmt: skip
def test_a_fault_of_our_own_is_a_reason_and_never_the_end_of_a_run(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **kwargs: Any) -> Any:
        raise KeyError("a fault")

    monkeypatch.setattr(f"attnscope.listen.{part}", broken)
    with pytest.raises(NothingRecorded, match="its numbers could not be read: KeyError: 'a fault'"):
        heard(Packed(lambda own, s, v: flat(s.clone()).softmax(-1).view(s.shape) @ v).eval())


def test_a_module_that_also_attends_in_blocks_gives_no_picture_at_all() -> None:
    def both(own: Any, s: Tensor, v: Tensor) -> Tensor:
        block = s[:, :, :4].nan_to_num(neginf=-9.0).softmax(dim=-1) @ v  # as BigBird's first and last rows
        return s.softmax(dim=-1) @ v + F.pad(block, (0, 0, 0, T - 4))

    with pytest.raises(NothingRecorded, match=r"in a layout of its own .* softmax over \(3, 4, 4, 17\)"):
        heard(Packed(both).eval())


def test_a_learned_sink_is_told_from_the_keys_where_the_module_names_it() -> None:
    def with_sink(own: Any, s: Tensor, v: Tensor) -> Tensor:
        column = own.sinks.view(1, HEADS, 1, 1).expand(*s.shape[:3], 1) + own.shift
        return torch.cat([s, column], dim=-1).softmax(dim=-1)[..., :-1].contiguous() @ v

    model: Any = Packed(with_sink).eval()
    model.sinks, model.shift = nn.Parameter(torch.linspace(-1, 3, HEADS)), 0.0
    (site,) = heard(model).sites
    whole = torch.cat([model.scores, model.sinks.view(1, HEADS, 1, 1).expand(B, HEADS, T, 1)], dim=-1)
    weights = whole.double().softmax(dim=-1)
    assert (site.tk, site.stack) == (T, "decoder") and passed(site)
    for batch in range(B):
        sink, expected = site.summary(batch).sink[0], weights[batch, ..., -1]
        torch.testing.assert_close(sink.double(), expected, rtol=0, atol=1e-6)
    model.shift = 0.5  # a column that is not what the module calls its sinks
    with pytest.raises(NothingRecorded, match=r"a layout of its own .* softmax over \(3, 4, 17, 18\)"):
        heard(model)


class Pieces(nn.Module):
    """One attention, called on a piece of the text at a time."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.inner, self.size = Packed(), size

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.inner(piece) for piece in x.split(self.size, dim=1)], dim=1)


def test_attention_to_pieces_of_a_text_is_not_shown_and_to_all_of_it_is() -> None:
    with pytest.raises(
        NothingRecorded, match="it attends to pieces of its text, 6 of 18 positions at a time"
    ):
        heard(Pieces(6), torch.randn(B, 18, WIDTH))
    (site,) = heard(Pieces(18), torch.randn(B, 18, WIDTH)).sites
    assert (site.name, site.tq) == ("inner", 18) and passed(site)


def test_the_grid_is_let_go_once_its_values_are_mixed() -> None:
    seen: list[tuple[bool, bool]] = []

    def watched(own: Any, s: Tensor, v: Tensor) -> Tensor:
        scores = s + 0.0
        weights = scores.softmax(dim=-1)
        grids = weakref.ref(scores), weakref.ref(weights)
        out = weights @ v
        del scores, weights
        seen.append((grids[0]() is None, grids[1]() is None))
        return out

    model = Packed(watched).eval()
    with torch.no_grad(), record(model) as recording:
        model(torch.randn(B, T, WIDTH))
    assert seen == [(True, True)]
    (site,) = recording.sites
    kept = [x for x in vars(site.summary()).values() if isinstance(x, Tensor)]
    assert len(kept) > 10 and site.shelf.tensor("q") is None


def test_scores_that_are_overwritten_before_the_product_are_not_shown() -> None:
    def careless(own: Any, s: Tensor, v: Tensor) -> Tensor:
        scores = s + 0.0
        weights = scores.softmax(dim=-1)
        scores.zero_()
        return weights @ v

    with pytest.raises(NothingRecorded, match="its scores were overwritten before its values were mixed"):
        heard(Packed(careless).eval())


def test_training_with_gradients_is_left_alone() -> None:
    model, x = Packed().train(), torch.randn(B, T, WIDTH)

    def step() -> tuple[Tensor, list[Tensor | None]]:
        model.zero_grad()
        out = model(x)
        out.square().sum().backward()
        return out.detach(), [p.grad.clone() for p in model.parameters() if p.grad is not None]  # type: ignore[misc]

    alone = step()
    with record(model) as recording:
        listened = step()
    assert torch.equal(alone[0], listened[0])
    assert all(torch.equal(a, b) for a, b in zip(alone[1], listened[1], strict=True))  # type: ignore[arg-type]
    assert len(recording.sites) == 1 and passed(recording.sites[0])
    assert not recording.sites[0].summary().entropy.requires_grad
