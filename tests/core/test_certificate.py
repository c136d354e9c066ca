"""The certificate passes what a model really did, and refuses every planted fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as sdpa

from attnscope.core.arithmetic import Arithmetic
from attnscope.core.bias import RelativeBias
from attnscope.core.certificate import Certificate, certify
from attnscope.core.engine import normaliser
from attnscope.core.masks import causal, from_tensor, full, padding, window
from attnscope.core.scoring import Scoring
from attnscope.core.verdict import thresholds_of
from attnscope.errors import ShapeError

pytestmark = pytest.mark.usefixtures("each_engine")

DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
HALVES = (torch.bfloat16, torch.float16)


def call(
    seed: int, dtype: torch.dtype, *, t: int = 67, h: int = 6, hk: int = 3, d: int = 32, peaked: float = 3.0
) -> tuple[Tensor, Tensor, Tensor]:
    """q, k, v of two texts; values share a common part, as a trained model's do."""
    own = torch.Generator().manual_seed(seed)
    q = torch.randn(2, h, t, d, generator=own) * peaked
    k, v = torch.randn(2, hk, t, d, generator=own), torch.randn(2, hk, t, d, generator=own)
    v = v + torch.randn(2, hk, 1, d, generator=own)
    return q.to(dtype), k.to(dtype), v.to(dtype)


def eager(q: Tensor, k: Tensor, v: Tensor, seen: Tensor, *, scale: float, bias: Tensor | None = None,
          softcap: float | None = None, sinks: Tensor | None = None) -> Tensor:  # fmt: skip
    """Attention as model files write it, in the dtype of q, k and v with the softmax in float32 at least."""
    group, dtype = q.shape[1] // k.shape[1], q.dtype
    k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    scores = (q @ k.mT) * scale
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    if bias is not None:
        scores = scores + bias.to(dtype)
    scores = scores.masked_fill(~seen, torch.finfo(dtype).min)
    if sinks is not None:
        column = sinks.to(dtype).view(1, -1, 1, 1).expand(*scores.shape[:3], 1)
        scores = torch.cat([scores, column], dim=-1)
    weights = torch.softmax(scores, dim=-1, dtype=torch.promote_types(dtype, torch.float32)).to(dtype)
    return weights[..., : k.shape[2]] @ v


def as_the_model_rounds(dtype: torch.dtype) -> Arithmetic | None:
    return Arithmetic(dtype, dtype, torch.float32, dtype) if dtype in HALVES else None


def lower(t: int) -> Tensor:
    return torch.ones(t, t, dtype=torch.bool).tril()


def verdicts(certificate: Certificate) -> list[str]:
    return [verdict for batch in certificate.verdict for verdict in batch]


def refused(certificate: Certificate) -> float:
    found = verdicts(certificate)
    return found.count("refused") / len(found)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("peaked", [0.3, 3.0, 20.0])
def test_fused_attention_passes_in_every_head(dtype: torch.dtype, peaked: float) -> None:
    for seed, t in enumerate((5, 67, 300)):
        q, k, v = call(seed, dtype, t=t, peaked=peaked)
        out = sdpa(q, k, v, is_causal=True, enable_gqa=True)
        certificate = certify(q, k, v, out, causal(), seed=seed)
        assert set(verdicts(certificate)) == {"passed"}, certificate.reason
        assert certificate.passed(1, 5)
        assert certificate.dtype == dtype and certificate.thresholds == thresholds_of("sdpa", dtype)
        assert certificate.rows.tolist() == [[t] * 6] * 2


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("with_", ["nothing", "bias", "softcap", "sinks"])
def test_hand_written_attention_passes_in_every_head(dtype: torch.dtype, with_: str) -> None:
    for seed in range(3):
        q, k, v = call(seed, dtype)
        scoring, parts = dressed(with_, seed, q)
        out = eager(q, k, v, lower(67), scale=32**-0.5, **parts)
        certificate = certify(q, k, v, out, scoring, seed=seed, route="huggingface/eager")
        assert set(verdicts(certificate)) == {"passed"}, certificate.reason
        assert certificate.route == "huggingface/eager"


def dressed(with_: str, seed: int, q: Tensor) -> tuple[Scoring, dict[str, Tensor | float]]:
    """A causal scoring with one more part, and the same for `eager`."""
    own, t, h = torch.Generator().manual_seed(seed + 99), q.shape[2], q.shape[1]
    scoring = Scoring(mask=causal(), arithmetic=as_the_model_rounds(q.dtype))
    if with_ == "softcap":
        return replace(scoring, softcap=4.0), {"softcap": 4.0}
    if with_ == "sinks":
        sinks = torch.randn(h, generator=own) + 1
        return replace(scoring, sinks=sinks), {"sinks": sinks}
    if with_ == "bias":
        table = torch.randn(h, 2 * t - 1, generator=own)
        bias = RelativeBias(table, 1 - t)
        places = torch.arange(t) - torch.arange(t)[:, None] + t - 1
        return replace(scoring, bias=bias), {"bias": table[:, places][None]}
    return scoring, {}


