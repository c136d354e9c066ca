"""The two routes that each kind of job has: how far one is, and its cancelling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Depends

from attnscope.web.answers import POLLED
from attnscope.web.job import Job
from attnscope.web.refusals import Json


def add_polling(api: APIRouter, path: str, find: Callable[..., Job[Any]]) -> None:
    """Add GET and DELETE of `path`. find: gives a job; its parameters are those of the path."""
    asked = Depends(find)

    @api.get(path)
    def state(job: Any = asked) -> Json:
        """The state of one."""
        return Json(job.to_dict(), headers=POLLED)

    @api.delete(path)
    def cancel(job: Any = asked) -> Json:
        """Cancel one."""
        job.cancel()
        return Json(job.to_dict(), headers=POLLED)
