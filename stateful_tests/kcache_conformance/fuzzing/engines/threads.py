"""Thread engine: several real threads call the function with the same objects at the same time."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from ..evidence import Engine, Evidence
from ..judging.outcome import Answer, answer_of
from ..judging.violation import InputClass, Violation
from ..objects.fuzzed_object import FuzzedObject
from ..rules import Kind, Rule

_THREADS = 4
_SWITCH_SECONDS = 1e-6
_GRACE_SECONDS = 3.0
_MOST_OTHERS = 8


def run_threads(
    function: Callable[[Any], Any], kind: Kind, fuzzed_objects: Sequence[FuzzedObject], *, seconds: float
) -> tuple[Evidence | None, int]:
    """Return evidence of the first answer that differs from a single thread's answer, and the number of calls."""
    objects = [fuzzed_object.fresh() for fuzzed_object in fuzzed_objects]
    alone = [answer_of(function, kind, obj)[0] for obj in objects]
    race = _Race(function, kind, objects, alone, time.monotonic() + seconds)
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        threads = [threading.Thread(target=race.run, args=(number,), daemon=True) for number in range(_THREADS)]
        for thread in threads:
            with contextlib.suppress(RuntimeError):  # the function has started too many threads
                thread.start()
        for thread in filter(threading.Thread.is_alive, threads):
            thread.join(max(0.0, race.end + _GRACE_SECONDS - time.monotonic()))
    finally:
        sys.setswitchinterval(before)
    if any(thread.is_alive() for thread in threads):
        what = f"concurrent calls by {_THREADS} threads did not return within {_GRACE_SECONDS:g} s"
        return _evidence(what, fuzzed_objects, 0), race.calls
    if race.wrong is None:
        return None, race.calls
    position, answer = race.wrong
    still = answer_of(function, kind, fuzzed_objects[position].fresh())[0]
    if still.meaning != alone[position].meaning:
        return None, race.calls  # it changed for good: that is no matter of threads
    what = f"{answer.text()} while other threads called it, but {alone[position].text()} alone"
    return _evidence(what, fuzzed_objects, position), race.calls


def _evidence(what: str, fuzzed_objects: Sequence[FuzzedObject], position: int) -> Evidence:
    """Return the evidence, with the objects of the other threads' calls for a replay."""
    plain = [one.tree for number, one in enumerate(fuzzed_objects) if one.is_plain and number != position]
    return Evidence(
        Violation(Rule.THREAD_SAFE, what),
        InputClass.VALID,
        Engine.THREADS,
        tuple(fuzzed_objects[position : position + 1]),
        f"{_THREADS} threads",
        {"others": plain[:_MOST_OTHERS]},
    )


class _Race:
    def __init__(
        self, function: Callable[[Any], Any], kind: Kind, objects: list[Any], alone: list[Answer], end: float
    ) -> None:
        self._function, self._kind, self._objects, self.end = function, kind, objects, end
        self._alone = alone
        self.wrong: tuple[int, Answer] | None = None
        self.calls = 0

    def run(self, number: int) -> None:
        size = len(self._objects)
        while self.wrong is None and time.monotonic() < self.end:
            for offset in range(size):
                position = (offset * (number + 1) + number) % size
                answer = answer_of(self._function, self._kind, self._objects[position])[0]
                self.calls += 1
                if answer.meaning != self._alone[position].meaning:
                    self.wrong = (position, answer)
                    return
                if time.monotonic() > self.end:
                    return
