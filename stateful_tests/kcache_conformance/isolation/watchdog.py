"""Watchdog: detects, inside the child, that a call of the implementation does not return."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable

from kcache_stress.stacks import stacks
from kcache_stress.ticks import tick

from .journal import Journal

_TICK_SECONDS = 0.1
_BEATS_BETWEEN_SIGNS = 20


class Watchdog:
    """A :class:`~kcache_model.progress.ProgressListener` with a thread that counts its own beats.

    Patience is counted in beats of that thread (:mod:`kcache_stress.ticks`), not in wall-clock time: on a machine too
    busy to run the process, few beats pass and nothing is accused.

    Args:
        journal: receives the current operation.
        patience_seconds: how long one call may take; twice as long if threads run, because their pool watches them more
            closely and describes them better, so it must report first.
        on_hang: called with the stacks of the threads, in the watchdog's thread.
        on_beat: called from time to time with the seconds, counted in beats, for which the process has run.
    """

    def __init__(
        self,
        journal: Journal,
        patience_seconds: float,
        on_hang: Callable[[str], None],
        on_beat: Callable[[float], None] = lambda _: None,
    ) -> None:
        self._journal = journal
        self._beats = max(1, round(patience_seconds / _TICK_SECONDS))
        self._patience = self._beats
        self._on_hang = on_hang
        self._on_beat = on_beat
        self._steps = 0
        self._busy = self._is_over = False
        self._watched = threading.get_ident()
        self._process = os.getpid()
        threading.Thread(target=self._watch, name="kcache watchdog", daemon=True).start()

    def note(self, text: str, *, has_threads: bool = False) -> None:
        """Record that an operation begins; ``text`` describes it."""
        self._journal.write(text)
        self._patience = 2 * self._beats if has_threads else self._beats
        self._watch_call()

    def append(self, text: str) -> None:
        """Record that the operation continues with ``text``."""
        self._journal.append(text)
        self._watch_call()

    def _watch_call(self) -> None:
        self._steps += 1
        self._busy = True

    def alive(self) -> None:
        """Record that the current program is about to run again."""
        self._steps += 1

    def rest(self) -> None:
        """Record that no call of the implementation is running."""
        if os.getpid() != self._process:
            os._exit(0)  # the implementation forked: its copy of this process must not go on with our work
        self._busy = False

    def end(self) -> None:
        """Stop watching: the job is over, and the process continues."""
        self._is_over = True

    def _watch(self) -> None:
        last, still = -1, 0
        for number in itertools.count():
            tick(_TICK_SECONDS)
            if self._is_over:
                return
            if number % _BEATS_BETWEEN_SIGNS == 0:
                self._on_beat(number * _TICK_SECONDS)
            if not self._busy or self._steps != last:
                last, still = self._steps, 0
                continue
            still += 1
            if still >= self._patience:
                self._on_hang(stacks([self._watched]))
                return
