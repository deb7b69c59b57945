"""Parser of the JSON that an API server sends."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any


@functools.cache
def json_parser() -> Callable[[bytes], Any]:
    """Return a function with the results of ``json.loads``; it uses pydantic_core if that is installed.

    The official client depends on pydantic_core since 37. It takes half the time, and objects share equal strings.
    """
    try:
        from pydantic_core import from_json
    except ImportError:
        return json.loads

    def parsed(text: bytes) -> Any:
        try:
            return from_json(text)
        except ValueError:
            return json.loads(text)  # accepts more, such as half of a surrogate pair; its error contains the position

    return parsed
