"""Errors of an API server, and the ``Status`` objects that carry them over a watch or over HTTP."""

from __future__ import annotations

from typing import Final

from kcache.informers.api_errors import INTERNAL_ERROR, ApiError

from .manifests import Manifest

BAD_REQUEST: Final = 400
NOT_FOUND: Final = 404
CONFLICT: Final = 409


def bad_request(message: str) -> ApiError:
    """Return the error 400 for an invalid request."""
    return ApiError(BAD_REQUEST, "BadRequest", message)


def status_object(error: ApiError) -> Manifest:
    """Return the ``metav1.Status`` with the content of ``error``; a code of 0 becomes 500."""
    status: Manifest = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": str(error),
        "reason": error.reason,
        "code": error.code or INTERNAL_ERROR,
    }
    if error.causes:
        status["details"] = {"causes": [{"reason": cause} for cause in error.causes]}
    return status