def test_float64_attention_whose_softmax_is_float32_is_judged_as_float32() -> None:
    q, k, v = call(0, torch.float64, peaked=9.0)
    scores = (q @ k.repeat_interleave(2, dim=1).mT * 32**-0.5).masked_fill(~lower(67), -torch.inf)
    out = torch.softmax(scores, dim=-1, dtype=torch.float32).double() @ v.repeat_interleave(2, dim=1)
    scoring = Scoring(causal(), arithmetic=Arithmetic(softmax=torch.float32, weights=torch.float64))
    clean = certify(q, k, v, out, scoring)
    assert set(verdicts(clean)) == {"passed"}, clean.reason
    assert clean.dtype == torch.float32
    assert refused(certify(q, k, v, out, replace(scoring, scale=1.001 * 32**-0.5))) == 1


FAULTS: dict[str, Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor, Scoring]]] = {
    "the scale off by 1%": lambda q, k, v: (q, k, v, Scoring(causal(), scale=1.01 * 32**-0.5)),
    "the mask off by one": lambda q, k, v: (q, k, v, Scoring(causal(), offset=1)),
    "the mask short by one": lambda q, k, v: (q, k, v, Scoring(causal(), offset=-1)),
    "a window off by one": lambda q, k, v: (q, k, v, Scoring(window(20))),
    "no mask": lambda q, k, v: (q, k, v, Scoring(full())),
    "heads in another order": lambda q, k, v: (q.flip(1), k, v, Scoring(causal())),
    "values in another order": lambda q, k, v: (q, k, v.roll(1, 2), Scoring(causal())),
    "values of another head": lambda q, k, v: (q, k, v.roll(1, 1), Scoring(causal())),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_planted_fault_is_refused(dtype: torch.dtype, fault: str) -> None:
    shares = []
    for seed in range(3):
        q, k, v = call(seed, dtype, t=150)
        seen = lower(150)
        if fault == "a window off by one":
            seen = seen & ~lower(150).tril(-20)  # 20 keys with itself; window(20) is 21
        out = sdpa(q, k, v, attn_mask=seen, enable_gqa=True)
        q, k, v, scoring = FAULTS[fault](q, k, v)
        shares.append(refused(certify(q, k, v, out, scoring, seed=seed)))
    assert sum(shares) / len(shares) >= (1.0 if dtype == torch.float32 else 0.95), shares


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_one_padded_key_let_in_is_refused(dtype: torch.dtype) -> None:
    q, k, v = call(0, dtype, t=150)
    keys = torch.arange(150) < torch.tensor([[120], [100]])
    out = sdpa(q, k, v, attn_mask=keys[:, None, None], enable_gqa=True)
    assert refused(certify(q, k, v, out, padding(keys))) == 0
    one_more = torch.arange(150) < torch.tensor([[121], [101]])
    shares = [refused(certify(q, k, v, out, padding(one_more), seed=seed)) for seed in range(4)]
    assert sum(shares) / 4 >= (1.0 if dtype == torch.float32 else 0.95)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_dropped_sink_softcap_or_bias_is_refused(dtype: torch.dtype) -> None:
    q, k, v = call(1, dtype, t=150)
    for with_, without in (
        ("sinks", {"sinks": None}),
        ("softcap", {"softcap": None}),
        ("bias", {"bias": None}),
    ):
        scoring, parts = dressed(with_, 0, q)
        out = eager(q, k, v, lower(150), scale=32**-0.5, **parts)
        assert refused(certify(q, k, v, out, replace(scoring, **without))) == 1, with_


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_bias_shifted_by_one_is_refused(dtype: torch.dtype) -> None:
    q, k, v = call(1, dtype, t=150)
    scoring, parts = dressed("bias", 0, q)
    out = eager(q, k, v, lower(150), scale=32**-0.5, **parts)
    assert isinstance(scoring.bias, RelativeBias)
    shifted = RelativeBias(scoring.bias.table.roll(1, -1), scoring.bias.first)
    assert refused(certify(q, k, v, out, replace(scoring, bias=shifted))) == 1


def test_the_scale_error_is_measured() -> None:
    q, k, v = call(0, torch.float32, t=150)
    out = sdpa(q, k, v, is_causal=True, enable_gqa=True, scale=0.1)
    certificate = certify(q, k, v, out, Scoring(causal(), scale=0.1002))
    torch.testing.assert_close(certificate.scale_error, torch.full((2, 6), -0.002).double(), rtol=0.1, atol=0)
    assert refused(certificate) == 1


def test_rows_that_see_no_key_are_left_out() -> None:
    q, k, v = call(0, torch.float32)
    keys = (torch.arange(67) >= 9).expand(2, -1)
    scoring = causal() & padding(keys)
    out = eager(
        q, k, v, lower(67) & keys[0], scale=32**-0.5
    )  # its first nine rows are uniform over everything
    certificate = certify(q, k, v, out, scoring)
    assert set(verdicts(certificate)) == {"passed"}
    assert certificate.rows.tolist() == [[58] * 6] * 2


def test_a_head_in_which_no_row_sees_a_key_is_not_certifiable() -> None:
    q, k, v = call(0, torch.float32)
    certificate = certify(q, k, v, torch.zeros_like(q), from_tensor(torch.zeros(67, 67, dtype=torch.bool)))
    assert set(verdicts(certificate)) == {"not certifiable"}
    assert certificate.reason[0][0] == "no row sees a key"
    assert not certificate.passed(0, 0)


def test_attention_with_dropout_is_not_certifiable() -> None:
    q, k, v = call(0, torch.float32)
    scoring = Scoring(causal(), arithmetic=Arithmetic(dropout=0.1))
    certificate = certify(q, k, v, sdpa(q, k, v, is_causal=True, enable_gqa=True, dropout_p=0.1), scoring)
    assert set(verdicts(certificate)) == {"not certifiable"}
    assert certificate.reason[1][5] == "the model dropped weights at random (dropout 0.1)"


def test_rows_in_which_the_models_own_output_is_nan_are_not_certifiable_and_the_others_still_judged() -> None:
    q, k, v = call(0, torch.float32)
    out = sdpa(q, k, v, is_causal=True, enable_gqa=True)
    out[0, 2, 7] = torch.nan
    certificate = certify(q, k, v, out, causal())
    assert certificate.verdict[0][2] == "not certifiable"
    assert certificate.reason[0][2] == "the model's own output is not finite in 1 row"
    assert verdicts(certificate).count("passed") == 11
    out[0, 2, 8] += 1
    assert certify(q, k, v, out, causal()).verdict[0][2] == "refused"


def test_nan_of_ours_where_the_model_has_a_number_is_refused() -> None:
    q, k, v = call(0, torch.float32)
    out = sdpa(q, k, v, is_causal=True, enable_gqa=True)
    v[1, 0, 60] = torch.nan
    certificate = certify(q, k, v, out, causal())
    assert certificate.verdict[1][:2] == ("refused", "refused")
    assert (
        certificate.reason[1][0] == "in 7 rows the model's output is a number and the one recomputed is not"
    )
    assert verdicts(certificate).count("passed") == 10


def test_nan_in_a_key_and_value_that_no_row_sees_changes_nothing() -> None:
    q, k, v = call(0, torch.float32)
    keys = (torch.arange(67) < 50).expand(2, -1)
    out = sdpa(q, k, v, attn_mask=keys[:, None, None], enable_gqa=True)
    k[:, :, 60], v[:, :, 60] = torch.nan, torch.nan
    assert set(verdicts(certify(q, k, v, out, padding(keys)))) == {"passed"}


def test_padded_queries_are_left_to_the_caller() -> None:
    q, k, v = call(0, torch.float32)
    out = sdpa(q, k, v, is_causal=True, enable_gqa=True)
    out[:, :, 60:] = 0  # what nested tensors make of padded rows
    assert refused(certify(q, k, v, out, causal())) == 1
    assert refused(certify(q, k, v, out, causal(), rows=slice(0, 60))) == 0
    assert refused(certify(q, k, v, out, causal(), rows=torch.arange(67)[None] < 60)) == 0


def test_the_global_random_state_is_not_touched() -> None:
    q, k, v = call(0, torch.float32)
    before = torch.get_rng_state()
    certify(q, k, v, sdpa(q, k, v, is_causal=True, enable_gqa=True), causal(), seed=5)
    assert torch.equal(before, torch.get_rng_state())


def test_a_given_normaliser_gives_the_same_certificate() -> None:
    q, k, v = call(0, torch.float32)
    out = sdpa(q, k, v, is_causal=True, enable_gqa=True)
    own, given = certify(q, k, v, out, causal()), certify(q, k, v, out, causal(), normaliser(q, k, causal()))
    assert torch.equal(own.z, given.z)


def test_a_single_clean_row_in_bfloat16_passes() -> None:
    for seed in range(20):
        q, k, v = call(seed, torch.bfloat16, t=40)
        out = sdpa(q[:, :, -1:], k, v, enable_gqa=True)
        assert set(verdicts(certify(q[:, :, -1:], k, v, out, full(), seed=seed))) == {"passed"}


def test_an_out_of_another_shape_is_named(as_a_user) -> None:
    q, k, v = call(0, torch.float32)
    with pytest.raises(
        ShapeError, match=r"out is \(2, 67, 6, 32\) of torch.float32. .*out.transpose\(1, 2\)"
    ):
        certify(q, k, v, q.transpose(1, 2), causal())
    with pytest.raises(ShapeError, match="rows speaks of 5 queries"):
        certify(q, k, v, q, causal(), rows=torch.ones(1, 5, dtype=torch.bool))
