"""Values as JSON holds them: tensors as nested lists, float32 in its shortest form, infinities as words."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor


def plain(value: Any) -> Any:
    """Return `value` as JSON values: dict, list, str, bool, None, int and finite float.

    A float that is not finite becomes "inf", "-inf" or "nan", since JSON has no number for it. A tensor
    becomes nested lists; float32 and narrower floats are written as the shortest decimal that reads back as
    the same float32. A dataclass becomes a dict of its fields.
    """
    if isinstance(value, Tensor):
        return _tensor(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else _word(value)
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return value


def json_limit(error: ValueError | RecursionError) -> str:
    """Return which limit of Python's a text passed that may be JSON by the letter; "" where it is none."""
    if isinstance(error, RecursionError):
        return " that can be read: it is nested too deeply"
    if type(error) is ValueError:
        return " that can be read: a number in it has thousands of digits"
    return ""


def _tensor(value: Tensor) -> Any:
    if not value.is_floating_point():
        return value.tolist()
    if value.dtype == torch.float64:
        return plain(value.tolist())
    flat = [_short(x) for x in value.detach().float().cpu().numpy().ravel()]
    return _nested(flat, tuple(value.shape))


def _short(x: np.float32) -> float | str:
    return float(str(x)) if np.isfinite(x) else _word(float(x))


def _nested(flat: list[Any], shape: tuple[int, ...]) -> Any:
    if not shape:
        return flat[0]
    step = math.prod(shape[1:])
    return [_nested(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def _word(x: float) -> str:
    return "nan" if math.isnan(x) else ("inf" if x > 0 else "-inf")
