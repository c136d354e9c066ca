"""What each head of a model does: scores with a baseline and a spread, classes by stated rules, surveys."""

from attnscope.measure.classes import RULES, Measured, Rule
from attnscope.measure.scores import NAMES, SCORES, Score
from attnscope.measure.survey import heads
from attnscope.measure.table import HeadRow, HeadTable

__all__ = ["NAMES", "RULES", "SCORES", "HeadRow", "HeadTable", "Measured", "Rule", "Score", "heads"]
