"""Run of a program: a server, an informer, handlers, and the steps of the program, on real or virtual threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any

from kcache.informers.api_errors import TOO_LARGE_CAUSE, ApiError
from kcache_model.informers.broken_rules import known_after
from kcache_model.informers.comparing import TRANSFORMED, index_value, key_of_object, versions_of, wrong_index
from kcache_model.informers.program import StepName as S
from kcache_model.informers.stories import FirstSync, PipelineStory, Version

from .fake_server import FakeServer
from .manifests import Manifest
from .observer import Observer, Witness

_LONGEST_PAUSE_SECONDS = 4.0
_SETTLED_LOOKS = 4
"""Number of consecutive checks. The explorer may end two pauses of an execution although another thread could run; a
state that holds for more checks than that is settled."""
_LESS_PATIENT = 5
_PAUSES_FOR_THREADS = 100
"""Maximum number of pauses to wait for threads: they end before ``stop`` returns, or shortly after it."""

_CHANGES = frozenset({S.CREATE, S.UPDATE, S.DELETE, S.RECREATE})
_TO_A_HANDLER = frozenset({S.REMOVE_HANDLER, S.BLOCK_HANDLER, S.RELEASE_HANDLER, S.FAIL_HANDLER, S.AWAIT_HANDLER_SYNC})
_TO_THE_INFORMER = frozenset({*_TO_A_HANDLER, S.SETTLE, S.ADD_HANDLER, S.ADD_INDEXERS, S.STOP})
_NEEDS = {
    S.ADD_HANDLER: "late_handlers",
    S.REMOVE_HANDLER: "remove_event_handler",
    S.BLOCK_HANDLER: "slow_handlers",
    S.ADD_INDEXERS: "add_indexers",
    S.AWAIT_HANDLER_SYNC: "registration.has_synced",
}
"""Step -> the feature that an informer must support; otherwise the step is skipped."""

PROGRAM_THREAD = "kcache program"
"""Prefix of the names of the real threads that run :meth:`Pipeline.calls`."""


@dataclass(frozen=True)
class Patience:
    """Limits of waiting for a condition.

    Attributes:
        pause_seconds: the pause between the first two checks.
        pauses: the number of pauses before giving up.
        growth: the factor from each pause to the next; a pause never exceeds four seconds.
    """

    pause_seconds: float
    pauses: int
    growth: float = 1.0


class Pipeline:
    """One run of a program.

    Args:
        program: the program, an :class:`~kcache_model.informers.program.InformerProgram`.
        new_informer: creates the informer from a ``ListerWatcher`` and options.
        patience: limits of waiting.
        unsupported: features that the informer does not support.

    Attributes:
        story: the observations of the run, except for the records of the server and of the observers.
    """

    def __init__(
        self, program: Any, new_informer: Callable[..., Any], patience: Patience, unsupported: frozenset[str]
    ) -> None:
        self.program = program
        self.server = FakeServer()
        self.story = PipelineStory(store={})
        self.observers: list[Observer] = []
        self._patience = patience
        self.unsupported = unsupported
        self._turn = threading.RLock()
        self._is_missing = False
        self._is_stopped = self._has_stopped = False
        self._indices: list[str] = []
        self._started = threading.Event()
        self._others_done = [threading.Event() for _ in program.threads[1:]]
        self._threads_before = set(threading.enumerate())
        for step in program.before:
            self._perform(step)
        self._catch_up()
        self.witness = Witness(self.server)
        self.informer = new_informer(self.witness, resync_seconds=program.resync_seconds)
        self.story.transforms = program.transforms and "set_transform" not in unsupported
        if self.story.transforms:
            self.informer.set_transform(transform)
        for _ in range(program.handlers):
            self._add_handler(is_first=True)
        with suppress(Exception):  # before the start, has_synced() may raise, but must not return true
            self._look_at_sync(self.informer.has_synced(), {})

    def calls(self) -> list[list[Callable[[], None]]]:
        """The calls of each thread: a beginning, the steps of the program, and an end."""
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
        for other in self._others_done:
            other.wait()
        self._release_all()
        if self._is_stopped:
            self.story.store = None
        else:
            self._settle()
            self._look_at_registrations()
            self._look_at_indices()
        self._stop()
        self._wait_for(lambda: not self._threads_left(), min(_PAUSES_FOR_THREADS, self._patience.pauses))
        self.story.threads_left = self._threads_left()
        self.story.watches_left = self.server.open_watches

    def _other(self, number: int) -> list[Callable[[], None]]:
        finished = self._others_done[number - 1]

        def unless_it_fails(call: Callable[[], None]) -> Callable[[], None]:
            def attempt() -> None:
                try:
                    call()
                except BaseException:
                    finished.set()
                    raise

            return attempt

        def end() -> None:
            self._catch_up()
            finished.set()

        steps = map(self._step, self.program.threads[number])
        return [self._await_start, *map(unless_it_fails, (*steps, end))]

    def _perform(self, step: Any) -> None:
        name, argument = step.name, step.argument
        if name in _CHANGES:
            with self._turn:
                self._change(name, argument)
        elif name not in _TO_THE_INFORMER:
            self._catch_up()
            self._affect_server(name, argument)
        elif not self._is_stopped:
            self._catch_up()
            if _NEEDS.get(name) in self.unsupported:
                return
            try:
                if name not in _TO_A_HANDLER:
                    self._ask(name, argument)
                elif argument < len(self.observers):
                    self._ask_about(name, self.observers[argument])
            except Exception:
                if not self._is_stopped:
                    raise

    # Steps of the server.

    def _change(self, name: S, key: str) -> None:
        exists = f"default/{key}" in self.server.snapshot()
        with self.server.lose_events() if self._is_missing else nullcontext():
            if name is S.CREATE and not exists:
                self.server.create(key, value=0)
            elif exists and name is S.CREATE:
                self.server.update(key, value=int(self.server.resource_version))
            elif exists and name is S.UPDATE:
                self.server.update_status(key, value=int(self.server.resource_version))
            elif exists:
                self.server.delete(key)
                if name is S.RECREATE:
                    self.server.create(key, value=0)

    def _catch_up(self) -> None:
        """End the window of lost events, if there is one: expire all watches."""
        with self._turn:
            if self._is_missing:
                self._is_missing = False
                self._expire()

    def _expire(self) -> None:
        with self._turn:
            self.server.compact()
            if self.server.expires_in_stream:
                self.server.end_watches_with_error(410, "Expired", "too old resource version")
            else:
                self.server.cut_watches()

    def _affect_server(self, name: S, argument: Any) -> None:
        server = self.server
        match name:
            case S.MISS:
                with self._turn:
                    self._is_missing = True
            case S.CUT:
                server.cut_watches()
            case S.EXPIRE:
                self._expire()
            case S.REPEAT:
                with self._turn:
                    for event in server.history()[-1:]:
                        server.inject(event)
            case S.REFUSE_EXPIRED:
                server.expires_in_stream = False
            case S.SWAP:
                self._swap(argument)
            case S.BOOKMARK:
                server.send_bookmark()
            case S.REFUSE_LISTS:
                server.refuse_lists(argument, ApiError(500, "InternalError", "the server is not well"))
            case S.REFUSE_WATCHES:
                server.refuse_watches(argument, ApiError(429, "TooManyRequests", "too many requests"))
            case S.TOO_LARGE:
                message = "Too large resource version: 9, current: 1"
                server.refuse_lists(1, ApiError(504, "Timeout", message, (TOO_LARGE_CAUSE,)))
            case S.GO_BACK:
                with self._turn:
                    server.serve_stale(str(max(1, int(server.resource_version) - argument)))

    def _swap(self, name: str) -> None:
        keeps_order = "reordered_events" in self.unsupported
        with self._turn, nullcontext() if keeps_order else self.server.lose_events():
            for key in (name, chr(ord(name) + 1)):
                self._change(S.CREATE, key)
            if not keeps_order:
                for event in reversed(self.server.history()[-2:]):
                    self.server.inject(event)

    # Steps of the informer and its handlers.

    def _ask(self, name: S, argument: Any) -> None:
        match name:
            case S.SETTLE:
                self._settle()
            case S.ADD_HANDLER:
                self._add_handler(is_first=False)
            case S.ADD_INDEXERS:
                index = f"by-{argument}"
                if index not in self._indices:
                    self._indices.append(index)
                    self.informer.add_indexers({index: index_value})
            case S.STOP:
                self._release_all()
                self._stop()

    def _ask_about(self, name: S, observer: Observer) -> None:
        match name:
            case S.REMOVE_HANDLER:
                observer.is_removed = True
                observer.release()
                self.informer.remove_event_handler(observer.registration)
                if observer.most_calls is None:
                    observer.most_calls = len(observer.calls) + 1  # one call may be under way
            case S.BLOCK_HANDLER:
                observer.block()
            case S.FAIL_HANDLER:
                observer.fail_once()
            case S.RELEASE_HANDLER:
                observer.release()
            case S.AWAIT_HANDLER_SYNC if not observer.is_removed:
                observer.release()
                if self._wait_for(lambda: observer.is_removed or observer.registration.has_synced()):
                    observer.synced_after = observer.ended

    def _add_handler(self, is_first: bool) -> None:
        observer = Observer(f"handler {len(self.observers)}", self._stored, is_first)
        observer.registration = self.informer.add_event_handler(observer)
        self.observers.append(observer)

    def _stored(self, obj: Any) -> Any:
        return self.informer.get_store().get_by_key(key_of_object(obj))

    def _stop(self) -> None:
        self._is_stopped = True
        self.informer.stop()
        if not self._has_stopped:
            self._has_stopped = True
            for observer in self.observers:
                observer.stopped_after = len(observer.calls)

    def _release_all(self) -> None:
        for observer in self.observers:
            observer.release()

    # Waiting and looking.

    def _settle(self) -> None:
        with self._turn:
            self.server.serve_stale(None)
        # An informer that failed to settle once is wrong anyway: a second long wait would only delay the verdict.
        is_wrong = self.story.unsettled is not None
        pauses = self._patience.pauses // _LESS_PATIENT if is_wrong else self._patience.pauses
        if not self._wait_for(self._looks_settled, pauses, times=_SETTLED_LOOKS) and not is_wrong:
            self.server.stop_refusing()  # back-off grows with each refusal
            if not self._wait_for(self._looks_settled, times=_SETTLED_LOOKS):
                self.story.unsettled = self._unsettled()
        self.story.open_watches = max(self.story.open_watches, self.server.open_watches)
        for observer in self.observers:
            if observer.most_calls is not None:
                observer.most_calls = min(observer.most_calls, len(observer.calls))

    def _looks_settled(self) -> bool:
        return self._is_stopped or self._unsettled() is None

    def _unsettled(self) -> str | None:
        """Observe the informer, its store and its handlers.

        Returns:
            The name of the first that does not show the objects of the server; ``None`` if all do.
        """
        content = versions_of(self.server.snapshot().values())
        self.story.has_synced = self.informer.has_synced()
        self.story.store = store = self._stored_versions()
        observers = self.observers[:]
        for observer in observers:
            observer.settled_after = len(observer.calls)
        self._look_at_sync(self.story.has_synced, store)
        if not self.story.has_synced:
            return "has_synced()"
        if store != content:
            return "the store"
        for observer in observers:
            if not (
                observer.is_removed
                or observer.is_blocked
                or known_after(observer.calls[: observer.settled_after]) == content
            ):
                blocked = [other.name for other in self.observers if other.is_blocked]
                return f"{observer.name}{f', while {blocked[0]} was slow' if blocked else ''}"
        return None

    def _look_at_sync(self, has_synced: bool, stored: dict[str, Version]) -> None:
        """Record the state at the first time that ``has_synced()`` is true; ``stored`` was read after that call."""
        if has_synced and self.story.first_sync is None:
            listed = self.witness.first_list
            self.story.first_sync = FirstSync(
                None if listed is None else tuple(map(key_of_object, listed)),
                frozenset(stored),
                frozenset(key_of_object(event.object) for event in self.server.history() if event.type == "DELETED"),
                self.witness.was_watched,
            )

    def _look_at_registrations(self) -> None:
        if "registration.has_synced" not in self.unsupported and self.story.unsettled is None:
            self._wait_for(lambda: not self._unsynced())
            self.story.unsynced_handlers = self._unsynced()

    def _unsynced(self) -> list[str]:
        observers = (observer for observer in self.observers if not observer.is_removed)
        return [observer.name for observer in observers if not observer.registration.has_synced()]

    def _look_at_indices(self) -> None:
        store = self.informer.get_store()
        self.story.wrong_indices = [text for name in self._indices for text in wrong_index(store, name, store.list())]

    def _stored_versions(self) -> dict[str, Version]:
        return versions_of(self.informer.get_store().list())

    def _wait_for(self, condition: Callable[[], Any], pauses: int | None = None, times: int = 1) -> bool:
        """Wait until the condition holds in ``times`` consecutive checks; return false after ``pauses`` pauses."""
        pause_seconds = self._patience.pause_seconds
        remaining, held = pauses or self._patience.pauses, 0
        while True:
            held = held + 1 if condition() else 0
            if held == times or (not remaining and not held):
                return held == times
            time.sleep(pause_seconds)
            remaining = max(0, remaining - 1)
            pause_seconds = min(_LONGEST_PAUSE_SECONDS, pause_seconds * self._patience.growth)

    def _threads_left(self) -> list[str]:
        return [
            thread.name
            for thread in threading.enumerate()
            if thread not in self._threads_before
            and type(thread).__name__ != "_DummyThread"  # not started by threading: a thread of the explorer
            and not thread.name.startswith(PROGRAM_THREAD)
        ]


def transform(obj: Manifest) -> Manifest:
    """Return a new object with an annotation that counts its transformations."""
    annotations = obj["metadata"].get("annotations", {})
    count = int(annotations.get(TRANSFORMED, 0)) + 1
    return {**obj, "metadata": {**obj["metadata"], "annotations": {**annotations, TRANSFORMED: str(count)}}}
