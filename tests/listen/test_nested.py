"""generate() inside a forward, and forwards inside a generate(): each call goes to the run it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attnscope.listen import record
from attnscope.recording import Recording

Plain = Callable[..., nn.Module]
Tiny = Callable[..., Any]
NEW = 4


def steps(model: Any, ids: Tensor) -> Tensor:
    made: Tensor = model.generate(ids, max_new_tokens=NEW, do_sample=False)
    return made


class Writer(nn.Module):
    """A forward that looks, generates, and looks again."""

    def __init__(self, plain: nn.Module, lm: nn.Module) -> None:
        super().__init__()
        self.look, self.lm = plain, lm

    def forward(self, x: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        y = self.look(x)
        made = steps(self.lm, ids)
        return self.look(y), made


def told(recording: Recording) -> list[tuple[str, int, list[tuple[str, int, int]]]]:
    return [
        (run.name, run.forwards, [(site.name, site.order, site.tq) for site in run.sites])
        for run in recording.runs
    ]


LLAMA = "model.layers.{}.self_attn"


def test_a_generation_inside_a_forward_is_a_run_of_its_own(plain: Plain, tiny: Tiny) -> None:
    model, x = Writer(plain(layers=1), tiny("llama")), torch.randn(1, 9, 40)
    ids = torch.randint(3, 100, (1, 7))
    alone = model(x, ids)
    with record(model) as recording:
        heard = model(x, ids)
        model.look(x[:, :5])
    assert all(torch.equal(a, b) for a, b in zip(alone, heard, strict=True))
    layers = [(f"lm.{LLAMA.format(i)}", 0, 7 + NEW - 1) for i in range(2)]
    assert told(recording) == [
        ("", 1, [("look.blocks.0", 0, 9), ("look.blocks.0", 1, 9)]),
        ("lm", NEW, layers),
        ("look", 1, [("look.blocks.0", 0, 5)]),
    ]
    assert recording.missing == []


def test_a_forward_inside_a_generation_is_a_part_of_it_and_a_generation_in_there_is_not(
    plain: Plain, tiny: Tiny
) -> None:
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lm, self.side, self.small = tiny("llama"), plain(layers=1), tiny("llama")

    model, ids = Both(), torch.randint(3, 100, (1, 7))
    seen: list[Tensor] = []

    def aside(step: Tensor, scores: Tensor) -> Tensor:
        model.side(torch.ones(1, step.shape[1], 40))
        if not seen:
            seen.append(steps(model.small, step))
        return scores

    def write() -> Tensor:
        seen.clear()
        made: Tensor = model.lm.generate(ids, max_new_tokens=NEW, do_sample=False, logits_processor=[aside])
        return made

    alone = write()
    with record(model) as recording:
        assert torch.equal(write(), alone)
    runs = {run.name: run for run in recording.runs}
    assert list(runs) == ["lm", "small"]
    names = [(site.name, site.order, site.tq) for site in runs["small"].sites]
    assert names == [(f"small.{LLAMA.format(i)}", 0, 7 + NEW - 1) for i in range(2)]
    own = [(site.name, site.tq) for site in runs["lm"].sites if site.name.startswith("lm.")]
    assert own == [(f"lm.{LLAMA.format(i)}", 7 + NEW - 1) for i in range(2)]
    assert {site.name for site in runs["lm"].sites} - {name for name, _ in own} == {"side.blocks.0"}


def test_a_forward_inside_a_forward_is_a_part_of_it(plain: Plain) -> None:
    model, x = plain(), torch.randn(1, 9, 40)
    other = model.get_submodule("blocks.0")
    handle = model.get_submodule("blocks.1").register_forward_hook(lambda *_: (other(x[:, :5]), None)[1])
    with record(model) as recording:
        model(x)
    handle.remove()
    assert told(recording) == [("", 1, [("blocks.0", 0, 9), ("blocks.1", 0, 9), ("blocks.0", 1, 5)])]


def test_a_family_with_a_generate_of_its_own_is_one_run(tiny: Tiny) -> None:
    model, ids = tiny("llama"), torch.randint(3, 100, (1, 7))

    class Calls(type(model)):  # type: ignore[misc]
        def generate(self, *args: Any, **kwargs: Any) -> Any:
            return super().generate(*args, **kwargs)

    model.__class__ = Calls
    with record(model) as recording:
        steps(model, ids)
    assert [(run.name, run.forwards, len(run.sites)) for run in recording.runs] == [("", NEW, 2)]
