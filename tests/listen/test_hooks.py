"""Threads, several models, and the fused modules of torch: whose call it is, and that nothing takes another
path.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor, nn, overrides
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

from attnscope.errors import NothingRecorded
from attnscope.listen import record
from attnscope.listen.ears import Ears

Plain = Callable[..., nn.Module]


def in_thread(work: Callable[[], object]) -> object:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def test_a_thread_started_in_the_block_is_heard(plain: Plain) -> None:
    model, x = plain(), torch.randn(1, 9, 40)
    with record(model) as recording:
        in_thread(lambda: in_thread(lambda: model(x)))
    assert [site.name for site in recording.sites] == ["blocks.0", "blocks.1"]
    with record(model) as outer:
        model(x)
        with record(model) as inner:
            in_thread(lambda: model(x))
    assert (len(outer.runs), len(inner.runs)) == (1, 1)


def test_a_thread_started_outside_the_block_is_not_mixed_in(plain: Plain) -> None:
    model, x = plain(), torch.randn(1, 9, 40)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        with record(model) as recording:
            model(x)
            pool.submit(model, x[:, :5]).result()
        assert [run.sites[0].tq for run in recording.runs] == [9]
        message = "ran 1 times, in threads that were started outside the block"
        with pytest.raises(NothingRecorded, match=message), record(model):
            pool.submit(model, x).result()


def test_threads_start_as_before_when_no_block_is_open(plain: Plain) -> None:
    start = threading.Thread.start
    model = plain()
    with record(model):
        assert threading.Thread.start is not start
        model(torch.randn(1, 9, 40))
    assert threading.Thread.start is start


def test_threads_that_record_the_same_model_at_once_each_get_their_own(plain: Plain) -> None:
    model = plain()
    texts = [torch.randn(1, 5 + 2 * i, 40) for i in range(4)]
    alone = [model(x) for x in texts]
    barrier = threading.Barrier(4)

    def work(i: int) -> tuple[bool, list[int]]:
        barrier.wait(timeout=60)
        same = []
        for _ in range(5):
            with record(model) as recording:
                same.append(torch.equal(model(texts[i]), alone[i]))
            assert len(recording.runs) == 1
            model(texts[i])
        return all(same), [site.tq for site in recording.sites]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [(True, [5 + 2 * i] * 2) for i in range(4)]


def test_many_threads_in_one_recording_are_runs_of_their_own(plain: Plain) -> None:
    model = plain()
    texts = [torch.randn(1, 5 + 2 * i, 40) for i in range(4)]
    with record(model) as recording, ThreadPoolExecutor(4) as pool:
        list(pool.map(model, texts))
    assert sorted(run.sites[0].tq for run in recording.runs) == [5, 7, 9, 11]
    assert all([site.tq for site in run.sites] == [run.sites[0].tq] * 2 for run in recording.runs)


def test_other_models_are_not_heard(plain: Plain) -> None:
    mine, other, x = plain(), plain(layers=5), torch.randn(1, 9, 40)
    with record(mine) as recording:
        other(x)
        mine(x)
        in_thread(lambda: other(x))
    assert len(recording.runs) == 1 and len(recording.sites) == 2


def test_two_models_at_once_are_two_recordings(plain: Plain) -> None:
    one, two, x = plain(layers=1), plain(layers=3), torch.randn(1, 9, 40)
    with record(one) as first, record(two) as second:
        two(x)
        one(x)
    assert (len(first.sites), len(second.sites)) == (1, 3)


def test_a_part_of_a_model_may_be_recorded(plain: Plain) -> None:
    model, x = plain(layers=3), torch.randn(1, 9, 40)
    with record(model.get_submodule("blocks.1")) as recording:
        model(x)
    assert [(site.name, site.layer) for site in recording.sites] == [("", 0)]
    with record(model) as whole:
        model.get_submodule("blocks.2")(x)
    assert [(run.name, len(run.sites)) for run in whole.runs] == [("blocks.2", 1)]


class Classic(nn.Module):
    """torch's own encoder, beside attention that can be heard."""

    def __init__(self, plain: nn.Module) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(40, 4, 64, batch_first=True, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.mha = nn.MultiheadAttention(40, 4, batch_first=True)
        self.plain = plain

    def forward(self, x: Tensor, padding: Tensor) -> Tensor:
        y = self.encoder(x, src_key_padding_mask=padding)
        y, _ = self.mha(y, y, y, need_weights=False)
        mixed: Tensor = self.plain(y[:, :7])
        return mixed


@pytest.mark.filterwarnings("ignore:.*nested tensors.*")
def test_torchs_own_layers_keep_their_fused_path_and_are_shown(plain: Plain) -> None:
    model = Classic(plain()).eval()
    x = torch.randn(2, 11, 40)
    padding = torch.zeros(2, 11, dtype=torch.bool)
    padding[1, 8:] = True
    with torch.no_grad():
        alone = model(x, padding)
        with record(model) as recording:
            heard = model(x, padding)
        with Ears():  # what a mode does to them where torch is told of it
            disturbed = model(x, padding)
    assert torch.equal(alone, heard) and not torch.equal(alone, disturbed)
    assert [site.name for site in recording.sites] == [
        "encoder.layers.0.self_attn", "encoder.layers.1.self_attn", "mha", "plain.blocks.0", "plain.blocks.1"
    ]  # fmt: skip
    assert recording.missing == []


def test_torch_answers_for_itself_whether_anybody_listens() -> None:
    class Special(Tensor):
        pass

    class Theirs(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    def asked(x: Tensor, module: str) -> bool:
        names = {"__name__": module, "ask": overrides.has_torch_function, "x": x}
        answer: bool = eval("ask((x,))", names)  # as code of that module would
        return answer

    class Asks(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            layers, special = nn.modules.transformer.__name__, x.as_subclass(Special)
            with Theirs():
                by_mode = asked(x, layers)
            found.append([asked(x, layers), asked(special, layers), by_mode, asked(x, "torch._ops")])
            return F.scaled_dot_product_attention(x, x, x)

    found: list[list[bool]] = []
    model, x = Asks(), torch.randn(1, 5, 4)
    model(x)
    with record(model) as recording:
        model(x)
    assert found == [[False, True, True, False], [False, True, True, True]] and len(recording.sites) == 1


def test_other_modes_of_the_user_go_on_working(plain: Plain) -> None:
    model, x = plain(), torch.randn(1, 9, 40)
    with torch.device("cpu"), record(model) as recording:
        model(x)
    assert len(recording.sites) == 2
    counts = []
    for listening in (False, True):
        with FlopCounterMode(display=False) as counter:
            if listening:
                with record(model) as recording:
                    model(x)
            else:
                model(x)
        counts.append(counter.get_total_flops())
    assert counts[0] == counts[1] > 0
    assert len(recording.sites) == 2
