"""The flash names of transformers' registry, with a kernel written out densely for flash-attn's.

transformers' own code does the rest: it takes padding out, finds packed documents, and says cap, window,
sinks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attnscope.errors import NothingRecorded
from attnscope.listen import record
from attnscope.recording import Recording

NAME = "flash_attention_2"


def dense(
    q: Tensor, k: Tensor, v: Tensor, *, causal: bool, window: tuple[int, int], softcap: float, scale: float,
    sinks: Tensor | None,
) -> Tensor:  # fmt: skip
    """One sequence, (t h d), as flash-attention's README defines it: causal from the bottom right."""
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
    scores = torch.einsum("ihd,jhd->hij", q, k) * scale
    scores = softcap * torch.tanh(scores / softcap) if softcap else scores
    i = torch.arange(len(q))[:, None] + len(k) - len(q)
    j = torch.arange(len(k))
    seen = torch.ones(len(q), len(k), dtype=torch.bool)
    if causal:
        seen &= j <= i
    if window[0] >= 0:
        seen &= (i - j <= window[0]) & (j - i <= window[1])
    scores = scores.masked_fill(~seen, -torch.inf)
    if sinks is not None:
        scores = torch.cat([scores, sinks.view(-1, 1, 1).expand(-1, len(q), 1)], dim=-1)
    weights = torch.softmax(scores, dim=-1)[..., : len(k)]
    return torch.einsum("hij,jhd->ihd", weights, v)


