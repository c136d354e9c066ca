"""The block is left while a thread still runs the model: it is waited for, or cut off, and that is said."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.overrides import _get_current_function_mode_stack

from attnscope.listen import record
from attnscope.listen.frames import here
from attnscope.listen.session import CUT
from attnscope.recording import load
from tests.listen.traces import traces

Plain = Callable[..., nn.Module]
SHORT = 0.05


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["attnscope.listen.record"], "PATIENCE", SHORT)


class Gate:
    """A forward that stops before a module until it is opened."""

    def __init__(self, module: nn.Module) -> None:
        self.reached, self.opened = threading.Event(), threading.Event()
        module.register_forward_pre_hook(self._wait)

    def _wait(self, *_: object) -> None:
        self.reached.set()
        assert self.opened.wait(60)


def started(work: Callable[[], object], gate: Gate) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    assert gate.reached.wait(60)
    return thread


def put_back(before: list[Any]) -> bool:
    until = time.monotonic() + 5
    while traces() != before and time.monotonic() < until:
        time.sleep(0.01)
    return traces() == before


def test_a_forward_that_still_runs_at_the_end_of_the_block_is_heard_to_its_end(plain: Plain) -> None:
    model, x = plain(), torch.randn(1, 9, 40)
    alone, found, before = model(x), [], traces()
    gate = Gate(model.get_submodule("blocks.1"))
    with record(model) as recording:
        thread = started(lambda: found.append(model(x)), gate)
        threading.Timer(0.1, gate.opened.set).start()
    thread.join()
    assert torch.equal(found[0], alone) and traces() == before
    assert [site.name for site in recording.sites] == ["blocks.0", "blocks.1"] and recording.missing == []


def test_the_end_of_the_block_waits_for_no_more_than_what_was_begun_in_it(plain: Plain) -> None:
    model, x = plain(), torch.randn(1, 9, 40)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            model(x)

    with record(model) as recording:
        thread = threading.Thread(target=work)
        thread.start()
        while not recording.runs:
            time.sleep(0.01)
    runs = len(recording.runs)
    stop.set()
    thread.join()
    assert runs == len(recording.runs) and recording.missing == []
    assert all(len(run.sites) == 2 for run in recording.runs)


@pytest.mark.usefixtures("short")
def test_a_forward_that_does_not_end_is_cut_off_and_that_is_said(plain: Plain) -> None:
    model, x = plain(), torch.randn(1, 9, 40)
    alone, found, before = model(x), [], traces()
    gate = Gate(model.get_submodule("blocks.1"))

    def work() -> None:
        found.extend([model(x), len(here.frames), _get_current_function_mode_stack()])

    with record(model) as recording:
        thread = started(work, gate)
    assert [site.name for site in recording.sites] == ["blocks.0"]
    assert [(one.layer, one.name, one.reason) for one in recording.missing] == [(None, "", CUT)]
    gate.opened.set()
    thread.join()
    assert torch.equal(found[0], alone) and found[1:] == [0, []]
    assert len(recording.sites) == 1 and put_back(before)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("fault", [ValueError, SystemExit])
def test_nothing_is_left_where_the_forward_that_was_cut_off_fails(
    fault: type[BaseException], plain: Plain
) -> None:
    model, x, before = plain(), torch.randn(1, 9, 40), traces()
    gate = Gate(model.get_submodule("blocks.1"))

    def fails(*_: object) -> None:
        raise fault

    model.get_submodule("blocks.1").register_forward_hook(fails)
    found: list[Any] = []

    def work() -> None:
        try:
            model(x)
        except fault as error:
            found.append(type(error))
        nn.Identity()(x)  # the next call of any module tells that the forward was left
        found.extend([len(here.frames), _get_current_function_mode_stack()])

    with record(model):
        thread = started(work, gate)
    gate.opened.set()
    thread.join()
    assert found == [fault, 0, []] and put_back(before)


class Encoder(nn.Module):
    """Fused layers, whose padded rows come out otherwise where torch is told that somebody listens."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(40, 4, 64, batch_first=True, dropout=0.0)
        self.layers = nn.ModuleList(nn.TransformerEncoder(layer, 1) for _ in range(2))
        self.between = nn.Identity()

    def forward(self, x: Tensor, padding: Tensor) -> Tensor:
        y = self.layers[0](x, src_key_padding_mask=padding)
        mixed: Tensor = self.layers[1](self.between(y), src_key_padding_mask=padding[:, : y.shape[1]])
        return mixed


@pytest.fixture
def encoder() -> Iterator[tuple[nn.Module, Tensor, Tensor]]:
    torch.manual_seed(3)
    padding = torch.zeros(2, 11, dtype=torch.bool)
    padding[1, 8:] = True
    with torch.no_grad():
        yield Encoder().eval(), torch.randn(2, 11, 40), padding


