"""Odd ways to use a recording: the model, its thread and the process are as before on any way out."""

from __future__ import annotations

import copy
import gc
import os
import signal
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnscope.errors import NothingRecorded
from attnscope.listen import owners, record
from attnscope.listen.generating import generation
from attnscope.listen.hooks import hooks
from attnscope.listen.missing import APART
from attnscope.listen.routes.huggingface import registry
from attnscope.recording import load
from tests.listen.traces import traces

Plain = Callable[..., nn.Module]
FAULTS = [ValueError("a fault of the user"), KeyboardInterrupt()]


@pytest.fixture(autouse=True)
def before() -> Iterator[list[Any]]:
    kept = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
    first = traces()
    yield first
    signal.signal(signal.SIGINT, kept)
    assert traces() == first


def attributes(model: nn.Module) -> dict[str, dict[str, Any]]:
    """Each module's own names with the identity of what they stand for."""
    return {name: {key: id(value) for key, value in vars(m).items()} for name, m in model.named_modules()}


def hooked(model: nn.Module, name: str, hook: Callable[..., None]) -> None:
    """Calls `hook` after the first call of a part of the model, and of no other."""
    handle = model.get_submodule(name).register_forward_hook(lambda *_: (handle.remove(), hook(), None)[2])


def test_the_model_has_the_same_attributes_inside_the_block_and_after(plain: Plain) -> None:
    model, x = plain(), torch.randn(1, 9, 40)
    own = attributes(model)
    with record(model):
        model(x)
        assert attributes(model) == own
    assert attributes(model) == own


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("shared", [hooks, registry, generation, owners.threads])
def test_what_fails_while_the_block_is_entered_leaves_nothing(
    shared: Any, fault: BaseException, plain: Plain, before: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    change = shared._change

    def fails(undo: Any) -> bool:
        change(undo)
        raise fault

    monkeypatch.setattr(shared, "_change", fails)
    model, x = plain(), torch.randn(1, 9, 40)
    with pytest.raises(type(fault)), record(model):
        model(x)
    assert traces() == before
    monkeypatch.setattr(shared, "_change", change)
    with record(model) as recording:
        model(x)
    assert len(recording.sites) == 2


@pytest.mark.parametrize("fault", FAULTS)
def test_what_fails_while_the_block_is_left_leaves_nothing(
    fault: BaseException, plain: Plain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import attnscope.listen.session as module

    def fails(*_: object) -> None:
        raise fault

    model, x = plain(), torch.randn(1, 9, 40)
    monkeypatch.setattr(module.Session, "close", fails)
    with pytest.raises(type(fault)), record(model, path=tmp_path / "look"):
        model(x)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_in_the_middle_of_a_forward_leaves_nothing_behind_once_it_is_caught(
    plain: Plain, before: list[Any]
) -> None:
    model, x = plain(), torch.randn(1, 9, 40)
    own = attributes(model)
    hooked(model, "blocks.1", lambda: signal.raise_signal(signal.SIGINT))
    with record(model) as recording:
        with pytest.raises(KeyboardInterrupt):
            model(x)
        F.scaled_dot_product_attention(x, x, x)  # nobody's: no module runs
        assert [len(run.sites) for run in recording.runs] == [2]
        model(x[:, :5])
    assert [[site.tq for site in run.sites] for run in recording.runs] == [[9, 9], [5, 5]]
    assert attributes(model) == own
    hooked(model, "blocks.1", lambda: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt), record(model):
        model(x)
    assert traces() == before


def test_ctrl_c_while_the_end_of_the_block_waits_ends_the_wait(plain: Plain) -> None:
    model, x = plain(), torch.randn(1, 9, 40)
    reached, opened = threading.Event(), threading.Event()
    hooked(model, "blocks.0", lambda: (reached.set(), opened.wait(60))[0])
    thread = threading.Thread(target=model, args=(x,))

    def interrupt() -> None:
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt), record(model):
        thread.start()
        assert reached.wait(60)
        timer.start()
    timer.join()
    opened.set()
    thread.join()
    for _ in range(500):
        if not hooks._holders:
            break
        threading.Event().wait(0.01)
    with record(model) as recording:
        model(x)
    assert len(recording.sites) == 2


def test_a_model_that_calls_itself_is_one_run(plain: Plain) -> None:
    class Halving(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = plain(layers=1)

        def forward(self, x: Tensor) -> Tensor:
            mixed: Tensor = self.inner(x)
            return mixed if x.shape[1] < 4 else torch.cat([mixed, self(x[:, ::2])], dim=1)

    model, x = Halving().eval(), torch.randn(1, 12, 40)
    alone = model(x)
    with record(model) as recording:
        assert torch.equal(model(x), alone)
    assert [[site.tq for site in run.sites] for run in recording.runs] == [[12, 6, 3]]


def test_a_block_may_be_opened_and_left_inside_a_forward(plain: Plain) -> None:
    model, x = plain(layers=3), torch.randn(1, 9, 40)
    alone, blocks = model(x), [record(model), record(model)]
    found: list[Any] = []
    hooked(model, "blocks.0", lambda: found.append(blocks[0].__enter__()))
    hooked(model, "blocks.1", lambda: blocks[0].__exit__(None, None, None))
    assert torch.equal(model(x), alone)
    assert [run.name for run in found[0].runs] == ["blocks.1"]
    found.append(blocks[1].__enter__())
    hooked(model, "blocks.1", lambda: blocks[1].__exit__(None, None, None))
    assert torch.equal(model(x), alone)
    assert [site.name for site in found[1].sites] == ["blocks.0", "blocks.1"]


def test_a_block_of_another_model_inside_a_forward_takes_nothing_from_it(plain: Plain) -> None:
    model, other, x = plain(), plain(layers=3), torch.randn(1, 9, 40)
    found: list[Any] = []

    def look() -> None:
        with record(other) as recording:
            other(x[:, :5])
        found.append(recording)

    hooked(model, "blocks.0", look)
    with record(model) as recording:
        model(x)
    assert ([site.tq for site in recording.sites], [site.tq for site in found[0].sites]) == ([9, 9], [5] * 3)


def test_a_generator_that_holds_a_block_open_keeps_it_apart(plain: Plain) -> None:
    model, x = plain(), torch.randn(1, 9, 40)

    def looking() -> Iterator[Any]:
        with record(model) as recording:
            for t in (3, 5):
                model(x[:, :t])
                yield recording

    steps = looking()
    recording = next(steps)
    next(steps)
    steps.close()
    model(x)
    assert [run.sites[0].tq for run in recording.runs] == [3, 5]


def test_a_copy_of_the_model_is_not_the_model_and_that_is_said(plain: Plain) -> None:
    model, x = plain(), torch.randn(1, 9, 40)
    with record(model) as recording:
        twin = copy.deepcopy(model)
        assert torch.equal(twin(x), model(x))
    assert len(recording.runs) == 1
    with pytest.raises(NothingRecorded, match="A copy of the Plain ran") as raised, record(model):
        copy.deepcopy(model)(x)
    assert "Hand record() the very model that is run" in str(raised.value)


def test_a_model_that_is_moved_inside_the_block_is_heard_on(plain: Plain) -> None:
    model, x = plain(), torch.randn(1, 9, 40)
    with record(model) as recording:
        model(x)
        model.double()
        model(x.double())
    assert [run.sites[0].dtype for run in recording.runs] == [torch.float32, torch.float64]


def test_nothing_holds_the_model_after_the_block(plain: Plain) -> None:
    model, x = plain(), torch.randn(1, 9, 40)
    thread = threading.Thread(target=threading.Event().wait, args=(0.01,))
    with record(model) as recording:
        model(x)
        thread.start()
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None and len(recording.sites) == 2
    thread.join()


class Replicated(nn.Module):
    """As nn.DataParallel runs a model on several devices: copies of it, each in a thread."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: Tensor) -> Tensor:
        with ThreadPoolExecutor(2) as pool:
            copies = [copy.deepcopy(self.module) for _ in x]
            return torch.cat(list(pool.map(lambda model, row: model(row), copies, x.split(1))))


def test_copies_that_run_in_threads_are_said_to_be_copies(plain: Plain) -> None:
    model = nn.DataParallel(plain())
    with record(model) as recording:
        model(torch.randn(2, 9, 40))
    assert [site.name for site in recording.sites] == ["module.blocks.0", "module.blocks.1"]
    replicated = Replicated(plain())
    said = pytest.raises(NothingRecorded, match="Copies of its modules ran, 6 calls")
    with said as raised, record(replicated):
        replicated(torch.randn(2, 9, 40))
    assert "nn.DataParallel" in str(raised.value)


def test_parts_that_run_in_a_pool_from_before_the_block_are_listed(plain: Plain) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()

        class Pooled(Branching):
            def forward(self, x: Tensor) -> Tensor:
                mixed: Tensor = self.branches[0](x) + pool.submit(self.branches[1], x).result()
                return mixed

        model = Pooled(plain)
        with record(model) as recording:
            model(torch.randn(1, 9, 40))
    assert [site.name for site in recording.sites] == ["branches.0.blocks.0"]
    assert [(one.name, one.reason) for one in recording.missing] == [("branches.1", APART)]


class Branching(nn.Module):
    """A model whose forward runs its parts in threads of its own."""

    def __init__(self, plain: Plain) -> None:
        super().__init__()
        self.branches = nn.ModuleList(plain(layers=1) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        made: dict[int, Tensor] = {}

        def work(i: int) -> None:
            made[i] = self.branches[i](x)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return torch.stack([made[i] for i in range(3)]).sum(dim=0)


def test_threads_that_a_forward_starts_are_parts_of_its_run(plain: Plain) -> None:
    model, x = Branching(plain), torch.randn(1, 9, 40)
    alone = model(x)
    with record(model) as recording:
        assert torch.equal(model(x), alone)
        assert torch.equal(model(x), alone)
    assert [(run.name, run.forwards) for run in recording.runs] == [("", 1)] * 2
    for run in recording.runs:
        assert sorted(site.name for site in run.sites) == [f"branches.{i}.blocks.0" for i in range(3)]
        assert sorted(site.index for site in run.sites) == [0, 1, 2]
    assert recording.missing == []


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_a_fork_of_the_process_hears_nothing_and_writes_nothing(
    plain: Plain, before: list[Any], tmp_path: Path
) -> None:
    model, x = plain(), torch.randn(1, 9, 40)
    alone = model(x)

    def child() -> bool:
        try:
            with record(model, path=tmp_path / "look") as recording:
                model(x)
                child = os.fork()
                if child:
                    assert os.waitpid(child, 0)[1] == 0
                    model(x)
                    return True
                same = torch.equal(model(x), alone)
        except BaseException:
            os._exit(2)
        os._exit(0 if same and len(recording.runs) == 1 and traces() == before else 3)

    assert child()
    assert [one.name for one in tmp_path.iterdir()] == ["look"]
    back = load(tmp_path / "look")
    assert [len(run.sites) for run in back.runs] == [2, 2]


@pytest.mark.filterwarnings("ignore:Using `torch.compile.module.` when there are global hooks")
def test_a_model_compiled_inside_the_block_is_as_before(plain: Plain) -> None:
    model, x = plain(), torch.randn(1, 9, 40)
    alone = model(x)
    with record(model) as recording:
        model(x)
        compiled: Any = torch.compile(model, backend="eager")
        assert torch.equal(compiled(x), alone)
    torch._dynamo.reset()
    assert torch.equal(model(x), alone) and len(recording.runs[0].sites) == 2


def test_what_a_session_remembers_does_not_grow_with_its_forwards(plain: Plain) -> None:
    model, x = plain(), torch.randn(1, 3, 40)
    with record(model, keep="summary", layers=[0]) as recording:
        session = next(session for session in owners._open if session.model is model)

        def remembered() -> list[int]:
            held = vars(session).values()
            return [len(one) for one in held if isinstance(one, list | dict | set)]

        model(x)
        first = remembered()
        for _ in range(40):
            model(x)
        assert remembered() == first and session.logs == []
    assert len(recording.runs) == 41
