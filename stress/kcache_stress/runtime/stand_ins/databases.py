"""Module ``_sqlite3`` of a virtual world: the real module, but waits for a locked database let other threads go on.

All virtual threads run in one thread of the process: while SQLite waits in C for a lock, the holder of the lock cannot
go on. So connections are opened without a busy timeout, and this module waits on the virtual clock instead: a call is
repeated when another call has ended. SQLite and this module fail at once if a transaction that has read wants to write
while another transaction writes (https://sqlite.org/c3ref/busy_handler.html), and if a table of a shared cache is
locked.

Each call is one step. A query reads all of its rows at once: a cursor that was read in part would keep its lock for as
long as the explorer holds a reference to the cursor.
"""

from __future__ import annotations

import _sqlite3
import contextlib
import re
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any, Final, Literal, TypeVar

from ...engine.events import WRITE, UnknownAccess
from ..threads.refusal import where
from ..threads.scheduler import Scheduler
from .network import Changing, Network, Wakeup

T = TypeVar("T")

_BUSY: Final = 5
_BUSY_SNAPSHOT: Final = 517
_POSITIONAL: Final = (
    *("database", "timeout", "detect_types", "isolation_level", "check_same_thread"),
    *("factory", "cached_statements", "uri"),
)
"""The parameters of ``sqlite3.connect`` in their order."""
_COMMENTS: Final = re.compile(r"(\s|--[^\n]*(\n|$)|/\*.*?\*/)*", re.DOTALL)
_DEFERRED: Final = re.compile(r"begin\b(?!\s*(immediate|exclusive))", re.IGNORECASE)
_COMMIT: Final = re.compile(r"(commit|end|release)\b", re.IGNORECASE)
_TIMEOUT: Final = re.compile(r"pragma\s+busy_timeout\s*(?:=\s*([+-]?\d+)|\(\s*([+-]?\d+)\s*\))?", re.IGNORECASE)
_SYNCHRONOUS: Final = re.compile(r"pragma\s+(?:\w+\.)?synchronous\s*(?:=\s*(\w+)|\(\s*(\w+)\s*\))?", re.IGNORECASE)
"""The pragma for durability after a power loss. It is switched off: it is slow, and no thread can observe it."""
_opened: Final[list[Any]] = []
"""The connections of the last execution in any world: all worlds share files and databases in memory."""
_cursors: Final[list[weakref.ref[Any]]] = []
_LEVELS: Final = {"0": 0, "off": 0, "1": 1, "normal": 1, "2": 2, "full": 2, "3": 3, "extra": 3}


class _Waiting(Wakeup):
    __slots__ = ()
    what = "a locked database"


class Databases(Changing):
    """The databases of one execution. One lock guards them all, because a connection may attach several databases."""

    def __init__(self, network: Network) -> None:
        super().__init__(network)
        self.scheduler: Scheduler = network.scheduler
        self._wakeup = type("_Waiting", (_Waiting,), {"scheduler": self.scheduler, "__slots__": ()})

    def start_over(self) -> None:
        """Close the connections that an execution has left open: they hold files and locks that the next one needs."""
        self._watchers = []
        for cursor in filter(None, (reference() for reference in _cursors)):
            with contextlib.suppress(_sqlite3.Error):
                _sqlite3.Cursor.close(cursor)  # its last statement would keep the connection open
        _cursors.clear()
        while _opened:
            with contextlib.suppress(_sqlite3.Error):
                _sqlite3.Connection.close(_opened.pop())

    def attempt(self, connection: Any, does: Callable[[], T], *, commits: bool = False) -> T:
        """Perform a call as one step. If the database is locked, repeat it after other calls, until the timeout.

        Raises:
            sqlite3.Error: the call raised it, or the database was not unlocked in time.
        """
        deadline, is_last = None, False
        if self.scheduler.tracer is None:  # without a lock of the program, calls of several threads prove nothing
            slot = UnknownAccess(where(sys._getframe(1)), "each call of sqlite3 is one step")
            self.scheduler.access(self, slot, WRITE)
        changes = connection.total_changes if connection.is_open else 0
        while True:
            with self.lock:
                try:
                    result = does()
                except _sqlite3.OperationalError as error:
                    seconds = connection.busy_seconds
                    has_changed = connection.is_open and connection.total_changes != changes
                    if is_last or seconds <= 0 or has_changed or not connection.would_wait(error, commits):
                        self.changed()
                        raise
                    wakeup = self._wakeup()
                    self.watch(wakeup)
                else:
                    self.changed()
                    return result
            if deadline is None:
                deadline = self.scheduler.deadline(seconds)
            is_last = not wakeup.wait(deadline)


