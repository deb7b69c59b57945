"""Calls one after another on virtual threads: what they give, and whether they wait."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcache_model.object_types.plain import MethodCall, ObjectProgram, PlainDriver
from kcache_model.object_types.replay_steps import PASSES, Begun, CalledBy, Calls, Overtaken, Stage
from kcache_model.outcomes import WAITS
from kcache_stress.objects.named_target import place_named
from kcache_stress.objects.virtual_calls import VirtualCalls

DOORS = """
import random
import threading
import time


class Odd(Exception):
    pass


class Door:
    def __init__(self):
        self._lock = threading.Lock()
        self._mine = threading.RLock()
        self._opened = threading.Condition()
        self._is_open = False

    def open(self):
        with self._opened:
            self._is_open = True
            self._opened.notify_all()

    def enter(self):
        with self._opened:
            while not self._is_open:
                self._opened.wait()

    def enter_in_time(self):
        with self._opened:
            return self._opened.wait(timeout=3600)

    def take(self):
        self._lock.acquire()

    def hold(self):
        self._mine.acquire()

    def late(self):
        threading.Thread(target=lambda: (time.sleep(3600), self.open())).start()
        self.enter()

    def poll(self):
        while not self._is_open:
            time.sleep(1)

    def spin(self):
        while not self._is_open:
            pass

    def knock(self, seconds):
        with self._opened:
            return self._opened.wait_for(lambda: self._is_open, seconds)

    def sleep(self):
        time.sleep(3600)
        return self._is_open

    def hold_for_long(self):
        with self._lock:
            self._is_open = not self._is_open

    def take_in_time(self):
        if not self._lock.acquire(timeout=60):
            return False
        self._lock.release()
        return True

    def clock(self):
        return time.monotonic()

    def who(self):
        return threading.get_ident()

    def draw(self):
        return random.random()

    def fail(self):
        raise Odd(self)

    def today(self):
        import datetime

        now = datetime.datetime.now
        now()
        self.enter()


class Shut(Door):
    def __init__(self):
        super().__init__()
        self.enter()
"""


def by(name: str, thread: int = 1, *arguments: Any) -> CalledBy:
    return CalledBy(MethodCall(name, arguments), thread)


def stage_of(folder: Path, *steps: Any, name: str = "Door", elsewhere: bool = False) -> Stage | None:
    return _virtual(name, folder)(steps, elsewhere)


def given(folder: Path, *steps: Any) -> list[Any]:
    stage = stage_of(folder, *steps)
    assert stage is not None
    return [[WAITS if outcome.waits else outcome.error or outcome.value for outcome in step] for step in stage.outcomes]


@pytest.mark.parametrize(
    ("calls", "waits"),
    [
        ("enter", True),
        ("open enter", False),
        ("enter_in_time", False),  # it times out
        ("take", False),
        ("take take", True),
        ("take open take2", True),
        ("hold hold", False),  # the same thread may
        ("hold hold2", True),
        ("hold2 open hold2 enter3", False),
        ("late", False),  # somebody opens in the end
        ("poll", True),
        ("open poll", False),
        ("sleep", False),
        ("fail enter", True),
        ("fail open enter", False),
    ],
)
def test_a_wait_that_nothing_ends_is_known(calls: str, waits: bool, tmp_path: Path) -> None:
    replay = _virtual("Door", tmp_path)
    steps = tuple(by(call.rstrip("123"), int(call[-1]) if call[-1].isdigit() else 1) for call in calls.split())
    for elsewhere in (False, True, False):
        stage = replay(steps, elsewhere)
        assert stage is not None
        assert stage.outcomes[-1][0].waits is waits
        assert stage.is_quiet


@pytest.mark.parametrize("call", ["spin", "today"])
def test_what_virtual_threads_cannot_tell_is_left_open(call: str, tmp_path: Path) -> None:
    replay = _virtual("Door", tmp_path)
    assert replay((by(call),), False) is None
    assert replay((by("enter"),), False) is not None


def test_where_the_constructor_waits_no_call_is_made(tmp_path: Path) -> None:
    assert stage_of(tmp_path, by("enter"), name="Shut") is None


def test_time_passes_for_whoever_waits_and_takes_none(tmp_path: Path) -> None:
    stage = stage_of(tmp_path, by("sleep"), by("knock", 1, 5), by("open"), by("knock", 1, 5))
    assert stage is not None
    assert [outcome.value for (outcome,) in stage.outcomes] == [False, False, None, True]
    assert [round(seconds) for seconds in stage.seconds] == [3600, 5, 0, 0]


def test_a_call_that_waits_is_ended_by_a_later_one_or_by_its_timeout(tmp_path: Path) -> None:
    assert given(tmp_path, Begun(by("knock", 1, 5))) == [[WAITS]]
    assert given(tmp_path, Begun(by("knock", 1, 5)), by("open", 2)) == [[True], [None]]
    assert given(tmp_path, Begun(by("knock", 1, 5)), PASSES, by("open", 2)) == [[False], [], [None]]
    assert given(tmp_path, Begun(by("knock", 1, 5)), Begun(by("knock", 2, 1)), PASSES) == [[WAITS], [False], []]
    assert given(tmp_path, Begun(by("enter", 1)), Begun(by("open", 2), is_alone=True)) == [[WAITS], [None]]


def test_a_sleep_is_no_wait_that_others_may_end(tmp_path: Path) -> None:
    assert given(tmp_path, Begun(by("sleep")), by("open", 2)) == [[False], [None]]


def test_a_call_times_out_in_the_midst_of_a_slow_one(tmp_path: Path) -> None:
    found = set()
    for at in range(1, 20):
        steps = (Overtaken(by("hold_for_long"), at, (by("take_in_time", 2),)),)
        stage = stage_of(tmp_path, *steps)
        if stage is not None:
            found.add(tuple(None if outcome.waits else outcome.value for outcome in stage.outcomes[0]))
    assert False in {outcome for outcomes in found for outcome in outcomes[1:]}


@pytest.mark.parametrize("name", ["clock", "who", "draw"])
def test_what_no_result_may_depend_on_differs_elsewhere(name: str, tmp_path: Path) -> None:
    replay = _virtual("Door", tmp_path)
    here, there, again = (replay((by(name),), elsewhere) for elsewhere in (False, True, False))
    assert here == again
    assert here != there


def _virtual(name: str, folder: Path) -> Callable[[Calls, bool], Stage | None]:
    (folder / "doors.py").write_text(DOORS, encoding="utf-8")
    calls = VirtualCalls(place_named(f"{folder / 'doors.py'}:{name}", frozenset()))

    def replay(steps: Calls, elsewhere: bool) -> Stage | None:
        return calls.replay(
            steps, lambda factory, **more: PlainDriver(factory, ObjectProgram(), **more), elsewhere=elsewhere
        )

    return replay