@pytest.mark.usefixtures("short")
@pytest.mark.filterwarnings("ignore:.*nested tensors.*")
def test_fused_layers_keep_their_path_after_the_block_was_left(
    encoder: tuple[nn.Module, Tensor, Tensor],
) -> None:
    model, x, padding = encoder
    alone, before, found = model(x, padding), traces(), []
    gate = Gate(model.get_submodule("between"))

    def work() -> None:
        with torch.no_grad():
            found.append(model(x, padding))
            found.append(model(x, padding))

    with record(model) as recording:
        thread = started(work, gate)
    gate.opened.set()
    thread.join()
    assert torch.equal(found[0], alone) and torch.equal(found[1], alone)
    assert [site.name for site in recording.sites] == ["layers.0.layers.0.self_attn"] and put_back(before)


@pytest.mark.usefixtures("short")
def test_another_block_meanwhile_hears_its_own(plain: Plain) -> None:
    model, x, before = plain(), torch.randn(1, 9, 40), traces()
    gate = Gate(model.get_submodule("blocks.1"))
    with record(model) as first:
        thread = started(lambda: model(x), gate)
    gate.opened.set()
    with record(model) as second:
        model(x[:, :5])
        thread.join()
    assert [[site.tq for site in one.sites] for one in (first, second)] == [[9], [5, 5]]
    assert len(second.runs) == 1 and put_back(before)


@pytest.mark.usefixtures("short")
def test_work_handed_to_a_pool_is_heard_or_said_to_be_cut_off(plain: Plain) -> None:
    model, x = plain(), torch.randn(1, 9, 40)
    gate = Gate(model.get_submodule("blocks.1"))
    with ThreadPoolExecutor(2) as pool:
        with record(model) as recording:
            futures = [pool.submit(model, x) for _ in range(2)]
            assert gate.reached.wait(60)
            while len(recording.runs) < 2:
                time.sleep(0.01)
        gate.opened.set()
        assert torch.equal(futures[0].result(), futures[1].result())
        pool.submit(model, x).result()
    assert [len(run.sites) for run in recording.runs] == [1, 1] and recording.missing[0].reason == CUT


@pytest.mark.usefixtures("short")
def test_what_was_cut_off_is_whole_on_disk(plain: Plain, tmp_path: Path) -> None:
    model, x = plain(layers=3), torch.randn(1, 9, 40)
    gate = Gate(model.get_submodule("blocks.2"))
    with record(model, path=tmp_path / "cut") as recording:
        thread = started(lambda: model(x), gate)
    gate.opened.set()
    thread.join()
    back = load(tmp_path / "cut")
    assert [site.name for site in back.sites] == ["blocks.0", "blocks.1"]
    assert torch.equal(back.sites[1].weights(3), recording.sites[1].weights(3))
    assert back.missing == recording.missing and back.missing[0].reason == CUT
    assert [one.name for one in tmp_path.iterdir()] == ["cut"]


def test_an_exception_in_the_block_waits_for_nobody(plain: Plain) -> None:
    model, x, before = plain(), torch.randn(1, 9, 40), traces()
    gate = Gate(model.get_submodule("blocks.1"))
    begun = time.monotonic()
    with pytest.raises(ZeroDivisionError), record(model):
        thread = started(lambda: model(x), gate)
        _ = 1 // 0
    assert time.monotonic() - begun < 5
    gate.opened.set()
    thread.join()
    assert put_back(before)


def test_a_generation_that_still_runs_at_the_end_of_the_block_is_joined_whole(tiny: Any, inputs: Any) -> None:
    model = tiny("llama")
    ids = inputs("llama", t=11)["input_ids"]
    steps = threading.Event()
    lm_head = model.get_submodule("lm_head")
    lm_head.register_forward_hook(lambda *_: (steps.set(), time.sleep(0.02))[0])
    found: list[Tensor] = []

    def work() -> None:
        found.append(model.generate(ids, max_new_tokens=5, do_sample=False))

    with record(model) as recording:
        thread = threading.Thread(target=work)
        thread.start()
        assert steps.wait(60)
    thread.join()
    assert [site.tq for site in recording.sites] == [15, 15] and found[0].shape == (2, 16)
    assert recording.missing == [] and recording.runs[0].forwards == 5


@pytest.mark.usefixtures("short")
def test_a_generation_that_is_cut_off_keeps_its_steps_up_to_there(tiny: Any, inputs: Any) -> None:
    model, before = tiny("llama"), traces()
    ids = inputs("llama", t=11)["input_ids"]
    alone = model.generate(ids, max_new_tokens=5, do_sample=False)
    third, opened, calls = threading.Event(), threading.Event(), []

    def wait(*_: object) -> None:
        calls.append(1)
        if len(calls) == 3:
            third.set()
            assert opened.wait(60)

    handle = model.get_submodule("model").register_forward_pre_hook(wait)
    found: list[Tensor] = []
    thread = threading.Thread(
        target=lambda: found.append(model.generate(ids, max_new_tokens=5, do_sample=False))
    )
    with record(model) as recording:
        thread.start()
        assert third.wait(60)
    opened.set()
    thread.join()
    handle.remove()
    assert torch.equal(found[0], alone) and put_back(before)
    assert [site.tq for site in recording.sites] == [12, 12] and recording.missing[0].reason == CUT
