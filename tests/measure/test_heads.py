"""What the table says of models of many kinds, and what it says where a score means nothing."""

from __future__ import annotations

import csv
import json
import math
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from attnscope import record
from attnscope.cli.main import run
from attnscope.core.masks import causal, full, window
from attnscope.errors import AttnscopeError
from attnscope.gpt import GPT
from attnscope.measure import NAMES, heads
from attnscope.measure.classes import Measured, classes_of
from attnscope.measure.spread import interval, mean_of, spread_of
from attnscope.measure.texts import Text, shuffled
from attnscope.measure.values import NO_CELLS, NO_COPY, NOT_SEEN, OTHER_TEXT, scores_of_text
from attnscope.models.given import subject_of

from .conftest import TEXTS
from .sites import site_from

SIZES = (6, 2, 7)


class Bare(nn.Module):
    """A model that is nothing of ours, without a tokeniser, of three tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.context = nn.Embedding(3, 8), 24

    def forward(self, ids: Tensor) -> Tensor:
        x = self.table(ids).view(*ids.shape, 2, 4).transpose(1, 2)
        return nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)


def test_a_model_without_a_tokeniser_and_with_three_tokens_is_measured() -> None:
    torch.manual_seed(1)
    table = heads(Bare(), texts=[[0, 1, 2, 1, 0, 2], torch.tensor([2, 2, 1])], draws=2)
    assert [text[2] for text in table.texts] == [6, 3, 24, 24, 21, 21]
    row = table.rows[0]
    assert 0 < row.scores["induction_stripe"].value < 1
    assert row.scores["retrieval"].reason == "the model was not asked to write"
    assert heads(Bare(), draws=1).rows[0].scores["sink"].reason == "no running text was measured"
    with pytest.raises(AttnscopeError, match="came without a tokeniser"):
        heads(Bare(), texts=["a text"])


def test_cross_attention_says_what_has_no_meaning_there() -> None:
    site = site_from(torch.Generator().manual_seed(1), full(), 9, heads=SIZES, kind="cross")
    values, _, reasons = scores_of_text(site, Text("plain", "", tuple(range(9))))
    assert set(values) == {"sink", "entropy"}
    assert {reasons[name] for name in ("previous_token", "local", "distance", "induction_mass")} == {
        OTHER_TEXT
    }


def test_a_stripe_outside_the_window_says_that_no_query_sees_it() -> None:
    site = site_from(torch.Generator().manual_seed(1), window(3, 0) & causal(), 20, heads=SIZES)
    text = Text("twice", "", tuple(range(10)) * 2, period=10)
    values, _, reasons = scores_of_text(site, text)
    assert reasons["induction_stripe"] == reasons["duplicate_token"] == NOT_SEEN
    assert "induction_stripe" not in values


def test_a_text_without_a_copy_has_no_induction() -> None:
    site = site_from(torch.Generator().manual_seed(1), causal(), 9, heads=SIZES)
    assert scores_of_text(site, Text("plain", "", tuple(range(9))))[2]["induction_mass"] == NO_COPY


def test_shuffling_keeps_the_tokens_and_those_at_fixed_places() -> None:
    text = Text("plain", "", (90, *range(30), 91), fixed=(0, 31))
    other = shuffled(text, seed=5)
    assert other.ids is not None
    assert sorted(other.ids) == sorted(text.ids or ())
    assert (other.ids[0], other.ids[-1]) == (90, 91)
    assert other.ids != text.ids
    assert shuffled(text, seed=5) == other
    assert shuffled(text, seed=6) != other


def test_a_recording_is_measured_as_it_lies_there(model: GPT, tmp_path: Path) -> None:
    subject = subject_of(model)
    ids = subject.encode(TEXTS[0]).ids
    with torch.no_grad(), record(model, tokens=[ids], path=tmp_path / "kept") as recording:
        model(torch.tensor([ids]))
    own = heads(model, texts=[TEXTS[0]], draws=0)
    for table in (heads(recording), heads(tmp_path / "kept")):
        for row, other in zip(table.rows, own.rows, strict=True):
            for name in ("previous_token", "sink", "entropy", "induction_mass", "local"):
                assert math.isclose(row.scores[name].value, other.scores[name].value, rel_tol=1e-5), name
            assert math.isnan(row.scores["sink"].shuffled)
        assert table.notes and "is not run again" in table.notes[0]
    with torch.no_grad(), record(model, keep="summary") as sums:
        model(torch.tensor([ids]))
    row = heads(sums).rows[0]
    assert math.isclose(row.scores["local"].value, own.rows[0].scores["local"].value, rel_tol=1e-5)
    previous = own.rows[0].scores["previous_token"].value
    assert math.isclose(row.scores["previous_token"].value, previous, rel_tol=1e-5)  # from sums by distance
    assert row.scores["induction_mass"].reason == NO_CELLS


def test_intervals_hold_the_mean_and_are_the_same_for_the_same_seed() -> None:
    values = torch.tensor([[0.1, 0.2, 0.3, math.nan], [0.5, 0.5, 0.5, 0.5]], dtype=torch.float64)
    ends = interval(values, seed=3)
    mean = mean_of(values)
    assert torch.equal(ends, interval(values, seed=3))
    assert bool(((ends[:, 0] <= mean + 1e-12) & (mean <= ends[:, 1] + 1e-12)).all())
    assert ends[1].tolist() == [0.5, 0.5]
    assert spread_of(values)[0].item() == pytest.approx(0.1)
    assert bool(interval(values[:, :1], seed=3).isnan().all())
    assert bool(spread_of(values[:, :1]).isnan().all())


def test_a_class_needs_score_baseline_and_spread() -> None:
    blank = dict.fromkeys(NAMES, Measured())
    sure = Measured(value=0.9, uniform=0.01, shuffled=0.02, spread=0.05, low=0.8, high=0.95)
    both = {**blank, "induction_stripe": sure, "sink": sure}
    assert classes_of(both) == ("induction", "first token")
    assert classes_of(blank) == ()
    alone = Measured(value=0.9, uniform=0.01, shuffled=0.02)  # one text: no interval
    assert classes_of({**blank, "induction_stripe": alone}) == ()
    by_place = Measured(value=0.9, uniform=0.01, shuffled=0.85, spread=0.05, low=0.8, high=0.95)
    assert classes_of({**blank, "induction_stripe": by_place}) == ()
    assert classes_of({**blank, "previous_token": by_place}) == ("previous token",)
    level = Measured(value=3.0, uniform=3.5, low=2.9, high=3.1, spread=0.1)
    assert classes_of({**blank, "entropy": level}) == ("broad",)


def test_the_command_writes_csv_and_json_with_every_column(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text(TEXTS[0])
    words = ["heads", str(folder), "--texts", str(tmp_path / "a.txt"), "--draws", "1"]
    for form in ("csv", "json"):
        assert run([*words, "-o", str(tmp_path / f"heads.{form}")]) == 0
    rows = list(csv.DictReader((tmp_path / "heads.csv").read_text().splitlines()))
    told = json.loads((tmp_path / "heads.json").read_text())
    assert len(rows) == len(told["heads"]) == 6
    for row, one in zip(rows, told["heads"], strict=True):
        for name in NAMES:
            for part, column in (("value", name), ("uniform", f"{name}_uniform"), ("low", f"{name}_low")):
                known = one["scores"][name][part]
                assert row[column] == ("" if known is None else repr(known))
    assert run([*words, "--sort", "sink", "-n", "2"]) == 0
    assert "a uniform head" in capsys.readouterr().out
    assert run([*words, "--sort", "charm"]) == 2
    assert run([*words, "-o", str(tmp_path / "heads.xlsx")]) == 2


def test_what_is_not_installed_is_named(model: GPT, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = heads(model, texts=[TEXTS[0]], draws=0)
    for name in ("pandas", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(AttnscopeError, match=r"pip install 'attnscope\[tables\]'"):
        table.to_pandas()
    with pytest.raises(AttnscopeError, match=r"pip install 'attnscope\[tables\]'"):
        table.save(tmp_path / "heads.parquet")
