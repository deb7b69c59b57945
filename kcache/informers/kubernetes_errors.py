"""Errors of the official client, converted into :class:`~.api_errors.ApiError`."""

from __future__ import annotations

import json
import re
from typing import Any

from .api_errors import ApiError, ConnectionRefusedApiError, error_from_status

_GAVE_UP = re.compile(r"too many (\d{3}) error responses")
"""The message of urllib3 after it has repeated a request, always with this answer."""


def api_error(error: Exception) -> Exception:
    """Convert an error of the client or of urllib3 into an ApiError; return other errors unchanged."""
    import urllib3.exceptions
    from kubernetes.client.exceptions import ApiException

    if isinstance(error, ApiException):
        return _error_of_answer(error)
    if not isinstance(error, urllib3.exceptions.HTTPError):
        return error
    if _has_refused_connection(error):
        return ConnectionRefusedApiError(str(error))
    repeated = _GAVE_UP.search(str(error))
    return ApiError(int(repeated[1]) if repeated else 0, "", str(error))


def _error_of_answer(error: Any) -> ApiError:
    code = error.status if isinstance(error.status, int) else 0
    try:
        status = json.loads(error.body)
    except (TypeError, ValueError):
        status = None
    if not isinstance(status, dict) or status.get("kind") != "Status":
        return ApiError(code, "", f"({code}) {error.reason}")
    return error_from_status({**status, "code": code})


def _has_refused_connection(error: BaseException | None) -> bool:
    """Whether the chain of causes contains a refused connection; urllib3's causes are the attribute ``reason``."""
    seen = set[int]()
    while isinstance(error, BaseException) and id(error) not in seen:
        if isinstance(error, ConnectionRefusedError):
            return True
        seen.add(id(error))
        reason = getattr(error, "reason", None)
        error = reason if isinstance(reason, BaseException) else error.__cause__ or error.__context__
    return False
