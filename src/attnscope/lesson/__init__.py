"""The lesson: every experiment as a function that returns its numbers, its tables and its figure.

from attnscope import lesson
lesson.four_words().weights       # (4, 4)
lesson.spread().plot()            # a matplotlib figure
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from attnscope.lesson.contents import SECTIONS as SECTIONS
from attnscope.lesson.contents import section as section

_MORE = {  # what is public beside the experiments that the table of contents lists
    "Experiment": "experiment", "Table": "experiment", "Sheet": "walk.sheet", "walk": "walk.walk",
    "diagnose": "diagnose", "diagnose_order": "diagnose_order", "measure_cost": "measuring.measure",
}  # fmt: skip
_HOME = _MORE | {home.partition(":")[2]: home.partition(":")[0] for one in SECTIONS for home in one.homes}

__all__ = ["SECTIONS", "section", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'attnscope.lesson' has no attribute {name!r}")
    return getattr(import_module(f"attnscope.lesson.{_HOME[name]}"), name)


class _Face(ModuleType):
    """Keeps a name for the experiment where the module that it lives in has the same name.

    Importing attnscope.lesson.arcs would otherwise put that module in the place of the function.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _HOME or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face
