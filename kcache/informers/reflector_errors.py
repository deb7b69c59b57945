"""Errors that a reflector passes to its watch error handler."""

from __future__ import annotations

from ..errors import KcacheError


class ReflectorError(KcacheError):
    """An attempt to list and watch has failed; the reflector tries again after its back-off.

    Attributes:
        type_description: the name of the objects.
        cause: the error that was raised.
    """

    def __init__(self, message: str, type_description: str, cause: BaseException) -> None:
        super().__init__(message)
        self.type_description = type_description
        self.cause = cause


class ListError(ReflectorError):
    """The objects could not be listed."""

    def __init__(self, type_description: str, cause: BaseException) -> None:
        super().__init__(f"failed to list {type_description}: {cause}", type_description, cause)


class SyncError(ReflectorError):
    """The store rejected the list."""

    def __init__(self, type_description: str, cause: BaseException) -> None:
        super().__init__(f"unable to sync list result of {type_description}: {cause}", type_description, cause)


class WatchError(ReflectorError):
    """The changes could not be watched, or the watch ended with an error."""

    def __init__(self, type_description: str, cause: BaseException) -> None:
        super().__init__(f"failed to watch {type_description}: {cause}", type_description, cause)


class VeryShortWatchError(KcacheError):
    """A watch ended at once without an event; the next watch would, too (client-go ``VeryShortWatchError``)."""

    def __init__(self) -> None:
        super().__init__("very short watch: it lasted less than a second and no items were received")
