"""What the server answers with beside JSON: raw numbers, files, and how long a browser may keep them."""

from __future__ import annotations

import json
from collections.abc import Sequence

import torch
from starlette.responses import Response
from torch import Tensor

from attnscope.web.results import seal_of
from attnscope.web.views import Views

POLLED = {"Cache-Control": "no-store"}
# A run's id names its model, its text and this server, so its numbers never change.
FIXED = {"Cache-Control": "private, max-age=3600, immutable"}

TYPES = {  # of every export of any page
    "html": "text/html; charset=utf-8",
    "png": "image/png",
    "svg": "image/svg+xml",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
    "npz": "application/zip",
}


def floats(values: Tensor, **headers: str) -> Response:
    """Numbers of any shape as they travel, with their shape beside them."""
    numbers = values.to(torch.float32).contiguous().numpy().astype("<f4", copy=False)
    return raw(numbers.tobytes(), values.shape, **headers)


def raw(numbers: bytes, shape: Sequence[int], **headers: str) -> Response:
    """Numbers that are little-endian bytes already."""
    beside = {"X-Shape": ",".join(map(str, shape)), **FIXED, **headers}
    return Response(numbers, media_type="application/octet-stream", headers=beside)


def file(content: bytes, name: str, headers: dict[str, str]) -> Response:
    """A file that the browser keeps under this name, whose ending is one of TYPES."""
    kept = {"Content-Disposition": f'attachment; filename="{name}"', **headers}
    return Response(content, media_type=TYPES[name.rpartition(".")[2]], headers=kept)


def seal(views: Views, site: int, head: int) -> dict[str, str]:
    """The header that carries a head's certificate: JSON in ASCII."""
    return {"X-Certificate": json.dumps(seal_of(views.sites[site], head, views.look.batch))}
