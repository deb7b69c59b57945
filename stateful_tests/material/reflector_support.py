"""A scripted server, a clock that skips, and stores that note what they are told: what the tests of reflectors use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kcache.informers.api_errors import ApiError
from kcache.informers.list_watch import ERROR, ListOptions, ListWatch, WatchEvent
from kcache.informers.list_watch import ObjectList as Page
from kcache.informers.reflector import Reflector
from kcache.informers.stopping import StopSignal
from stateful_tests.material.informer_support import WATCHDOG_SECONDS, in_thread

EXPIRED = ApiError(410, "Expired", "too old resource version")
TOO_LARGE = ApiError(504, "Timeout", "Too large resource version: 10, current: 5", ("ResourceVersionTooLarge",))
BUSY = ApiError(429, "TooManyRequests", "busy")
INTERNAL = ApiError(500, "InternalError", "etcd is away")


def new_obj(name: str, version: str) -> dict[str, Any]:
    """An object of that resource version."""
    return {"metadata": {"name": name, "namespace": "a", "resourceVersion": version}}


def new_event(kind: str, name: str, version: str) -> WatchEvent:
    """A change of such an object."""
    return WatchEvent(kind, new_obj(name, version))


def error_event(error: ApiError) -> WatchEvent:
    """The event by which a watch says that it has failed."""
    return WatchEvent(ERROR, {"kind": "Status", "code": error.code, "reason": error.reason, "message": error.message})


class SkippingClock:
    """A clock on which waiting takes no time, and is noted."""

    def __init__(self) -> None:
        self._now = 0.0
        self.waits: list[float] = []

    def now(self) -> float:
        return self._now

    def wait(self, stop: StopSignal, seconds: float) -> bool:
        if not stop.is_set():
            self.waits.append(seconds)
            self._now += seconds
        return stop.is_set()

    def step(self, seconds: float) -> None:
        self._now += seconds


class RecordingStore:
    """Notes what is written, and what after the stop; raises where it is told to."""

    def __init__(self, stop: StopSignal | None = None) -> None:
        self.log: list[str] = []
        self.late: list[str] = []
        self.errors: dict[str, Exception] = {}
        self.stop = stop
        self.objects: list[Any] = []
        self.call: dict[str, Callable[[], object]] = {}

    def _write(self, what: str, *objects: Any) -> None:
        if self.stop is not None and self.stop.is_set():
            self.late.append(what)
        self.call.get(what, bool)()
        if what in self.errors:
            raise self.errors[what]
        self.log.append(what)
        self.objects += objects

    def add(self, obj: Any) -> None:
        self._write(f"add {shown(obj)}", obj)

    def update(self, obj: Any) -> None:
        self._write(f"update {shown(obj)}", obj)

    def delete(self, obj: Any) -> None:
        self._write(f"delete {shown(obj)}", obj)

    def replace(self, objs: Iterable[Any], resource_version: str = "") -> None:
        objects = list(objs)
        self._write(f"replace {' '.join(map(shown, objects))} rv={resource_version}", *objects)

    def resync(self) -> None:
        self._write("resync")


class BookmarkStore(RecordingStore):
    """Wants bookmarks, too."""

    def bookmark(self, resource_version: str) -> None:
        self._write(f"bookmark {resource_version}")


def shown(obj: Any) -> str:
    """``name@version``."""
    return f"{obj['metadata']['name']}@{obj['metadata']['resourceVersion']}" if isinstance(obj, dict) else str(obj)


Reply = Any
"""A page, the events of a watch, an error to raise, or a function that returns or raises one of them."""


class ScriptedServer:
    """Answers as the script says, and sets ``stop`` once it has come to its end."""

    def __init__(self, stop: StopSignal, *script: tuple[str, Reply]) -> None:
        self.stop = stop
        self.calls: list[str] = []
        self.options: list[ListOptions] = []
        self._script = list(script)

    def list(self, options: ListOptions) -> Any:
        token = f" continue={options.continue_token}" if options.continue_token else ""
        return self._reply("LIST", options, f'LIST rv="{options.resource_version}" limit={options.limit}{token}')

    def watch(self, options: ListOptions) -> Any:
        bookmarks = "true" if options.allow_watch_bookmarks else "false"
        return self._reply("WATCH", options, f'WATCH rv="{options.resource_version}" bookmarks={bookmarks}')

    def _reply(self, kind: str, options: ListOptions, call: str) -> Any:
        if not self._script:
            self.stop.set()
            raise ConnectionError("the script has ended")
        expected, reply = self._script.pop(0)
        self.calls.append(call)
        self.options.append(options)
        assert kind == expected, self.calls
        if callable(reply):
            reply = reply()
        if isinstance(reply, Exception):
            raise reply
        return reply


def lists(*objects: dict[str, Any], rv: str, token: str = "") -> tuple[str, Reply]:
    """The next request is a list, and shows these objects."""
    return "LIST", Page(list(objects), rv, token)


def list_fails(error: Exception) -> tuple[str, Reply]:
    """The next request is a list, and fails."""
    return "LIST", error


def watches(*events: WatchEvent | Exception) -> tuple[str, Reply]:
    """A watch that shows the events and ends, or raises."""

    def stream() -> Iterator[WatchEvent]:
        for event in events:
            if isinstance(event, Exception):
                raise event
            yield event

    return "WATCH", stream


def watch_fails(error: Exception) -> tuple[str, Reply]:
    """The next request is a watch, and fails."""
    return "WATCH", error


@dataclass
class Outcome:
    """What has come of a run."""

    calls: list[str]
    options: list[ListOptions]
    errors: list[Exception]
    waits: list[float]
    reflector: Reflector
    store: RecordingStore


def run_reflector(*script: tuple[str, Reply], store: RecordingStore | None = None, **settings: Any) -> Outcome:
    """Run a reflector to the end of the script."""
    stop, clock, errors = StopSignal(), SkippingClock(), list[Exception]()
    server = ScriptedServer(stop, *script)
    store = store or RecordingStore()
    settings.setdefault("watch_error_handler", lambda _, error: errors.append(error))
    settings.setdefault("clock", clock)
    reflector = Reflector(ListWatch(server.list, server.watch), store, type_description="pods", **settings)
    in_thread(reflector.run, stop).result(WATCHDOG_SECONDS)
    assert server._script == []
    return Outcome(server.calls, server.options, errors, clock.waits, reflector, store)
