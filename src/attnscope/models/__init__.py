"""Named models together with their tokenisers: one way to open and read them, for the command line and the
app.
"""

from attnscope.models.looking import Look
from attnscope.models.opening import open_model, shipped_models
from attnscope.models.predictions import Prediction
from attnscope.models.subject import Description, Subject
from attnscope.models.tokens import Token

__all__ = ["Description", "Look", "Prediction", "Subject", "Token", "open_model", "shipped_models"]
