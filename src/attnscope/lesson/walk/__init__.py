"""The walk of one query through attention: arithmetic and sentences, written once and sent as data."""

from attnscope.lesson.walk.change import change as change
from attnscope.lesson.walk.recipe import first_sheet as first_sheet
from attnscope.lesson.walk.recipe import recipe as recipe
from attnscope.lesson.walk.sheet import Sheet as Sheet
from attnscope.lesson.walk.values import Values as Values
from attnscope.lesson.walk.values import evaluate as evaluate
from attnscope.lesson.walk.walk import Step as Step
from attnscope.lesson.walk.walk import Walk as Walk
from attnscope.lesson.walk.walk import walk as walk

__all__ = ["Sheet", "Step", "Values", "Walk", "change", "evaluate", "first_sheet", "recipe", "walk"]
