"""The scores of a model's heads along its training, kept beside the checkpoint of the run."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass, field
from pathlib import Path

from attnscope.errors import TrainingError
from attnscope.files import reading, write_whole
from attnscope.gpt import GPT
from attnscope.measure.attention import Uniform
from attnscope.measure.run import measured, recorded_ids
from attnscope.measure.scores import SCORES
from attnscope.measure.texts import Text, twice
from attnscope.models.given import subject_of

FILE = "heads.csv"
TIMES = 60
"""How often a run is looked at, from its first step to its last: a few hundredths of its time."""

WATCHED = tuple(score.name for score in SCORES if score.text in ("plain", "twice"))

Key = tuple[int, int, int]
"""Step, layer, head."""


@dataclass
class Watch:
    """One run. every: steps between two looks.   values: of each step, layer and head the scores, in the
    order of WATCHED, NaN where undefined; step -1 is the uniform head.

    The model reads the first characters of the text that it is not trained on, and random characters twice;
    the same each time. Its weights and the order of its training are not touched.
    """

    model: GPT
    folder: Path
    texts: tuple[Text, ...]
    every: int
    values: dict[Key, tuple[float, ...]] = field(default_factory=dict)

    def due(self, step: int, steps: int) -> bool:
        """Whether the model is to be looked at after this step, and has not been."""
        wanted = step % self.every == 0 or step == steps
        return wanted and not any(key[0] == step for key in self.values)

    def look(self, step: int) -> None:
        """Measure every head as it is after `step` steps, and write the file anew.

        Raises TrainingError where it cannot be written.
        """
        training = self.model.training
        self.model.eval()
        subject, uniform = subject_of(self.model), Uniform()
        found: dict[tuple[int, int], dict[str, float]] = {}
        level: dict[str, float] = {}
        for text in self.texts:
            for site in recorded_ids(subject, text.ids or ()).sites:
                one = measured(site, text, uniform)
                for at, head in enumerate(one.heads):
                    row = {name: values[at] for name, values in one.values.items()}
                    found.setdefault((site.layer, head), {}).update(row)
                level |= {name: values[0] for name, values in one.uniform.items()}
        self.model.train(training)
        self.values[-1, 0, 0] = _row(level)
        self.values |= {(step, *place): _row(row) for place, row in found.items()}
        write_whole(self.folder / FILE, _csv(self.values).encode(), TrainingError)


def watch(model: GPT, folder: Path, text: str, *, step: int, steps: int) -> Watch:
    """The watch of a run that has made `step` of `steps` steps; what its folder keeps of later ones is
    dropped, since the run makes them again. text: what it is trained on, of which the last tenth is held
    back.

    Raises TrainingError for a file that is something else.
    """
    subject = subject_of(model)
    held = model.tokenizer.encode(text[int(0.9 * len(text)) :][: model.context])
    texts = (Text("plain", "the first held back", tuple(held)), twice(subject, seed=0))
    kept = {key: row for key, row in _kept(folder / FILE).items() if key[0] <= step}
    return Watch(model, folder, texts, max(1, steps // TIMES), kept)


def _row(scores: dict[str, float]) -> tuple[float, ...]:
    return tuple(scores.get(name, math.nan) for name in WATCHED)


def _csv(values: dict[Key, tuple[float, ...]]) -> str:
    """step,layer,head and a column a score; the uniform head has step -1, and a cell is empty where
    undefined.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("step", "layer", "head", *WATCHED))
    for key in sorted(values):
        writer.writerow((*key, *("" if math.isnan(x) else repr(x) for x in values[key])))
    return out.getvalue()


def _kept(path: Path) -> dict[Key, tuple[float, ...]]:
    with reading(path, TrainingError):
        if not path.exists():
            return {}
        text = path.read_text("utf-8")
    rows = list(csv.reader(io.StringIO(text)))
    try:
        if tuple(rows[0]) != ("step", "layer", "head", *WATCHED):
            raise ValueError("other columns")
        return {
            (int(step), int(layer), int(head)): tuple(float(x or "nan") for x in row)
            for step, layer, head, *row in rows[1:]
        }
    except (IndexError, ValueError) as error:
        raise TrainingError(
            f"{path} does not hold the scores of a run ({error})",
            hint="Move it away, and the heads are watched from here on",
        ) from None
