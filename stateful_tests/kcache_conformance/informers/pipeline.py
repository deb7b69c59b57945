"""Run of a program: a server, an informer, handlers, and what happens to them, on real or virtual threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from kcache.informers.api_errors import TOO_LARGE_CAUSE, ApiError
from kcache_model.informers.comparing import index_value, key_of_object, known_objects, same_versions, wrong_index
from kcache_model.informers.stories import FirstSync

from .fake_server import FakeServer
from .manifests import Manifest
from .observer import Observer
from .witness import Witness

_LONGEST_PAUSE_SECONDS = 4.0
_SETTLED_LOOKS = 4
"""In a row. The explorer lets two pauses of an execution end although something else could go on; what has settled for
longer than that has settled."""
_LESS_PATIENT = 5
_PAUSES_FOR_THREADS = 100
"""Threads end before ``stop`` returns, or a moment later."""

_CHANGES = frozenset({"create", "update", "delete", "recreate"})
PROGRAM_THREAD = "kcache program"
"""What the names of the threads that run :meth:`Pipeline.works` begin with, where they are real."""

TRANSFORMED = "kcache/transformed"
"""The annotation in which the transformer counts how often it saw an object."""


@dataclass(frozen=True)
class Patience:
    """How long to wait for something that is to come.

    Attributes:
        pause_seconds: between the first two looks.
        pauses: how often to look before giving up.
        growth: how much longer each pause is than the one before, up to four seconds.
    """

    pause_seconds: float
    pauses: int
    growth: float = 1.0


@dataclass
class Noticed:
    """What a run showed, besides what its observers noted.

    Attributes:
        store: object by key when everything had settled, or had not within the patience; ``None`` if it was stopped.
        told: for each observer, how many calls it had had then.
        has_synced: what the informer said then.
        first_sync: how things were when it first said so; ``None`` if it never did.
        unsynced_handlers: the handlers whose registrations still said no after that.
        unsettled: who had not got to what the server has when it was time to go on.
        wrong_indices: what is wrong with indices that were added.
        after_stop: for each observer, how many calls it had had when ``stop`` had returned; ``None`` before.
        threads_left: names of the threads that were left after that.
        open_watches: the most watches that were open when everything had settled.
        watches_left: how many were still open after ``stop``.
    """

    store: dict[str, Any] | None = None
    told: list[int] = field(default_factory=list)
    has_synced: bool = True
    first_sync: FirstSync | None = None
    unsynced_handlers: list[str] = field(default_factory=list)
    unsettled: str | None = None
    wrong_indices: list[str] = field(default_factory=list)
    after_stop: list[int] | None = None
    threads_left: list[str] = field(default_factory=list)
    open_watches: int = 0
    watches_left: int = 0


class Pipeline:
    """One run.

    Args:
        program: what happens, an :class:`~kcache_model.informers.program.InformerProgram`.
        new_informer: makes the informer from a lister and watcher, and options.
        patience: how long to wait.
        unsupported: what the informer does not offer.
    """

    def __init__(
        self, program: Any, new_informer: Callable[..., Any], patience: Patience, unsupported: frozenset[str]
    ) -> None:
        self.program = program
        self.server = FakeServer()
        self.noticed = Noticed()
        self.observers: list[Observer] = []
        self._patience = patience
        self._unsupported = unsupported
        self._turn = threading.RLock()
        self._is_missing = False
        self._is_stopped = False
        self._indices: list[str] = []
        self._started = threading.Event()
        self._others_done = [threading.Event() for _ in program.threads[1:]]
        self._threads_before = set(threading.enumerate())
        for step in program.before:
            self._perform(step)
        self._catch_up()
        self.witness = Witness(self.server)
        self.informer = new_informer(self.witness, resync_seconds=program.resync_seconds)
        self.transforms = program.transforms and "set_transform" not in unsupported
        if self.transforms:
            self.informer.set_transform(transform)
        for _ in range(program.handlers):
            self._add_handler(is_first=True)
        with suppress(Exception):  # an answer before the start is not demanded, only that it is not "yes"
            self._look_at_sync(self.informer.has_synced(), {})

    def works(self) -> list[Callable[[], None]]:
        """What each thread does."""
        return [_one_after_another(own) for own in self.calls()]

    def calls(self) -> list[list[Callable[[], None]]]:
        """What each thread does, step by step: what its program says stands between a beginning and an end."""
        main: list[Callable[[], None]] = [self._begin, *map(self._step, self.program.threads[0]), self._end]
        return [main, *(self._other(number) for number in range(1, len(self.program.threads)))]

    def _step(self, step: Any) -> Callable[[], None]:
        return lambda: self._perform(step)

    def _begin(self) -> None:
        self.informer.start()
        self._started.set()

    def _await_start(self) -> None:
        self._started.wait()

    def _end(self) -> None:
        self._catch_up()
        for done in self._others_done:
            done.wait()
        self._release_all()
        if self._is_stopped:
            self.noticed.store = None
        else:
            self._settle()
            self._look_at_registrations()
            self._look_at_indices()
        self._stop()
        self._wait_for(lambda: not self._threads_left(), min(_PAUSES_FOR_THREADS, self._patience.pauses))
        self.noticed.threads_left = self._threads_left()
        self.noticed.watches_left = self.server.open_watches

    def _other(self, number: int) -> list[Callable[[], None]]:
        done = self._others_done[number - 1]

        def unless_it_fails(call: Callable[[], None]) -> Callable[[], None]:
            def attempt() -> None:
                try:
                    call()
                except BaseException:
                    done.set()
                    raise

            return attempt

        def end() -> None:
            self._catch_up()
            done.set()

        steps = map(self._step, self.program.threads[number])
        return [self._await_start, *map(unless_it_fails, (*steps, end))]

    def _perform(self, step: Any) -> None:
        name, argument = str(step.name), step.argument
        if name in _CHANGES:
            with self._turn:
                self._change(name, argument)
        elif hasattr(self, f"_do_{name}"):
            self._catch_up()
            getattr(self, f"_do_{name}")(argument)
        elif not self._is_stopped:
            self._catch_up()
            try:
                getattr(self, f"_ask_{name}")(argument)
            except Exception:
                if not self._is_stopped:
                    raise

    # What the server does.

    def _change(self, name: str, key: str) -> None:
        exists = f"default/{key}" in self.server.snapshot()
        with self.server.lose_events() if self._is_missing else _nothing():
            if name == "create" and not exists:
                self.server.create(key, value=0)
            elif exists and name == "create":
                self.server.update(key, value=int(self.server.resource_version))
            elif exists and name == "update":
                self.server.update_status(key, value=int(self.server.resource_version))
            elif exists:
                self.server.delete(key)
                if name == "recreate":
                    self.server.create(key, value=0)

    def _catch_up(self) -> None:
        """The end of what nobody saw: who watched is told that it missed something."""
        with self._turn:
            if self._is_missing:
                self._is_missing = False
                self._do_expire(0)

    def _do_miss(self, _: Any) -> None:
        with self._turn:
            self._is_missing = True

    def _do_cut(self, _: Any) -> None:
        self.server.cut_watches()

    def _do_expire(self, _: Any) -> None:
        with self._turn:
            self.server.compact()
            if self.server.expires_in_stream:
                self.server.end_watches_with_error(410, "Expired", "too old resource version")
            else:
                self.server.cut_watches()

    def _do_repeat(self, _: Any) -> None:
        with self._turn:
            changes = self.server.history()
            if changes:
                self.server.inject(changes[-1])

    def _do_refuse_expired(self, _: Any) -> None:
        self.server.expires_in_stream = False

    def _do_swap(self, name: str) -> None:
        with self._turn, _nothing() if "reordered_events" in self._unsupported else self.server.lose_events():
            for key in (name, chr(ord(name) + 1)):
                self._change("create", key)
            if "reordered_events" not in self._unsupported:
                for event in reversed(self.server.history()[-2:]):
                    self.server.inject(event)

    def _do_bookmark(self, _: Any) -> None:
        self.server.send_bookmark()

    def _do_refuse_lists(self, count: int) -> None:
        self.server.refuse_lists(count, ApiError(500, "InternalError", "the server is not well"))

    def _do_refuse_watches(self, count: int) -> None:
        self.server.refuse_watches(count, ApiError(429, "TooManyRequests", "too many requests"))

    def _do_too_large(self, _: Any) -> None:
        error = ApiError(504, "Timeout", "Too large resource version: 9, current: 1", (TOO_LARGE_CAUSE,))
        self.server.refuse_lists(1, error)

    def _do_go_back(self, changes: int) -> None:
        with self._turn:
            self.server.serve_stale(str(max(1, int(self.server.resource_version) - changes)))

    # What is done to the informer.

    def _ask_settle(self, _: Any) -> None:
        self._settle()

    def _ask_add_handler(self, _: Any) -> None:
        if "late_handlers" not in self._unsupported:
            self._add_handler(is_first=False)

    def _ask_remove_handler(self, number: int) -> None:
        if "remove_event_handler" not in self._unsupported and number < len(self.observers):
            observer = self.observers[number]
            observer.is_removed = True
            observer.release()
            self.informer.remove_event_handler(observer.registration)
            if observer.most_told is None:
                observer.most_told = len(observer.noted) + 1  # one call may be on its way

    def _ask_block_handler(self, number: int) -> None:
        if "slow_handlers" not in self._unsupported and number < len(self.observers):
            self.observers[number].block()

    def _ask_fail_handler(self, number: int) -> None:
        if number < len(self.observers):
            self.observers[number].fail_once()

    def _ask_release_handler(self, number: int) -> None:
        if number < len(self.observers):
            self.observers[number].release()

    def _ask_add_indexers(self, number: int) -> None:
        name = f"by-{number}"
        if "add_indexers" not in self._unsupported and name not in self._indices:
            self._indices.append(name)
            self.informer.add_indexers({name: index_value})

    def _ask_await_handler_sync(self, number: int) -> None:
        if "registration.has_synced" in self._unsupported or number >= len(self.observers):
            return
        observer = self.observers[number]
        if observer.is_removed:
            return
        observer.release()
        if self._wait_for(lambda: observer.is_removed or observer.registration.has_synced()):
            observer.synced_after = observer.ended

    def _ask_stop(self, _: Any) -> None:
        self._release_all()
        self._stop()

    def _add_handler(self, is_first: bool) -> None:
        observer = Observer(f"handler {len(self.observers)}", self._stored, is_first)
        observer.registration = self.informer.add_event_handler(observer)
        self.observers.append(observer)

    def _stored(self, obj: Any) -> Any:
        return self.informer.get_store().get_by_key(key_of_object(obj))

    def _stop(self) -> None:
        self._is_stopped = True
        self.informer.stop()
        if self.noticed.after_stop is None:
            self.noticed.after_stop = [len(observer.noted) for observer in self.observers]

    def _release_all(self) -> None:
        for observer in self.observers:
            observer.release()

    # Waiting and looking.

    def _settle(self) -> None:
        with self._turn:
            self.server.serve_stale(None)
        # Who has not settled once is wrong, whatever follows: to wait as long again would only delay the verdict.
        is_wrong = self.noticed.unsettled is not None
        pauses = self._patience.pauses // _LESS_PATIENT if is_wrong else self._patience.pauses
        if not self._wait_for(self._looks_settled, pauses, times=_SETTLED_LOOKS) and not is_wrong:
            self.server.stop_refusing()  # back-off grows with each refusal
            if not self._wait_for(self._looks_settled, times=_SETTLED_LOOKS):
                self.noticed.unsettled = self._unsettled()
        self.noticed.open_watches = max(self.noticed.open_watches, self.server.open_watches)
        for observer in self.observers:
            if observer.most_told is not None:
                observer.most_told = min(observer.most_told, len(observer.noted))

    def _looks_settled(self) -> bool:
        return self._is_stopped or self._unsettled() is None

    def _unsettled(self) -> str | None:
        """Look at everything; who does not show what the server has."""
        content = self.server.snapshot()
        self.noticed.has_synced = self.informer.has_synced()
        self.noticed.store = self._stored_objects()
        self.noticed.told = [len(observer.noted) for observer in self.observers]
        self._look_at_sync(self.noticed.has_synced, self.noticed.store)
        if not self.noticed.has_synced:
            return "has_synced()"
        if not same_versions(self.noticed.store, content):
            return "the store"
        for observer, count in zip(self.observers, self.noticed.told, strict=False):
            if not (
                observer.is_removed
                or observer.is_blocked
                or same_versions(known_objects(observer.noted[:count]), content)
            ):
                blocked = [other.name for other in self.observers if other.is_blocked]
                return f"{observer.name}{f', while {blocked[0]} was slow' if blocked else ''}"
        return None

    def _look_at_sync(self, has_synced: bool, stored: dict[str, Any]) -> None:
        """Note how things are, if this is the first time that the informer says so; the store was read after that."""
        if has_synced and self.noticed.first_sync is None:
            listed = self.witness.first_list
            self.noticed.first_sync = FirstSync(
                None if listed is None else tuple(map(key_of_object, listed)),
                frozenset(stored),
                frozenset(key_of_object(event.object) for event in self.server.history() if event.type == "DELETED"),
                self.witness.was_watched,
            )

    def _look_at_registrations(self) -> None:
        if "registration.has_synced" not in self._unsupported and self.noticed.unsettled is None:
            self._wait_for(lambda: not self._unsynced())
            self.noticed.unsynced_handlers = self._unsynced()

    def _unsynced(self) -> list[str]:
        observers = (observer for observer in self.observers if not observer.is_removed)
        return [observer.name for observer in observers if not observer.registration.has_synced()]

    def _look_at_indices(self) -> None:
        for name in self._indices:
            stored = self._stored_objects()
            self.noticed.wrong_indices += wrong_index(self.informer.get_store(), name, stored)

    def _stored_objects(self) -> dict[str, Any]:
        return {key_of_object(obj): obj for obj in self.informer.get_store().list()}

    def _wait_for(self, condition: Callable[[], Any], pauses: int | None = None, times: int = 1) -> bool:
        """Wait until the condition holds so many times in a row; whether it does."""
        pause_seconds = self._patience.pause_seconds
        left, held = pauses or self._patience.pauses, 0
        while True:
            held = held + 1 if condition() else 0
            if held == times or (not left and not held):
                return held == times
            time.sleep(pause_seconds)
            left = max(0, left - 1)
            pause_seconds = min(_LONGEST_PAUSE_SECONDS, pause_seconds * self._patience.growth)

    def _threads_left(self) -> list[str]:
        return [
            thread.name
            for thread in threading.enumerate()
            if thread not in self._threads_before
            and type(thread).__name__ != "_DummyThread"  # not started by threading: the explorer's
            and not thread.name.startswith(PROGRAM_THREAD)
        ]


def transform(obj: Manifest) -> Manifest:
    """A new object whose annotation says how often that was done."""
    annotations = obj["metadata"].get("annotations", {})
    count = int(annotations.get(TRANSFORMED, 0)) + 1
    return {**obj, "metadata": {**obj["metadata"], "annotations": {**annotations, TRANSFORMED: str(count)}}}


def _one_after_another(calls: Iterable[Callable[[], None]]) -> Callable[[], None]:
    def work() -> None:
        for call in calls:
            call()

    return work


@contextmanager
def _nothing() -> Iterator[None]:
    yield
