"""Knock-outs: a model run without one weight, some rows or a whole head, and how far its answer moves."""

from attnscope.knocking.bench import Bench
from attnscope.knocking.cut import Cut, How
from attnscope.knocking.result import Knockout, Next, Nothing, TakenOut
from attnscope.knocking.running import knockout

__all__ = ["Bench", "Cut", "How", "Knockout", "Next", "Nothing", "TakenOut", "knockout"]
