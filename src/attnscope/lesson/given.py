"""What an experiment is given: each parameter of the kind its annotation says, however PyTorch is set."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import torch

from attnscope.errors import LessonError

P = ParamSpec("P")
Result = TypeVar("Result")


def checked(make: Callable[P, Result]) -> Callable[P, Result]:
    """Return `make` with each argument checked by its annotation, run on the CPU in float32 with gradients.

    A parameter that is annotated int, float, str, bool, or Sequence of one of these is of that kind when
    `make` sees it: NumPy's numbers become Python's, arrays and tensors become tuples. LessonError is raised
    for anything else. Other annotations are left to `make`. What the caller has set (a default device or
    dtype, inference mode) changes no number, and stands again afterwards.
    """
    kinds = {name: str(one.annotation) for name, one in inspect.signature(make).parameters.items()}

    @functools.wraps(make)
    def called(*args: P.args, **kwargs: P.kwargs) -> Result:
        for name, value in kwargs.items():
            kwargs[name] = of_kind(name, value, kinds.get(name, ""))
        with _common_ground():
            return make(*args, **kwargs)

    return called


def check_whole(name: str, given: object, least: int, most: int) -> None:
    """Raise LessonError unless `given` is a whole number from `least` to `most`."""
    if not isinstance(given, int) or isinstance(given, bool) or not least <= given <= most:
        raise LessonError(
            f"{name}={given!r:.40}", wanted=f"A whole number from {least:,} to {most:,} is wanted"
        )


def check_ascending(name: str, given: Sequence[int], most: int) -> None:
    """Raise LessonError unless `given` holds ascending whole numbers from 1 to `most`."""
    whole = len(given) > 0 and all(isinstance(one, int) and 1 <= one <= most for one in given)
    if not whole or list(given) != sorted(set(given)):
        raise LessonError(
            f"{name}={str(list(given))[:80]}", wanted=f"Ascending whole numbers from 1 to {most:,} are wanted"
        )


@contextmanager
def _common_ground() -> Iterator[None]:
    before = torch.get_default_dtype()
    if before != torch.float32:
        torch.set_default_dtype(torch.float32)
    try:
        with torch.device("cpu"), torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        if before != torch.float32:
            torch.set_default_dtype(before)


def of_kind(name: str, value: Any, kind: str) -> Any:
    """Return `value` as the kind that an annotation names. Raises LessonError."""
    within = kind.removeprefix("Sequence[").removesuffix("]")
    if within not in _KINDS:
        return value
    one, many, read = _KINDS[within]
    try:
        if kind == within:
            return read(value)
        if isinstance(value, str | bytes):
            raise TypeError
        return tuple(read(each) for each in (value.tolist() if hasattr(value, "tolist") else value))
    except (TypeError, ValueError, OverflowError):
        wanted = f"{one} is wanted" if kind == within else f"{many} are wanted, as in a list"
        raise LessonError(f"{name}={value!r:.60}", wanted=wanted) from None


def _whole(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError
    return operator.index(value)


def _real(value: Any) -> float:
    if isinstance(value, bool | str | bytes):
        raise TypeError
    return float(value.detach() if isinstance(value, torch.Tensor) else value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


_KINDS: dict[str, tuple[str, str, Callable[[Any], Any]]] = {
    "int": ("A whole number", "Whole numbers", _whole),
    "float": ("A number", "Numbers", _real),
    "str": ("A text", "Texts", _text),
    "bool": ("True or False", "True or False", _truth),
}
