"""Whether calls one after another wait for ever, asked of virtual threads."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcache_model.object_types.plain import MethodCall, ObjectProgram, PlainDriver
from kcache_stress.objects.named_target import place_named
from kcache_stress.objects.virtual_calls import VirtualCalls

DOORS = """
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

    def fail(self):
        raise Odd(self)

    def today(self):
        import datetime

        datetime.datetime.now()
        self.enter()


class Shut(Door):
    def __init__(self):
        super().__init__()
        self.enter()
"""


@pytest.mark.parametrize(
    ("calls", "wait"),
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
        ("poll", False),  # it waits for the time, again and again
        ("spin", False),  # it waits for nothing
        ("fail enter", True),
        ("fail open enter", False),
        ("today", False),  # as the clock may have its say
    ],
)
def test_a_wait_that_nothing_ends_is_known(calls: str, wait: bool, tmp_path: Path) -> None:
    virtual = _virtual("Door", tmp_path)
    called = [(int(call[-1]) if call[-1].isdigit() else 1, MethodCall(call.rstrip("123"))) for call in calls.split()]
    assert virtual.wait([(1, MethodCall("enter"))])
    assert [virtual.wait(called) for _ in range(2)] == [wait, wait]
    assert virtual.wait([(1, MethodCall("enter"))])


def test_where_the_constructor_waits_no_call_does(tmp_path: Path) -> None:
    assert not _virtual("Shut", tmp_path).wait([(1, MethodCall("enter"))])


def _virtual(name: str, folder: Path) -> VirtualCalls:
    (folder / "doors.py").write_text(DOORS, encoding="utf-8")

    place = place_named(f"{folder / 'doors.py'}:{name}", frozenset())
    return VirtualCalls(place, lambda factory, **more: PlainDriver(factory, ObjectProgram(), **more))
