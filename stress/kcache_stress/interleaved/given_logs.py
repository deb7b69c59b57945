"""Replacement of ``caplog`` under the explorer: collects the log records of a test without pytest's handler."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, MutableSequence
from types import ModuleType
from typing import Any, Final

from .running import refuse, unseen

_FORMAT: Final = "%(levelname)-8s %(name)s:%(filename)s:%(lineno)d %(message)s"


class _Handler:
    """Handler that stores records. It has no lock, unlike ``logging.Handler``: a fixture must not order the threads."""

    def __init__(self) -> None:
        self.level = logging.NOTSET
        self.records: list[logging.LogRecord] = []

    def handle(self, record: logging.LogRecord) -> bool:
        """Store a record. The logger calls this method in the thread that logs."""
        self.records.append(record)
        return True

    def setLevel(self, level: int | str) -> None:  # noqa: N802 - as logging calls it
        """Set the level below which loggers do not pass records to this handler."""
        self.level = logging._checkLevel(level)  # type: ignore[attr-defined]


class Logs:
    """``caplog`` for the ``logging`` module that the test imports.

    Args:
        module: module of the test.
    """

    def __init__(self, module: ModuleType) -> None:
        self._logging: ModuleType = eval("__import__", vars(module))("logging")
        self._levels: dict[str | None, int] = {}
        self._handler = _Handler()
        self._root: Any = self._logging.getLogger()
        self._root.addHandler(self._handler)

    @property
    def handler(self) -> Any:
        """The handler that is attached to the root logger."""
        return self._handler

    @property
    def records(self) -> MutableSequence[logging.LogRecord]:
        """The records that were logged since the test began, or since :meth:`clear`."""
        unseen("caplog.records reads the log")
        return self._handler.records

    @property
    def messages(self) -> list[str]:
        """The messages of the records, with their arguments inserted."""
        return [record.getMessage() for record in self.records]

    @property
    def record_tuples(self) -> list[tuple[str, int, str]]:
        """Logger, level and message of each record."""
        return [(record.name, record.levelno, record.getMessage()) for record in self.records]

    @property
    def text(self) -> str:
        """The formatted records, one per line."""
        formatter = logging.Formatter(_FORMAT)
        return "".join(f"{formatter.format(record)}\n" for record in self.records)

    def get_records(self, when: str) -> list[logging.LogRecord]:
        """Return the records of the phase ``call``; other phases have no records here."""
        return list(self.records) if when == "call" else []

    def clear(self) -> None:
        """Delete the records."""
        self.records.clear()

    def set_level(self, level: int | str, logger: str | None = None) -> None:
        """Change the level of a logger until the test ends."""
        unseen("caplog.set_level() changes the level of a logger")
        chosen: Any = self._logging.getLogger(logger)
        self._levels.setdefault(logger, chosen.level)
        chosen.setLevel(level)
        self._handler.setLevel(level)

    @contextlib.contextmanager
    def at_level(self, level: int | str, logger: str | None = None) -> Iterator[None]:
        """Context in which a logger and the handler have another level."""
        unseen("caplog.at_level() changes the level of a logger")
        chosen: Any = self._logging.getLogger(logger)
        before, own = chosen.level, self._handler.level
        chosen.setLevel(level)
        self._handler.setLevel(level)
        try:
            yield
        finally:
            chosen.setLevel(before)
            self._handler.level = own
            unseen("caplog.at_level() changes the level of a logger")

    def close(self) -> None:
        """Remove the handler and restore the levels of the loggers."""
        self._root.removeHandler(self._handler)
        for logger, level in self._levels.items():
            self._logging.getLogger(logger).setLevel(level)

    def __getattr__(self, name: str) -> Any:
        """Refuse the other attributes, such as ``filtering`` and ``force_enable_logging``: they need pytest."""
        refuse(f"uses caplog.{name}, which only pytest itself offers")
