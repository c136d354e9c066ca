"""A figure that a notebook shows by itself, whether or not pyplot was ever imported there."""

from __future__ import annotations

from matplotlib.figure import Figure


class ShownFigure(Figure):
    """A matplotlib figure that is a picture where it is the last thing in a cell.

    A plain Figure is one only after pyplot taught the notebook so, and nothing here imports pyplot.
    """

    def _repr_png_(self) -> bytes:
        """Return the picture as a notebook asks for it."""
        from attnscope.looks.drawing import png

        return png(self)
