"""A survey: every text of a plan through one model, by one process or several, and the table of all heads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import nn

from attnscope.errors import AttnscopeError
from attnscope.files import home_made
from attnscope.measure.folder import Finished, open_folder
from attnscope.measure.found import OfText, of_json
from attnscope.measure.plan import DRAWS, Given, Job, jobs_of
from attnscope.measure.ranks import ranks
from attnscope.measure.recorded import of_recording
from attnscope.measure.table import HeadTable, table_of
from attnscope.models import Subject, open_model
from attnscope.models.given import subject_of
from attnscope.recording import Recording, load

Progress = Callable[[str, int, int], None]
"""Called with what is being measured, how many texts are done, and of how many; of a recording, how many
calls of attention.
"""


def heads(
    model: nn.Module | Subject | Recording | str | Path,
    texts: Sequence[Given] | None = None,
    tokenizer: Any = None,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> HeadTable:
    """What each head of a model does: every score beside its value for a uniform head and for the same text
    shuffled, with its spread over texts, and the classes that follow.

    model: a module, with its tokenizer where it reads texts; the name of a model or its folder, as
    `attnscope look` takes them; or a recording, or its folder. texts: plain texts, or ids of tokens; None is
    a few passages of our own. draws: texts of random tokens, of each of two kinds. seed: of all that is
    drawn. folder: finished texts are kept there, and a survey that was stopped goes on from them.

    Under `torchrun` the texts are divided among the processes, and each returns the whole table. What a
    recording does not tell is NaN, with its reason. Raises ModelError, TextError, AttnscopeError.

    >>> table = heads("embedded", draws=2)                                # doctest: +SKIP
    >>> table.ranked("induction_stripe")[0].head                          # doctest: +SKIP
    >>> table.to_pandas()[["layer", "head", "classes", "sink"]]           # doctest: +SKIP
    """
    opened = _opened(model, tokenizer)
    if isinstance(opened, Recording):
        if texts is not None or folder is not None:
            raise AttnscopeError(
                "A recording holds its own texts", wanted="heads(recording), without texts= and folder="
            )
        return table_of(of_recording(opened, progress), _about(opened.model, {}), seed=seed)
    was_training = opened.module.training
    opened.module.eval()
    try:
        return _survey(opened, jobs_of(opened, texts, draws=draws, seed=seed), seed, folder, progress)
    finally:
        opened.module.train(was_training)


def _survey(
    subject: Subject, jobs: list[Job], seed: int, folder: str | Path | None, progress: Progress | None
) -> HeadTable:
    kept = None
    if folder is not None:
        kept = open_folder(home_made(folder, AttnscopeError), _identity(subject, jobs, seed))
    with ranks() as group:
        own = []
        for at in group.own(len(jobs)):
            if progress is not None:
                progress(f"Text {at + 1} of {len(jobs)}", at, len(jobs))
            own.append(_measured(subject, jobs[at], at, seed, kept).to_json())
        found = [of_json(one) for one in group.gathered(own)]
    if progress is not None:
        progress("", len(jobs), len(jobs))
    return table_of(found, _about(subject.description.to_dict(), {"draws": len(jobs)}), seed=seed)


def _measured(subject: Subject, job: Job, at: int, seed: int, kept: Finished | None) -> OfText:
    found = None if kept is None else kept.text(at)
    if found is None:
        found = job.run(subject, at, seed)
        if kept is not None:
            kept.keep(found)
    return found


def _opened(model: Any, tokenizer: Any) -> Subject | Recording:
    if isinstance(model, Subject | Recording):
        return model
    if isinstance(model, nn.Module):
        return subject_of(model, tokenizer)
    if not isinstance(model, str | Path):
        raise AttnscopeError(
            f"heads() got a {type(model).__name__}",
            wanted="A torch.nn.Module, a recording, or the name of a model or folder",
        )
    if is_recording(model):
        return load(home_made(model, AttnscopeError))
    return open_model(str(model))


def is_recording(name: str | Path) -> bool:
    """Whether a folder holds a recording."""
    return (home_made(name, AttnscopeError) / "manifest.json").is_file()


def _about(model: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    return {**model, "attnscope": version("attnscope"), "torch": torch.__version__}


def _identity(subject: Subject, jobs: list[Job], seed: int) -> dict[str, Any]:
    """What decides the numbers of a survey, for the folder of its finished texts."""
    digest = hashlib.blake2b(digest_size=20)
    for name, x in subject.module.state_dict().items():
        digest.update(f"{name} {x.dtype} {tuple(x.shape)}".encode())
        digest.update(x.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    plan = json.dumps([job.identity() for job in jobs]).encode()
    return {
        "model": digest.hexdigest(),
        "texts": hashlib.sha256(plan).hexdigest(),
        "count": len(jobs),
        "seed": seed,
        "threads": torch.get_num_threads(),
        "attnscope": version("attnscope"),
        "torch": torch.__version__,
    }
