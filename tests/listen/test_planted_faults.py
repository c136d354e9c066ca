"""Real calls, recorded and then read wrongly on purpose: the certificate refuses their heads."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
import torch

from benchmarks.faults import FAULTS, LEAST, Share, dropped_out, flat, plant, table
from benchmarks.tiny import runs

DTYPES = [torch.float32, torch.bfloat16]
FAMILIES = ("Mistral", "Gemma2", "gpt-oss", "T5")  # all faults have a place in one of these
DOCS = Path(__file__).parents[2] / "docs" / "certificate.md"


@cache
def planted(dtype: torch.dtype) -> tuple[dict[str, Share], list[str], set[str]]:
    """The shares by fault, the sites whose attention is flat, and the verdicts before any fault."""
    shares = {fault: Share() for fault in FAULTS}
    level: list[str] = []
    clean: set[str] = set()
    for run in runs(dtype, lengths=(53,), families=FAMILIES, padded=True):
        level += flat(run)
        for site in run.recording.sites:
            clean |= {word for batch in site.certificate.verdict for word in batch}
        for fault, share in shares.items():
            plant(fault, run, share)
    return shares, level, clean


@pytest.mark.parametrize("dtype", DTYPES)
def test_without_a_fault_every_head_passes_and_attention_is_not_flat(dtype: torch.dtype) -> None:
    _, level, clean = planted(dtype)
    assert level == []
    assert clean == {"passed"}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_heads_in_which_a_fault_is_planted_are_refused(dtype: torch.dtype, fault: str) -> None:
    share = planted(dtype)[0][fault]
    assert share.heads >= 12
    assert len(share.skipped) <= share.heads
    assert share.share >= (1.0 if dtype == torch.float32 else 0.95), share.missed


def test_a_model_that_drops_weights_is_never_passed() -> None:
    said = dropped_out()
    assert len(said) == 24
    assert set(said) == {"not certifiable: the model dropped weights at random (dropout 0.1)"}


def test_the_page_keeps_the_table_that_the_program_prints_and_its_shares_are_met() -> None:
    empty = {dtype: {fault: Share() for fault in FAULTS} for dtype in LEAST}
    head, rule, *lines = table(empty)
    text = DOCS.read_text("utf-8")
    kept = text[text.index(head) :].splitlines()
    assert kept[1] == rule
    for line, printed in zip(kept[2:], lines, strict=False):
        fault, dtype, heads, skipped, caught, share = (cell.strip() for cell in line.strip("|").split("|"))
        assert printed.startswith(f"| {fault} | {dtype} |")
        assert int(heads) >= int(caught) > 0 and int(skipped) >= 0
        assert share == f"{int(caught) / int(heads):.1%}"
        assert float(share.rstrip("%")) >= (100 if dtype == "float32" else 95)
    assert len(re.findall(r"^\| (?:" + "|".join(FAULTS) + r") \|", text, re.MULTILINE)) == len(lines)
