"""Programs about locks that are taken in an order or not given back: carter, deadlock, phase, philosophers, fsbench."""

from __future__ import annotations

import threading

from .running import run


def carter(*, is_bad: bool) -> None:
    """Two classes of threads take turns; the bad ones share the lock of their counters, and wait while they hold it."""
    first = threading.Lock()
    second = first if is_bad else threading.Lock()
    turn = threading.Lock()

    def take_part(lock: threading.Lock, present: list[int]) -> None:
        with lock:
            present[0] += 1
            if present[0] == 1:
                turn.acquire()
        with lock:
            present[0] -= 1
            if present[0] == 0:
                turn.release()

    def idle() -> None:
        pass

    run(lambda: take_part(first, [0]), lambda: take_part(second, [0]), idle, idle)


def deadlock(*, is_bad: bool) -> None:
    """Two locks, taken one way and the other way."""
    a, b, counter = threading.Lock(), threading.Lock(), 1

    def up() -> None:
        nonlocal counter
        with a, b:
            counter += 1

    def down() -> None:
        nonlocal counter
        with b if is_bad else a, a if is_bad else b:
            counter -= 1

    run(up, down)


def phase(*, is_bad: bool) -> None:
    """Two threads take two locks twice each; the bad ones keep the first."""
    x, y = threading.Lock(), threading.Lock()

    def go_through() -> None:
        with x:
            pass
        x.acquire()
        if not is_bad:
            x.release()
        for _ in range(2):
            with y:
                pass

    run(go_through, go_through)


def philosophers(seats: int, *, is_bad: bool) -> None:
    """All eat, with both forks taken in one step; the bad ones deny that all of them can have eaten."""
    table, forks, eaten = threading.Lock(), [threading.Lock() for _ in range(seats)], 0

    def dine(seat: int) -> None:
        nonlocal eaten
        with table, forks[(seat + 1) % seats], forks[seat]:
            pass
        if is_bad:
            eaten += 1
            assert eaten != seats

    run(*(lambda seat=seat: dine(seat) for seat in range(seats)))


def hungry_philosophers(seats: int, *, is_bad: bool) -> None:
    """Each takes the fork on one side, then the other one; all bad ones begin on the same side."""
    forks = [threading.Lock() for _ in range(seats)]

    def dine(seat: int) -> None:
        left, right = forks[seat], forks[(seat + 1) % seats]
        if seat == 0 and not is_bad:
            left, right = right, left
        with left, right:
            pass

    run(*(lambda seat=seat: dine(seat) for seat in range(seats)))


def file_system(*, is_bad: bool) -> None:
    """Each thread gives an inode a block; the bad ones are one more than there are locks."""
    blocks, threads = 26, 27 if is_bad else 26
    inode_locks = [threading.Lock() for _ in range(blocks)]
    block_locks = [threading.Lock() for _ in range(blocks)]
    inodes, busy = [0] * 32, [False] * blocks

    def allocate(number: int) -> None:
        with inode_locks[number]:
            block = number * 2 % blocks
            for _ in range(0 if inodes[number] else blocks // 2):
                with block_locks[block]:
                    if not busy[block]:
                        busy[block] = True
                        inodes[number] = block + 1
                        return
                block = (block + 1) % blocks

    run(*(lambda number=number: allocate(number) for number in range(threads)))