def varlen(
    q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, max_seqlen_q: int = 0,
    max_seqlen_k: int = 0, dropout_p: float = 0.0, softmax_scale: float | None = None, causal: bool = False,
    window_size: tuple[int, int] = (-1, -1), softcap: float = 0.0, deterministic: bool = False,
    s_aux: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Sequences one after another, (total h d)."""
    rows, keys = cu_seqlens_q.tolist(), cu_seqlens_k.tolist()
    scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    options: dict[str, Any] = {"causal": causal, "window": window_size, "softcap": softcap, "sinks": s_aux}
    return torch.cat(
        [
            dense(q[a:b], k[c:d], v[c:d], scale=scale, **options)
            for a, b, c, d in zip(rows[:-1], rows[1:], keys[:-1], keys[1:], strict=True)
        ]
    )


def plain(q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Tensor:
    """A batch of whole sequences, (b t h d)."""
    return torch.stack(
        [
            varlen(*one, torch.tensor([0, len(one[0])]), torch.tensor([0, len(one[1])]), **options)
            for one in zip(q, k, v, strict=True)
        ]
    )


@pytest.fixture
def flash(
    monkeypatch: pytest.MonkeyPatch, tiny: Callable[..., nn.Module]
) -> Iterator[Callable[[str], tuple[Any, Any]]]:
    """flash(family): the same weights as a flash model, and as an eager one."""
    from transformers import modeling_flash_attention_utils as utils

    monkeypatch.setattr(utils, "_loaded_implementation", None)
    monkeypatch.setattr(
        utils, "_lazy_imports", lambda *_, **__: (plain, varlen, None, utils._pad_input, utils._unpad_input)
    )
    monkeypatch.setattr(utils, "_process_flash_kwargs_fn", None)

    def make(family: str) -> tuple[Any, Any]:
        model: Any = tiny(family, "eager")
        model.config._attn_implementation = NAME
        return model, tiny(family, "eager")

    yield make


def heard(model: Any, given: dict[str, Tensor]) -> Recording:
    with torch.no_grad():
        alone = model(**given)[0]
        with record(model, keep="all") as recording:
            assert torch.equal(model(**given)[0], alone)
    assert {site.route for site in recording.sites} == {f"huggingface/{NAME}"}
    assert all(verdict == "passed" for site in recording.sites for row in site.certificate.verdict
               for verdict in row)  # fmt: skip
    return recording


def compare(recording: Recording, eager: Any, given: dict[str, Tensor], real: Tensor) -> None:
    """Weights of real rows beside those of the eager model."""
    with torch.no_grad():
        grids = eager(**given, output_attentions=True).attentions
    for site in recording.sites:
        for batch in range(site.batch):
            for head in range(site.heads):
                ours = site.weights(head, batch=batch)[real[batch]]
                theirs = grids[site.layer][batch, head][real[batch]]
                torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)


@pytest.mark.parametrize("pad", [None, "left", "right"])
@pytest.mark.parametrize("family", ["llama", "mistral", "gemma2", "gpt-oss", "bert"])
def test_mask_window_cap_and_sinks_are_read_from_the_arguments(
    family: str, pad: str | None, flash: Callable[[str], tuple[Any, Any]],
    inputs: Callable[..., dict[str, Tensor]],
) -> None:  # fmt: skip
    model, eager = flash(family)
    given = inputs(family, pad, t=21)
    real = given.get("attention_mask", torch.ones(2, 21)).bool()
    recording = heard(model, given)
    compare(recording, eager, given, real)
    for site in recording.sites:  # padded rows are taken out of the call: they see nothing
        assert not any(site.visible(0, batch=batch)[~real[batch]].any() for batch in (0, 1))


def test_chunks_are_one_for_transformers_itself_and_longer_texts_are_its_to_refuse(
    flash: Callable[[str], tuple[Any, Any]], inputs: Callable[..., dict[str, Tensor]]
) -> None:
    model, eager = flash("llama4")  # a chunk is 8 tokens
    for pad in (None, "left"):
        given = inputs("llama4", pad, t=8)
        real = given.get("attention_mask", torch.ones(2, 8)).bool()
        compare(heard(model, given), eager, given, real)
    with pytest.raises(ValueError, match="cannot handle chunked attention"), record(model):
        model(**inputs("llama4", t=9))


@pytest.mark.parametrize("family", ["llama", "mistral"])
def test_packed_documents_do_not_see_each_other(
    family: str, flash: Callable[[str], tuple[Any, Any]], inputs: Callable[..., dict[str, Tensor]]
) -> None:
    model, _ = flash(family)
    ids = inputs(family, t=21)["input_ids"][:1]
    lengths = [9, 1, 11]
    positions = torch.cat([torch.arange(n) for n in lengths])[None]
    ends = torch.tensor([0, 9, 10, 21], dtype=torch.int32)
    said: dict[str, Any] = {
        "cu_seq_lens_q": ends, "cu_seq_lens_k": ends, "max_length_q": 11, "max_length_k": 11,
    }  # fmt: skip
    document = torch.repeat_interleave(torch.arange(3), torch.tensor(lengths))
    i, j = torch.arange(21)[:, None], torch.arange(21)
    told = (document[:, None] == document) & (j <= i) & (i - j < (7 if family == "mistral" else 21))
    for more in ({}, said):
        recording = heard(model, {"input_ids": ids, "position_ids": positions, "use_cache": False, **more})
        assert all(torch.equal(site.visible(3), told) for site in recording.sites)


def test_decoding_counts_rows_from_the_end(
    flash: Callable[[str], tuple[Any, Any]], inputs: Callable[..., dict[str, Tensor]]
) -> None:
    for family in ("llama", "mistral"):
        model, _ = flash(family)
        given = inputs(family, "left", t=11)
        options = {"max_new_tokens": 4, "min_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
        alone = model.generate(**given, **options)
        with record(model) as recording:
            assert torch.equal(model.generate(**given, **options), alone)
        for run in recording.runs:
            for site in run.sites:
                assert all(site.certificate.passed(batch, 5) for batch in (0, 1))
        last = recording.sites[0]
        row = last.tq - 1
        seen = [int(last.visible(0, row, batch=batch).sum()) for batch in (0, 1)]
        assert seen == ([7, 7] if family == "mistral" else [14, 7])


def test_what_flash_attention_cannot_be_told_is_refused_and_named(
    flash: Callable[[str], tuple[Any, Any]], inputs: Callable[..., dict[str, Tensor]]
) -> None:
    model, _ = flash("llama")
    with pytest.raises(NothingRecorded, match="padding mask is"), record(model):
        from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS as table

        inner = table.get_interface(NAME, None)
        table[NAME] = lambda *args, **kwargs: (torch.zeros(2, 21, 6, 8), None)
        try:
            model(input_ids=inputs("llama", t=21)["input_ids"], attention_mask=torch.ones(2, 1, 21, 21))
        finally:
            table[NAME] = inner
