"""What can be asked of a site: any block of weights, exactly, with guards; what was not kept is said."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from attnscope.core.dense import steps
from attnscope.core.fold import summarize
from attnscope.core.replay import replay
from attnscope.errors import NotKept, RecordingError, ShapeError, TooLarge, Uncertified
from attnscope.recording import Recording, Site

MakeSite = Callable[..., Site]


def test_weights_and_visible_are_those_of_the_dense_oracle(scoring_name: str, make_site: MakeSite) -> None:
    site = make_site(scoring_name)
    dense = steps(site.q, site.k, site.v, site.scoring)
    for batch in range(site.batch):
        for head in range(site.heads):
            ours = site.weights(head, batch=batch)
            torch.testing.assert_close(ours, dense.weights[batch, head], rtol=0, atol=2e-6)
            seen = dense.visible.expand(site.batch, site.heads, -1, -1)[batch, head]
            assert torch.equal(site.visible(head, batch=batch), seen)
            assert not ours[~seen].any()


def test_eager_weights_are_replayed_in_the_models_own_dtype(scoring_name: str, make_site: MakeSite) -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        site = make_site(scoring_name, dtype=dtype, eager=True)
        whole = replay(site.bound)
        assert whole.dtype == dtype
        for head in range(site.heads):
            ours = site.weights(head, batch=1)
            torch.testing.assert_close(
                ours, whole[1, head].float(), rtol=2 * torch.finfo(dtype).eps, atol=1e-6
            )
            assert torch.equal(ours, ours.to(dtype).float())


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_cell_has_one_value_whatever_block_it_is_asked_in(
    eager: bool, dtype: torch.dtype, make_site: MakeSite
) -> None:
    site = make_site("bias", dtype=dtype, eager=eager)
    for head in (0, 5):
        whole = site.weights(head, batch=1)
        assert torch.equal(site.weights(head, slice(3, 30), slice(8, 11), batch=1), whole[3:30, 8:11])
        assert torch.equal(site.weights(head, -1, batch=1), whole[-1:])
        assert torch.equal(site.weights(head, cols=4, batch=-1), whole[:, 4:5])
        for i, j in ((0, 0), (36, 36), (36, 0), (17, 9)):
            assert torch.equal(site.weights(head, i, j, batch=1), whole[i : i + 1, j : j + 1])
        assert site.weights(head, slice(5, 5), slice(2, 2)).shape == (0, 0)
        assert site.weights(head, slice(30, 99)).shape == (7, 37)


def test_a_huge_block_is_refused_with_a_way_out(make_site: MakeSite) -> None:
    site = make_site()
    object.__setattr__(site, "tq", 2**13)
    object.__setattr__(site, "tk", 2**12)
    with pytest.raises(TooLarge, match=r"8,192 x 4,096 weights were asked for. At most 16,777,216 cells"):
        site.weights(0)


def test_a_head_whose_certificate_was_refused_is_not_handed_out(make_site: MakeSite) -> None:
    good = make_site()
    out = good.out
    assert out is not None
    wrong = out.clone()
    wrong[1, 4] = out[1, 3]
    site = make_site(out=wrong)
    assert site.certificate is not None and site.certificate.verdict[1][4] == "refused"
    for ask in (site.weights, lambda head, batch: site.cell(head, 3, 2, batch=batch)):
        with pytest.raises(
            Uncertified, match=r"Head 4 of layers.0.attn failed its certificate.*allow_uncertified"
        ):
            ask(4, batch=1)
        ask(4, batch=0)
        ask(3, batch=1)
    assert torch.equal(site.weights(4, batch=1, allow_uncertified=True), good.weights(4, batch=1))


def test_the_certificate_can_be_made_again_with_other_signs(make_site: MakeSite) -> None:
    again = make_site().certify_again(seed=99)
    assert all(verdict == "passed" for row in again.verdict for verdict in row)
    with pytest.raises(NotKept, match=r"out of layers.0.attn was not kept"):
        make_site(keep="qkv").certify_again()


def test_what_is_not_there_is_said(make_site: MakeSite) -> None:
    site = make_site()
    for ask, message in (
        (lambda: site.weights(6), "There is no head 6. 0 to 5."),
        (lambda: site.weights(0, batch=2), "There is no batch 2. 0 to 1."),
        (lambda: site.weights(0, 37), "There is no row 37. 0 to 36."),
        (lambda: site.weights(0, cols=-38), "There is no column -38. 0 to 36."),
        (lambda: site.weights(0, slice(0, 9, 2)), "A slice of rows with step 2. Step 1."),
        (lambda: site.summary(5), "There is no batch 5. 0 to 1."),
    ):
        with pytest.raises(ShapeError) as error:
            ask()
        assert str(error.value) == message


def test_summary_is_that_of_one_batch_and_is_made_once(make_site: MakeSite) -> None:
    site = make_site("padded")
    whole = summarize(site.q, site.k, site.scoring)
    for batch in (0, 1):
        ours = site.summary(batch)
        torch.testing.assert_close(ours.entropy, whole.entropy[batch : batch + 1], rtol=0, atol=1e-5)
        torch.testing.assert_close(ours.received, whole.received[batch : batch + 1], rtol=0, atol=1e-5)
    assert site.summary(1).entropy.data_ptr() == site.summary(1).entropy.data_ptr()
    kept = make_site("padded", keep="summary")
    assert torch.equal(kept.summary(1).top_keys, site.summary(1).top_keys)


def test_a_layer_is_found_by_number_kind_and_stack(
    make_site: MakeSite, recording_of: Callable[..., Recording]
) -> None:
    recording = recording_of(make_site(index=0), make_site(index=1))
    assert recording.site(1) is recording.sites[1]
    assert recording.site(1, stack="encoder") is recording.sites[1]  # one stack answers to either name
    with pytest.raises(
        RecordingError, match=r"no decoder self attention of layer 7 in run 0. One of decoder self 0, 1"
    ):
        recording.site(7)
    with pytest.raises(RecordingError, match="no decoder cross attention of layer 0"):
        recording.site(0, kind="cross")


def test_to_dict_is_plain_data(make_site: MakeSite, recording_of: Callable[..., Recording]) -> None:
    import json

    plain = json.loads(json.dumps(recording_of(make_site(), tokens=["a", "b"]).to_dict()))
    assert plain["tokens"] == ["a", "b"]
    assert plain["runs"][0]["sites"][0]["dtype"] == "float32"
    assert plain["runs"][0]["sites"][0]["heads"] == 6


@pytest.mark.parametrize("given", [2.7, "0", [1, 2], None])
def test_what_is_no_index_is_refused_with_a_sentence(given: object, make_site: MakeSite) -> None:
    site = make_site("bias")
    with pytest.raises(ShapeError, match="A whole number"):
        site.weights(given)  # type: ignore[arg-type]
    if given is not None:
        with pytest.raises(ShapeError, match="A whole number"):
            site.weights(0, given)  # type: ignore[arg-type]
