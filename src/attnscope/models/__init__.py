"""Named models together with their tokenisers: one way to open and read them, for the command line and the
app.
"""

from attnscope.models.axes import Axis, axis_of
from attnscope.models.looking import Look
from attnscope.models.opened import look_of, open_recording
from attnscope.models.opening import open_model, shipped_models
from attnscope.models.predictions import Prediction
from attnscope.models.recorded import Kept, record_text, record_texts
from attnscope.models.subject import Description, Subject
from attnscope.models.tokens import Token
from attnscope.models.writing import Writing

__all__ = [
    "Axis", "Description", "Kept", "Look", "Prediction", "Subject", "Token", "Writing", "axis_of",
    "look_of", "open_model", "open_recording", "record_text", "record_texts", "shipped_models",
]  # fmt: skip
