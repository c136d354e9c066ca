"""The last transformers 4: fused attention is recorded as in 5; eager attention is heard as a softmax.

Its models fetch the eager function from nowhere, so no listener can stand there: a summary is what is kept.
"""

from __future__ import annotations

import pytest
import torch
import transformers

from attnscope.errors import NotKept
from tests.zoo.animals import grids, heard, seen
from tests.zoo.table import TABLE, Row

NAMES = ("GPT-2", "GPT-NeoX", "Llama", "Mistral", "Qwen2", "BERT", "Whisper", "ViT")
ROWS = [row for row in TABLE if row.family in NAMES]
families = pytest.mark.parametrize("row", ROWS, ids=[row.family for row in ROWS])


def test_this_is_transformers_4() -> None:
    assert transformers.__version__.startswith("4.")
    assert {row.family for row in ROWS} == set(NAMES)


@families
def test_fused_attention_is_recorded_with_the_weights_of_the_eager_model(row: Row) -> None:
    run = heard(row, "sdpa")
    assert torch.equal(run.alone, run.heard)
    assert {site.route for site in run.sites} == {"sdpa" if row.family == "BERT" else "huggingface/sdpa"}
    assert run.missing == []
    for stack in row.stacks:
        same = [one for one in run.sites if (one.kind, one.stack) == (stack.kind, stack.stack)]
        assert [one.layer for one in same] == list(stack.layers)
        for site, theirs in zip(same, grids(row)[stack.kind, stack.stack], strict=True):
            told = seen(row, stack, site.layer)
            for batch in (0, 1):
                rows = told[batch].any(dim=-1)
                for head in range(site.heads):
                    assert site.certificate.passed(batch, head)
                    assert torch.equal(site.visible(head, batch=batch), told[batch])
                    ours = site.weights(head, batch=batch)[rows]
                    torch.testing.assert_close(ours, theirs[batch, head][rows], rtol=0, atol=1e-5)


@families
def test_eager_attention_is_summed_up(row: Row) -> None:
    run = heard(row, "eager")
    assert torch.equal(run.alone, run.heard)
    assert {site.route for site in run.sites} == {"softmax"}
    assert len(run.sites) == sum(len(stack.layers) for stack in row.stacks)
    for site in run.sites:
        assert {verdict for batch in site.certificate.verdict for verdict in batch} == {"passed"}
        with pytest.raises(NotKept):
            site.weights(0)
