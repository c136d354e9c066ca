"""Section 8, the module: its parameters, shapes, triangle, and PyTorch's own kernel beside it."""

from __future__ import annotations

import ast
import json
import sys
from types import FrameType
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from attnscope import lesson
from attnscope.errors import LessonError, ShapeError
from attnscope.lesson.drawn import drawn, normal
from attnscope.lesson.module import Module
from attnscope.nn import CausalSelfAttention


@pytest.fixture(scope="module")
def module() -> Module:
    found: Module = lesson.module()
    return found


def test_64_wide_with_4_heads_has_16640_parameters(module: Module) -> None:
    assert module.total == 64 * 192 + 192 + 64 * 64 + 64 == 16_640
    assert [(one.name, one.shape, one.numbers) for one in module.parameters] == [
        ("qkv.weight", (192, 64), 64 * 192),
        ("qkv.bias", (192,), 192),
        ("out.weight", (64, 64), 64 * 64),
        ("out.bias", (64,), 64),
    ]


def test_input_and_output_are_2_12_64_and_weights_2_4_12_12(module: Module) -> None:
    assert module.x.shape == module.out.shape == (2, 12, 64)
    assert module.weights.shape == (2, 4, 12, 12)
    torch.testing.assert_close(module.weights.sum(-1), torch.ones(2, 4, 12))


def test_nothing_is_above_the_diagonal_exactly(module: Module) -> None:
    assert module.above == 0
    assert not module.weights.triu(1).any()


def test_the_largest_difference_from_sdpa_is_about_1_2e_7_for_the_fixed_seed(module: Module) -> None:
    assert 3e-8 < module.difference < 3e-7


def test_over_many_seeds_the_difference_stays_under_5e_7() -> None:
    for seed in range(60):
        found = lesson.module(seed=seed)
        assert found.difference < 5e-7, seed
        assert found.short_difference < 5e-7, seed
        assert found.above == 0


def printed_class(module: Module) -> type[nn.Module]:
    """The class that the page prints, run from its printed text alone."""
    code = "\n".join(line.code for line in module.code)
    names: dict[str, Any] = {"nn": nn, "torch": torch, "Tensor": Tensor}
    exec(compile(code, "printed", "exec"), names)  # the text is the package's own
    found: type[nn.Module] = names["CausalSelfAttention"]
    return found


def test_the_printed_code_runs_and_is_the_module(module: Module) -> None:
    printed = printed_class(module)(64, 4)
    ours = drawn(lambda: CausalSelfAttention(64, 4), seed=module.seed)
    printed.load_state_dict(ours.state_dict())
    assert sum(one.numel() for one in printed.parameters()) == 16_640
    out = printed(module.x)
    torch.testing.assert_close(out, module.out, rtol=0, atol=5e-7)
    assert 0 < module.short_difference < 5e-7


def test_every_printed_shape_is_the_shape_of_what_the_line_makes(module: Module) -> None:
    printed = printed_class(module)(64, 4)
    seen: dict[str, list[Any]] = {}

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != "printed":
            return None
        if event == "line":
            seen[frame.f_code.co_name] = [
                *seen.get(frame.f_code.co_name, []),
                (frame.f_lineno, dict(frame.f_locals)),
            ]
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        printed(module.x)
    finally:
        sys.settrace(before)
    after = {line: later for (line, _), (_, later) in zip(seen["forward"], seen["forward"][1:], strict=False)}
    checked = 0
    for at, line in enumerate(module.code, start=1):
        if at not in after or not line.shape:
            continue
        names = [name.strip().removesuffix(": Tensor") for name in line.code.split(" = ")[0].split(",")]
        for name in names:
            assert tuple(after[at][name].shape) == ast.literal_eval(line.shape), line.code
            checked += 1
    assert checked == 12
    assert module.code[8 - 1].shape == "x (2, 12, 64)"


def test_the_printed_counts_are_those_of_the_layers(module: Module) -> None:
    counts = [line.shape for line in module.code if "nn.Linear" in line.code]
    assert counts == ["64 × 192 + 192", "64 × 64 + 64"]
    printed = printed_class(module)(64, 4)
    layers = [layer for layer in printed.modules() if isinstance(layer, nn.Linear)]
    for text, layer in zip(counts, layers, strict=True):
        assert eval(text.replace("×", "*")) == sum(one.numel() for one in layer.parameters())


def test_the_difference_is_from_sdpa_on_the_same_q_k_v(module: Module) -> None:
    ours = drawn(lambda: CausalSelfAttention(64, 4), seed=module.seed)
    q, k, v = ours.project(module.x)
    theirs = scaled_dot_product_attention(q, k, v, is_causal=True)
    assert float((ours.steps(module.x).out - theirs).abs().max()) == module.difference


def test_a_drawn_layer_is_drawn_by_pytorchs_own_rule() -> None:
    made = drawn(lambda: nn.Linear(100, 400), seed=1)
    assert made.weight.abs().max() < 0.1 < made.weight.abs().max() * 1.01
    assert made.bias.abs().max() < 0.1
    assert abs(float(made.weight.std()) - 0.1 / 3**0.5) < 1e-3
    assert not made.weight.requires_grad
    assert torch.equal(made.weight, drawn(lambda: nn.Linear(100, 400), seed=1).weight)
    assert not torch.equal(made.weight, drawn(lambda: nn.Linear(100, 400), seed=2).weight)
    assert torch.equal(normal(3, 2, seed=4), normal(3, 2, seed=4))


def test_drawing_a_module_leaves_the_global_random_state_alone() -> None:
    before = torch.get_rng_state()
    lesson.module(seed=5)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_tables_hold_the_figures_of_section_8(module: Module) -> None:
    parameters, shapes, held, code = module.tables()
    assert parameters.rows[-1] == ("together", "", "16,640")
    assert [row[1] for row in shapes.rows] == ["(2, 12, 64)", "(2, 12, 64)", "(2, 4, 12, 12)"]
    assert held.rows[0][1] == "0"
    assert held.rows[1][1] == "1.2e−7" or abs(module.difference - 1.2e-7) > 5e-9
    assert any("softmax" in row[0] and row[1] == "(2, 4, 12, 12)" for row in code.rows)


def test_the_figure_holds_the_four_heads(module: Module) -> None:
    grids = [axes.images[0].get_array().filled(0) for axes in module.plot().axes]
    assert len(grids) == 4
    for grid, weights in zip(grids, module.weights[0], strict=True):
        torch.testing.assert_close(torch.tensor(grid).float(), weights)


def test_section_8_is_json(module: Module) -> None:
    sent = json.loads(json.dumps(module.to_dict(), allow_nan=False))
    assert sent["total"] == 16_640
    assert sent["code"][0]["code"] == "class CausalSelfAttention(nn.Module):"


def test_a_module_that_cannot_be_is_refused() -> None:
    with pytest.raises(ShapeError, match="n_heads equal parts"):
        lesson.module(d_model=64, n_heads=7)
    with pytest.raises(LessonError, match="seed"):
        lesson.module(seed=True)
