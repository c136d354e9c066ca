"""The error of a recording in which nothing was heard: what ran, what was looked for, and what to try."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import torch
from torch import nn

from attnscope.errors import NothingRecorded
from attnscope.listen.session import Session
from attnscope.listen.silent import LOOKS_LIKE_ATTENTION, without_softmax
from attnscope.recording import NotShown

LOOKED_FOR = (
    "Looked for: transformers' attention registry, F.scaled_dot_product_attention, attnscope.attention, "
    "nn.MultiheadAttention, and softmax over (batch, heads, queries, keys) followed by a product with the "
    "values"
)
REWRITE = (
    "In code of your own, call F.scaled_dot_product_attention(q, k, v), or softmax(scores, dim=-1) @ v with "
    "scores (batch, heads, queries, keys) and the number of heads as an attribute of the module (num_heads)"
)

CALL_THEM = (
    "Run it so that they are called: a branch, a flag, a cache or the length of the input may pass them by; "
    "what another process calls is not heard"
)
ELSE = "What mixes positions without softmax (convolution, recurrence, linear attention) cannot be shown"
KINDS = 5
"""How many classes of modules are listed."""
COPIES = (
    "Hand record() the very model that is run: a copy of it (copy.deepcopy, a replica of nn.DataParallel) "
    "has modules of its own"
)


def nothing(session: Session, missing: Sequence[NotShown]) -> NothingRecorded:
    """The error for a session that took no call."""
    kind, beside = type(session.model).__name__, session.missing
    if session.left_out:
        return NothingRecorded(
            f"The {kind} made {session.left_out} attention calls, and layers= and heads= left them all out",
            wanted="Layers and heads that the model has",
        )
    if not session.begun and not beside.elsewhere and beside.strangers:
        return NothingRecorded(
            f"A copy of the {kind} ran inside the block, or another one, and not that which was handed over",
            wanted="A forward of that very model",
            hint=COPIES,
        )
    if not session.begun and not beside.elsewhere:
        return NothingRecorded(
            f"The {kind} was not run inside the block, as far as could be heard",
            wanted="A forward of the model that was handed to record()",
            hint="A function compiled around the model makes its calls out of hearing: run it inside "
            'torch.compiler.set_stance("force_eager"). Of nested recordings of one model the innermost hears',
        )
    if not session.begun:
        return NothingRecorded(
            f"The {kind} ran {beside.elsewhere} times, in threads that were started outside the block",
            wanted="Calls from the block's own thread, or from threads started inside it",
            hint="Open the block inside the thread that runs the model",
        )
    entered = beside.entered
    ran = f"The {kind} ran, and no attention call was heard"
    if missing and all(without_softmax(entered[one.name]) for one in missing if one.name in entered):
        return NothingRecorded(
            f"{ran}: it has no softmax attention",
            wanted=f"{_listed(missing, kind)}. {LOOKED_FOR}",
            hint="There is nothing to show of such layers; the attention layers of a hybrid model are shown",
        )
    heard = [NotShown(0, name, said) for name, said in beside.likenesses.items()]
    others = [one for one in missing if one.name not in beside.likenesses]
    found = [_listed(one, kind) for one in (heard, others) if one]
    if beside.strangers:
        found.append(f"Copies of its modules ran, {beside.strangers} calls of them. {COPIES}")
    return NothingRecorded(
        ran, wanted=". ".join([*found, _modules(session, entered), LOOKED_FOR]), hint=_try(session)
    )


def _listed(missing: Sequence[NotShown], kind: str) -> str:
    """The reasons, each once, with the modules that share it."""
    by_reason: dict[str, list[str]] = {}
    for one in missing:
        by_reason.setdefault(one.reason, []).append(one.name or kind)
    parts = []
    for why, names in by_reason.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        parts.append(f"In {names[0]}{more}: {why}")
    return ". ".join(parts[:3])


def _modules(session: Session, entered: dict[str, nn.Module]) -> str:
    """Which modules ran, as far as could be heard."""
    every = dict(session.model.named_modules())
    scripted = [name for name, module in every.items() if isinstance(module, torch.jit.ScriptModule)]
    if scripted:
        return f"{scripted[0] or 'The whole model'} is TorchScript, which runs out of hearing"
    idle = _idle(session)
    if idle:
        first = f"{idle[0]} ({type(every[idle[0]]).__name__})"
        return f"Of its modules that are named as attention none was called, {first} among them"
    running = [one for one in every.values() if not isinstance(one, nn.ModuleList | nn.ModuleDict)]
    kinds = list(dict.fromkeys(type(module).__name__ for module in entered.values()))
    listed = ", ".join(kinds[:KINDS]) + (" ..." if len(kinds) > KINDS else "")
    return f"{len(entered)} of its {len(running)} modules were called ({listed})"


def _idle(session: Session) -> list[str]:
    """The modules named as attention, where none of them was called."""
    every = session.model.named_modules()
    like = [name for name, module in every if LOOKS_LIKE_ATTENTION.search(type(module).__name__)]
    return [] if any(name in session.missing.entered for name in like) else like


def _try(session: Session) -> str:
    """What a user can do next about a model that ran."""
    if any(isinstance(module, torch.jit.ScriptModule) for module in session.model.modules()):
        return "Record the model before torch.jit.script or torch.jit.trace"
    advice = []
    if "torch._dynamo" in sys.modules:
        advice.append(
            "If a part of it is compiled (torch.compile), run the block inside "
            'torch.compiler.set_stance("force_eager")'
        )
    if getattr(getattr(session.model, "config", None), "_attn_implementation", None) is not None:
        advice.append(_other_attention(session.model))
    return ". ".join([*advice, CALL_THEM if _idle(session) else f"{REWRITE}. {ELSE}"])


def _other_attention(model: nn.Module) -> str:
    """What a Hugging Face model can be told; families with code of their own warn, and change nothing."""
    if getattr(model, "_supports_sdpa", False):
        return 'Load it with attn_implementation="sdpa" or "eager"'
    return (
        f"{type(model).__name__} computes attention in code of its own: attn_implementation and "
        "set_attn_implementation change nothing in it"
    )
