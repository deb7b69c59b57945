"""Errors of an API server, and the ``Status`` objects that carry them over a watch or over HTTP."""

from __future__ import annotations

from typing import Final

from kcache.informers.api_errors import EXPIRED, GATEWAY_TIMEOUT, GONE, INTERNAL_ERROR, TOO_LARGE_CAUSE, ApiError

from .manifests import Manifest

BAD_REQUEST: Final = 400
NOT_FOUND: Final = 404
CONFLICT: Final = 409


def bad_request(message: str) -> ApiError:
    """The request makes no sense."""
    return ApiError(BAD_REQUEST, "BadRequest", message)


def not_found(kind: str, key: str) -> ApiError:
    """There is no such object."""
    return ApiError(NOT_FOUND, "NotFound", f"{kind} {key!r} not found")


def already_exists(kind: str, key: str) -> ApiError:
    """There is such an object."""
    return ApiError(CONFLICT, "AlreadyExists", f"{kind} {key!r} already exists")


def expired(asked: int, oldest: int) -> ApiError:
    """The history no longer goes back to that resource version."""
    return ApiError(GONE, EXPIRED, f"too old resource version: {asked} ({oldest})")


def too_large_resource_version(asked: int, newest: int) -> ApiError:
    """The server has not got that far yet."""
    message = f"Timeout: Too large resource version: {asked}, current: {newest}"
    return ApiError(GATEWAY_TIMEOUT, "Timeout", message, (TOO_LARGE_CAUSE,))


def status_object(error: ApiError) -> Manifest:
    """The ``metav1.Status`` that says what ``error`` says; a code of 0 becomes 500."""
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
