"""Programs about a few variables and the order in which they change: account, lazy, reorder, token ring and others."""

from __future__ import annotations

import threading

from .running import run


def account(*, is_bad: bool) -> None:
    """A balance, checked once both who change it are done; the bad check has a wrong sign."""
    lock, balance, deposited, withdrawn = threading.Lock(), 1, False, False

    def deposit() -> None:
        nonlocal balance, deposited
        with lock:
            balance += 2
            deposited = True

    def withdraw() -> None:
        nonlocal balance, withdrawn
        with lock:
            balance -= 4
            withdrawn = True

    def check() -> None:
        with lock:
            if deposited and withdrawn:
                assert balance == (1 - 2 if is_bad else 1 + 2) - 4

    run(check, deposit, withdraw)


def lazy(*, is_bad: bool) -> None:
    """Two threads add to a number; the bad check takes for impossible that both were there first."""
    lock, data = threading.Lock(), 0

    def add(amount: int) -> None:
        nonlocal data
        with lock:
            data += amount

    def check() -> None:
        with lock:
            assert data < 3 if is_bad else data <= 3

    run(lambda: add(1), lambda: add(2), check)


def reorder(setters: int, checkers: int, *, is_bad: bool) -> None:
    """Some set two variables, some check that both are set or none is; nothing keeps the bad ones apart."""
    lock, a, b = threading.Lock(), 0, 0

    def set_both() -> None:
        nonlocal a, b
        a = 1
        b = -1

    def check() -> None:
        assert (a == 0 and b == 0) or (a == 1 and b == -1)

    def set_locked() -> None:
        with lock:
            set_both()

    def check_locked() -> None:
        with lock:
            check()

    run(*[set_both if is_bad else set_locked] * setters, *[check if is_bad else check_locked] * checkers)


def two_stage(writers: int, *, is_bad: bool) -> None:
    """The second of two variables follows the first; the bad lock is given back in between."""
    first_lock, second_lock = threading.Lock(), threading.Lock()
    first = second = 0

    def follow() -> None:
        nonlocal second
        with second_lock:
            second = first + 1

    def write() -> None:
        nonlocal first
        with first_lock:
            first = 1
            if not is_bad:
                follow()
        if is_bad:
            follow()

    def read() -> None:
        with first_lock:
            if first == 0:
                return
            seen = first
        with second_lock:
            assert second == seen + 1

    run(*[write] * writers, read)


def token_ring(*, is_bad: bool) -> None:
    """Three variables go round; the bad ones are passed on in any order, the others one after another."""
    lock, flags = threading.Lock(), [False] * 3
    x1, x2, x3 = 1, 2, 1

    def pass_first() -> None:
        nonlocal x1
        with lock:
            x1 = (x3 + 1) % 4
            flags[0] = True

    def pass_second() -> None:
        nonlocal x2
        with lock:
            if is_bad or flags[0]:
                x2 = x1
                flags[1] = True

    def pass_third() -> None:
        nonlocal x3
        with lock:
            if is_bad or flags[1]:
                x3 = x2
                flags[2] = True

    def check() -> None:
        with lock:
            if all(flags):
                assert x1 == x2 == x3

    run(pass_first, pass_second, pass_third, check)


def wrong_lock(others: int, *, is_bad: bool) -> None:
    """One thread counts and looks under a lock; the bad others count under another one."""
    right, value = threading.Lock(), 0
    wrong = threading.Lock() if is_bad else right

    def count_and_look() -> None:
        nonlocal value
        with right:
            before = value
            value += 1
            assert value == before + 1

    def count() -> None:
        nonlocal value
        with wrong:
            value += 1

    run(count_and_look, *[count] * others)


def bluetooth(*, is_bad: bool) -> None:
    """A driver is stopped while a request comes in; the bad one asks whether it stops, and is counted later."""
    lock, pending, stopping, is_idle, stopped = threading.Lock(), 1, False, False, False

    def begin() -> bool:
        nonlocal pending
        if is_bad:
            if stopping:
                return False
            with lock:
                pending += 1
            return True
        with lock:
            if not stopping:
                pending += 1
            return not stopping

    def end() -> None:
        nonlocal pending, is_idle
        with lock:
            pending -= 1
            left = pending
        if left == 0:
            is_idle = True

    def add() -> None:
        has_begun = begin()
        if has_begun:
            assert not stopped
        if has_begun or is_bad:
            end()

    def stop() -> None:
        nonlocal stopping, stopped
        with lock:
            stopping = True
        end()
        if is_idle:
            stopped = True

    stopper = threading.Thread(target=stop)
    stopper.start()
    add()
    stopper.join()
