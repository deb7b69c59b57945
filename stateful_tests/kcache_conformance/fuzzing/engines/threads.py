"""Several real threads call the function for the same objects at the same time."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from ..evidence import Engine, Evidence
from ..judging.breach import Breach
from ..judging.outcome import Answer, answer_of
from ..judging.tiers import Tier
from ..objects.specimen import Specimen
from ..rules import Kind, Rule

_THREADS = 4
_SWITCH_SECONDS = 1e-6
_GRACE_SECONDS = 2.0


def run_threads(
    function: Callable[[Any], Any], kind: Kind, specimens: Sequence[Specimen], *, seconds: float
) -> tuple[Evidence | None, int]:
    """The first answer that differs from the one that a single thread gets; and how many calls were made."""
    objects = [specimen.fresh() for specimen in specimens]
    alone = [answer_of(function, kind, obj)[0] for obj in objects]
    race = _Race(function, kind, objects, alone, time.monotonic() + seconds)
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        threads = [threading.Thread(target=race.run, args=(number,), daemon=True) for number in range(_THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(seconds + _GRACE_SECONDS)
    finally:
        sys.setswitchinterval(before)
    if race.wrong is None:
        return None, race.calls
    position, answer = race.wrong
    still = answer_of(function, kind, specimens[position].fresh())[0]
    if still.meaning != alone[position].meaning:
        return None, race.calls  # it changed for good: that is no matter of threads
    what = f"{answer.text()} while other threads called it, {alone[position].text()} alone"
    evidence = Evidence(
        Breach(Rule.THREAD_SAFE, what),
        Tier.LEGAL,
        Engine.THREADS,
        (specimens[position],),
        f"{_THREADS} threads",
    )
    return evidence, race.calls


class _Race:
    def __init__(
        self, function: Callable[[Any], Any], kind: Kind, objects: list[Any], alone: list[Answer], end: float
    ) -> None:
        self._function, self._kind, self._objects, self._end = function, kind, objects, end
        self._alone = alone
        self.wrong: tuple[int, Answer] | None = None
        self.calls = 0

    def run(self, number: int) -> None:
        size = len(self._objects)
        while self.wrong is None and time.monotonic() < self._end:
            for offset in range(size):
                position = (offset * (number + 1) + number) % size
                answer = answer_of(self._function, self._kind, self._objects[position])[0]
                self.calls += 1
                if answer.meaning != self._alone[position].meaning:
                    self.wrong = (position, answer)
                    return
                if time.monotonic() > self._end:
                    return