def make_sqlite_module(databases: Databases) -> ModuleType:
    """Create the stand-in for ``_sqlite3``."""
    scheduler = databases.scheduler
    real_cursor: Any = _sqlite3.Cursor
    real_connection: Any = _sqlite3.Connection

    class Cursor(real_cursor):  # type: ignore[misc]
        """``sqlite3.Cursor``."""

        def __init__(self, connection: Any) -> None:
            super().__init__(connection)
            _cursors.append(weakref.ref(self))
            self._kcache_rows: deque[Any] = deque()

        def _run(self, sql: str, does: Callable[[], object]) -> Any:
            connection = self.connection
            connection.require_thread()
            self._kcache_rows.clear()
            timeout, safety = _match(_TIMEOUT, sql), _match(_SYNCHRONOUS, sql)

            def call() -> None:
                does()
                self._kcache_rows.extend(real_cursor.fetchall(self))

            databases.attempt(connection, call, commits=_begins(_COMMIT, sql))
            if timeout is not None:
                connection.set_timeout(timeout[1] or timeout[2])
                self._kcache_rows = deque([(int(connection.busy_seconds * 1000),)])
            if safety is not None and not (safety[1] or safety[2]):
                self._kcache_rows = deque([(connection.synchronous,)])
            elif safety is not None:
                connection.synchronous = _LEVELS.get((safety[1] or safety[2]).lower(), 2)
                connection.set("synchronous = off")
            connection.has_begun(sql)
            return self

        def execute(self, sql: str, parameters: Any = (), /) -> Any:
            """Run a statement."""
            return self._run(sql, lambda: real_cursor.execute(self, sql, parameters))

        def executemany(self, sql: str, parameters: Iterable[Any], /) -> Any:
            """Run a statement once for each set of parameters."""
            rows = list(parameters)
            return self._run(sql, lambda: real_cursor.executemany(self, sql, rows))

        def executescript(self, sql: str, /) -> Any:
            """Run several statements."""
            return self._run(sql, lambda: real_cursor.executescript(self, sql))

        def _taken(self, count: int | None) -> list[Any]:
            self.connection.require_thread()
            if scheduler.live and not scheduler.aborting:
                scheduler.touch(self, "rows", 1)
            size = len(self._kcache_rows) if count is None else min(count, len(self._kcache_rows))
            return [self._kcache_rows.popleft() for _ in range(size)]

        def fetchone(self) -> Any:
            """Return the next row; ``None`` if there is none."""
            return next(iter(self._taken(1)), None)

        def fetchmany(self, size: int | None = None) -> list[Any]:
            """Return the next ``size`` rows, ``arraysize`` by default."""
            return self._taken(self.arraysize if size is None else size)

        def fetchall(self) -> list[Any]:
            """Return all remaining rows."""
            return self._taken(None)

        def __iter__(self) -> Iterator[Any]:
            return self

        def __next__(self) -> Any:
            rows = self._taken(1)
            if not rows:
                raise StopIteration
            return rows[0]

    class Connection(real_connection):  # type: ignore[misc]
        """``sqlite3.Connection``."""

        is_open = False
        busy_seconds = 5.0
        synchronous = 2
        _kcache_maker: int | None = None
        _kcache_has_read = False

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            arguments = dict(zip(_POSITIONAL, args, strict=False)) | kwargs
            self.busy_seconds = float(arguments.pop("timeout", 5.0))
            self._kcache_maker = scheduler.current if arguments.pop("check_same_thread", True) else None
            database = arguments.pop("database")
            with _unwatched():
                super().__init__(database, timeout=0.0, check_same_thread=False, **arguments)
            self.is_open = True
            with contextlib.suppress(_sqlite3.Error):
                self.synchronous = self.set("synchronous")[0][0]
                self.set("synchronous = off")
            _opened.append(self)

        def require_thread(self) -> None:
            """Raise SQLite's ProgrammingError if another thread created the connection and it checks threads."""
            maker, current = self._kcache_maker, scheduler.current
            if maker is not None and maker != current and scheduler.live and not scheduler.aborting:
                raise _sqlite3.ProgrammingError(
                    "SQLite objects created in a thread can only be used in that same thread. The object was created "
                    f"in thread id {maker} and this is thread id {current}."
                )

        def would_wait(self, error: Any, commits: bool) -> bool:
            """Whether SQLite would wait after ``error``. It does not in a transaction that has read: a deadlock."""
            code = error.sqlite_errorcode
            return code & 0xFF == _BUSY and code != _BUSY_SNAPSHOT and (commits or not self._kcache_has_read)

        def has_begun(self, sql: str) -> None:
            """Record after a statement whether the open transaction has read or written."""
            self._kcache_has_read = self.is_open and self.in_transaction and not _begins(_DEFERRED, sql)

        def set_timeout(self, milliseconds: str | None) -> None:
            """Set the timeout as ``pragma busy_timeout`` does; ``None`` (the pragma reads it) changes nothing."""
            if milliseconds is not None:
                self.busy_seconds = max(0, int(milliseconds)) / 1000
                self.set("busy_timeout = 0")

        def set(self, pragma: str) -> list[Any]:
            """Run a pragma of the connection; return its rows."""
            plain = real_connection.cursor(self, real_cursor)
            plain.row_factory = None
            return list(real_cursor.fetchall(real_cursor.execute(plain, f"pragma {pragma}")))

        def cursor(self, factory: Any = Cursor) -> Any:
            """Create a cursor."""
            self.require_thread()
            return super().cursor(factory)

        def execute(self, *args: Any) -> Any:
            """Run a statement with a new cursor."""
            return self.cursor().execute(*args)

        def executemany(self, *args: Any) -> Any:
            """Run a statement once for each set of parameters, with a new cursor."""
            return self.cursor().executemany(*args)

        def executescript(self, *args: Any) -> Any:
            """Run several statements with a new cursor."""
            return self.cursor().executescript(*args)

        def _ended(self, does: Callable[[], object]) -> None:
            self.require_thread()
            databases.attempt(self, does, commits=True)
            self._kcache_has_read = False

        def commit(self) -> None:
            """Commit the transaction."""
            self._ended(super().commit)

        def rollback(self) -> None:
            """Roll the transaction back."""
            self._ended(super().rollback)

        def close(self) -> None:
            """Close the connection."""
            self.require_thread()
            databases.attempt(self, super().close)
            self.is_open = False

        def __enter__(self) -> Any:
            return self

        def __exit__(self, kind: Any, error: Any, trace: Any) -> Literal[False]:
            if kind is not None:
                self.rollback()
                return False
            try:
                self.commit()
            except BaseException:
                self.rollback()
                raise
            return False

    def connect(*args: Any, **kwargs: Any) -> Any:
        """Open a connection like ``sqlite3.connect``."""
        factory = (dict(zip(_POSITIONAL, args, strict=False)) | kwargs).get("factory", Connection)
        return factory(*args, **kwargs)

    for kind in (Cursor, Connection):
        kind.__module__, kind.__qualname__ = "sqlite3", kind.__name__
    module = ModuleType("_sqlite3")
    own = {"Cursor": Cursor, "Connection": Connection, "connect": connect}
    module.__dict__.update({name: value for name, value in vars(_sqlite3).items() if not name.startswith("__")} | own)
    return module


@contextlib.contextmanager
def _unwatched() -> Iterator[None]:
    """Context without a trace function: SQLite calls Python functions of its own, which must not be traced."""
    watcher = sys.gettrace()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(watcher)


def _match(pattern: re.Pattern[str], sql: str) -> re.Match[str] | None:
    """Match a pattern after leading whitespace and comments."""
    blank = _COMMENTS.match(sql)
    return pattern.match(sql, 0 if blank is None else blank.end())


def _begins(pattern: re.Pattern[str], sql: str) -> bool:
    return _match(pattern, sql) is not None
