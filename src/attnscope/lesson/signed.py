"""Numbers with a sign as a picture: the page's map of differences, its middle at 0, both ends alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import LinearSegmentedColormap

_STOPS = [
    "#1e4798", "#1160ab", "#3f88cc", "#6fb1ea", "#a6d8ff", "#eff4f8", "#ffcba7", "#f09b65", "#d26c22",
    "#af3e00", "#8c3710",
]  # fmt: skip


def signed_map() -> LinearSegmentedColormap:
    """Return the page's map of differences: less, none, more."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("attnscope-signed", _STOPS)


def signed(axes: Axes, values: Tensor, *, most: float, across: str, down: str, title: str = "") -> None:
    """Draw values (r c) between -most and most, with the scale beside them."""
    picture = axes.imshow(
        values.detach().numpy(), cmap=signed_map(), vmin=-most, vmax=most, aspect="auto", interpolation="none"
    )
    axes.set_xlabel(across)
    axes.set_ylabel(down)
    axes.set_title(title)
    axes.figure.colorbar(picture, ax=axes, shrink=0.8).outline.set_visible(False)
