"""What a request's body asks for: a JSON object, or a refusal that says what is wanted."""

from __future__ import annotations

import json
from typing import Any

from attnscope.plain import json_limit
from attnscope.web.refusals import Refusal


def wish(body: bytes, wanted: str) -> dict[str, Any]:
    """Return the object in a body; Refusal 400 with `wanted` where it holds none."""
    try:
        found: Any = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, f"The request's body is not JSON{json_limit(error)}", wanted=wanted) from error
    if not isinstance(found, dict):
        raise Refusal(400, "The request's body is no JSON object", wanted=wanted)
    return found
