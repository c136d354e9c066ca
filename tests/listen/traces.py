"""All that a recording might leave behind, in the process and in the thread that asks."""

from __future__ import annotations

import threading
from typing import Any

from torch import overrides
from torch.nn.modules import module as module_internals
from torch.overrides import _get_current_function_mode_stack
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from attnscope.listen.frames import here


def traces() -> list[Any]:
    from transformers.generation.utils import GenerationMixin
    from transformers.modeling_utils import AttentionInterface

    return [
        AttentionInterface.__dict__.get("get_interface"),
        AttentionInterface.__dict__.get("__getitem__"),
        GenerationMixin.__dict__["generate"],
        dict(module_internals._global_forward_pre_hooks),
        dict(module_internals._global_forward_hooks),
        dict(module_internals._global_forward_hooks_always_called),
        _get_current_function_mode_stack(),
        _get_current_dispatch_mode_stack(),
        overrides.has_torch_function,
        threading.Thread.start,
        [*here.frames, *here.generations, *here.grids, here.inside, here.mode],
    ]
