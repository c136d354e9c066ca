"""The losses of a run: one of the training batch for every step, some of the validation text."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass
class History:
    """training[i] is the loss of step i + 1's batch; validation maps a number of steps done to a loss."""

    training: list[float] = field(default_factory=list)
    validation: dict[int, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON; floats keep every digit."""
        return {"training": self.training, "validation": {str(k): v for k, v in self.validation.items()}}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Self:
        """What `to_dict` wrote."""
        return cls(list(given["training"]), {int(k): v for k, v in given["validation"].items()})

    @classmethod
    def from_csv(cls, text: str) -> Self:
        """What `to_csv` wrote: losses to six places."""
        history = cls()
        for row in csv.DictReader(io.StringIO(text)):
            if row["training_loss"]:
                history.training.append(float(row["training_loss"]))
            if row["validation_loss"]:
                history.validation[int(row["step"])] = float(row["validation_loss"])
        return history

    def smoothed(self, width: int = 50) -> list[tuple[float, float]]:
        """The training losses as means of `width` steps: (the middle step, the mean)."""
        return [
            (start + (len(part) + 1) / 2, sum(part) / len(part))
            for start in range(0, len(self.training), width)
            if (part := self.training[start : start + width])
        ]

    def to_csv(self) -> str:
        """step,training_loss,validation_loss: a row a step, in nats; a cell is empty where not measured."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("step", "training_loss", "validation_loss"))
        if 0 in self.validation:
            writer.writerow((0, "", f"{self.validation[0]:.6f}"))
        for step, loss in enumerate(self.training, 1):
            measured = self.validation.get(step)
            writer.writerow((step, f"{loss:.6f}", "" if measured is None else f"{measured:.6f}"))
        return text.getvalue()
