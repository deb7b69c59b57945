"""Errors of an API server, and the kinds of errors that a reflector handles specially."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..errors import KcacheError

GONE: Final = 410
TOO_MANY_REQUESTS: Final = 429
GATEWAY_TIMEOUT: Final = 504
INTERNAL_ERROR: Final = 500

EXPIRED: Final = "Expired"
TOO_LARGE_CAUSE: Final = "ResourceVersionTooLarge"
_TOO_LARGE_TEXT: Final = "Too large resource version"


class ApiError(KcacheError):
    """The server rejected a request, or could not be reached (``apierrors.StatusError``).

    Attributes:
        code: the HTTP status; 0 if there was no answer.
        reason: the machine-readable reason, such as ``Expired``.
        message: the server's message.
        causes: the reasons of the causes, in the server's details.
    """

    def __init__(self, code: int, reason: str = "", message: str = "", causes: tuple[str, ...] = ()) -> None:
        super().__init__(message or reason or f"the server answered with status {code}")
        self.code = code
        self.reason = reason
        self.message = message
        self.causes = causes


class ConnectionRefusedApiError(ApiError):
    """The connection to the server was refused; the server may return."""

    def __init__(self, message: str = "connection refused") -> None:
        super().__init__(0, "", message)


def error_from_status(status: object) -> ApiError:
    """Convert a ``Status`` object (a manifest, or a client's model) into an error."""
    if isinstance(status, ApiError):
        return status
    causes = _field(_field(status, "details"), "causes")
    code, reason, message = (_field(status, name) for name in ("code", "reason", "message"))
    return ApiError(
        code if isinstance(code, int) else INTERNAL_ERROR,
        reason if isinstance(reason, str) else "",
        message if isinstance(message, str) else f"the server sent an error: {status!r:.200}",
        tuple(str(_field(cause, "reason") or "") for cause in causes) if isinstance(causes, list | tuple) else (),
    )


def _field(obj: object, name: str) -> object:
    """A field of a manifest, or of a client's model; ``None`` if it is absent."""
    return obj.get(name) if isinstance(obj, Mapping) else getattr(obj, name, None)


def is_expired(error: BaseException) -> bool:
    """Whether a resource version or continue token is too old (``apierrors.IsResourceExpired``, ``IsGone``)."""
    return isinstance(error, ApiError) and (error.code == GONE or error.reason == EXPIRED)


def is_too_large_resource_version(error: BaseException) -> bool:
    """Whether the server has not reached the resource version yet (``isTooLargeResourceVersionError``)."""
    if not isinstance(error, ApiError):
        return False
    return TOO_LARGE_CAUSE in error.causes or (error.code == GATEWAY_TIMEOUT and _TOO_LARGE_TEXT in error.message)


def is_worth_watching_again(error: BaseException) -> bool:
    """Whether the server is absent or busy, so that a watch can resume where it ended (``isWatchErrorRetriable``)."""
    return isinstance(error, ConnectionRefusedApiError | ConnectionRefusedError) or (
        isinstance(error, ApiError) and error.code == TOO_MANY_REQUESTS
    )


def is_internal_error(error: BaseException) -> bool:
    """Whether the server failed (``apierrors.IsInternalError``)."""
    return isinstance(error, ApiError) and error.code == INTERNAL_ERROR
