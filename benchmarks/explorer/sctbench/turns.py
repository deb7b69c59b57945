"""Programs in which one thread hands over to another: buffers, and producers and consumers with conditions."""

from __future__ import annotations

import threading

from .running import run

_SIZE = 20


def circular_buffer(*, is_bad: bool) -> None:
    """Two threads take turns, as often as they look; the bad reader expects to be lucky each time."""
    lock, buffer, may_send = threading.Lock(), list[int](), True

    def send() -> None:
        nonlocal may_send
        for value in range(7):
            with lock:
                if may_send:
                    buffer.append(value)
                    may_send = False

    def receive() -> None:
        nonlocal may_send
        taken = 0
        for turn in range(7):
            with lock:
                if not may_send:
                    value = buffer[taken]
                    assert value == turn if is_bad else value >= taken
                    taken += 1
                    may_send = True

    run(send, receive)


def queue(*, is_bad: bool) -> None:
    """As the circular buffer, with a copy of what was put in; the good ones do all in one turn."""
    lock, elements, stored, is_full, has_room = threading.Lock(), list[int](), [0] * _SIZE, False, True

    def put() -> None:
        nonlocal is_full, has_room
        with lock:
            elements.append(0)
            stored[0] = 0
        value = 0
        for turn in range(1, _SIZE):
            with lock:
                if has_room:
                    value += 1
                    elements.append(value)
                    stored[turn] = value
                    has_room, is_full = False, True

    def get() -> None:
        nonlocal is_full, has_room
        for turn in range(_SIZE):
            with lock:
                if is_full:
                    assert elements.pop(0) == stored[turn]
                    is_full, has_room = False, True

    def put_all() -> None:
        nonlocal is_full
        with lock:
            for turn in range(_SIZE):
                elements.append(turn)
                stored[turn] = turn
            is_full = True

    def get_all() -> None:
        with lock:
            for turn in range(_SIZE if is_full else 0):
                assert elements.pop(0) == stored[turn]

    run(put if is_bad else put_all, get if is_bad else get_all)


def stack(*, is_bad: bool) -> None:
    """One pushes, one pops; the bad one takes it for granted that a stack that had something still has."""
    lock, elements, has_some = threading.Lock(), list[int](), False

    def push() -> None:
        nonlocal has_some
        for value in range(10):
            with lock:
                elements.append(value)
                has_some = True

    def pop() -> None:
        for _ in range(10):
            with lock:
                if has_some if is_bad else elements:
                    elements.pop()

    run(push, pop)


def _hand_over(start: int, puts: int, takes: int, step: int = 1) -> None:
    """So many puts into one place and takes from it, which begins with ``start`` things in it."""
    lock, count = threading.Lock(), start
    empty, full = threading.Condition(lock), threading.Condition(lock)

    def produce() -> None:
        nonlocal count
        for _ in range(puts):
            with lock:
                while count > 0:
                    empty.wait()
                count += 1
                full.notify()

    def consume() -> None:
        nonlocal count
        for _ in range(takes):
            with lock:
                while count == 0:
                    full.wait()
                count -= step
                empty.notify()

    run(produce, consume)


def sync_once(*, is_bad: bool) -> None:
    """One put, one take; the bad place is full at first, and its consumer takes nothing out."""
    _hand_over(1 if is_bad else 0, 1, 1, 0 if is_bad else 1)


def sync_twice(*, is_bad: bool) -> None:
    """Two puts, two takes; the bad place holds two at first."""
    _hand_over(2 if is_bad else 0, 2, 2)


def arithmetic_progression(*, is_bad: bool) -> None:
    """What is handed over in turns adds up; the bad check denies it."""
    lock, count, total, turns = threading.Lock(), 0, 0, 3
    empty, full = threading.Condition(lock), threading.Condition(lock)

    def produce() -> None:
        nonlocal count
        for _ in range(turns):
            with lock:
                while count > 0:
                    empty.wait()
                count += 1
                full.notify()

    def consume() -> None:
        nonlocal count, total
        for turn in range(turns):
            with lock:
                while count == 0:
                    full.wait()
                total += turn
                count -= 1
                empty.notify()
        total += turns

    run(produce, consume)
    assert (total == turns * (turns + 1) // 2) is not is_bad
