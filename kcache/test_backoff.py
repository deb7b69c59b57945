from __future__ import annotations

import random
import threading

import pytest

from kcache.informers.backoff import ExponentialBackoff
from kcache.informers.clock import FakeClock
from kcache.informers.retry_with_deadline import RetryWithDeadline
from kcache.informers.stopping import StopSignal

_LIMIT_SECONDS = 20


class _Always(random.Random):
    """Draws one number only."""

    def __init__(self, number: float) -> None:
        super().__init__()
        self._number = number

    def random(self) -> float:
        return self._number


def _delays(backoff: ExponentialBackoff, count: int) -> list[float]:
    return [backoff.next_delay() for _ in range(count)]


def test_delays_double_up_to_thirty_seconds() -> None:
    backoff = ExponentialBackoff(clock=FakeClock(), random=_Always(0.0))
    assert _delays(backoff, 9) == pytest.approx([0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0])


def test_jitter_prolongs_a_delay_by_up_to_itself() -> None:
    backoff = ExponentialBackoff(clock=FakeClock(), random=_Always(0.5))
    assert _delays(backoff, 8) == pytest.approx([1.2, 2.4, 4.8, 9.6, 19.2, 38.4, 45.0, 45.0])


def test_jitter_is_random_and_repeatable() -> None:
    first = _delays(ExponentialBackoff(clock=FakeClock(), random=random.Random(7)), 20)
    again = _delays(ExponentialBackoff(clock=FakeClock(), random=random.Random(7)), 20)
    other = _delays(ExponentialBackoff(clock=FakeClock(), random=random.Random(8)), 20)
    assert first == again != other
    assert all(30 <= delay < 60 for delay in first[6:])


def test_a_quiet_time_of_more_than_two_minutes_resets() -> None:
    clock = FakeClock()
    backoff = ExponentialBackoff(clock=clock, random=_Always(0.0))
    _delays(backoff, 3)
    clock.step(120)
    assert backoff.next_delay() == pytest.approx(6.4)
    clock.step(120.5)
    assert _delays(backoff, 2) == pytest.approx([0.8, 1.6])


def test_what_counts_is_the_last_delay_not_the_first() -> None:
    clock = FakeClock()
    backoff = ExponentialBackoff(clock=clock, random=_Always(0.0))
    for _ in range(20):
        last = backoff.next_delay()
        clock.step(60)
    assert last == pytest.approx(30)


def test_wait_takes_as_long_as_the_delay() -> None:
    clock = FakeClock()
    backoff = ExponentialBackoff(clock=clock, random=_Always(0.0))
    stop = StopSignal()
    results: list[bool] = []
    thread = threading.Thread(target=lambda: results.append(backoff.wait(stop)), daemon=True)
    thread.start()
    assert clock.wait_for_waiters(1)
    assert clock.waiting() == pytest.approx((0.8,))
    clock.step(0.8)
    thread.join(_LIMIT_SECONDS)
    assert results == [False]


def test_stop_ends_the_wait() -> None:
    clock = FakeClock()
    backoff = ExponentialBackoff(clock=clock)
    stop = StopSignal()
    results: list[bool] = []
    thread = threading.Thread(target=lambda: results.append(backoff.wait(stop)), daemon=True)
    thread.start()
    assert clock.wait_for_waiters(1)
    stop.set()
    thread.join(_LIMIT_SECONDS)
    assert results == [True]


def test_retries_are_allowed_until_the_deadline_and_then_anew() -> None:
    clock = FakeClock()
    retry = RetryWithDeadline(30, 60, clock)
    allowed = []
    for seconds in (0, 15, 15, 1, 1):
        clock.step(seconds)
        allowed.append(retry.should_retry())
    assert allowed == [True, True, True, False, True]


def test_a_quiet_time_moves_the_deadline() -> None:
    clock = FakeClock()
    retry = RetryWithDeadline(30, 60, clock)
    assert retry.should_retry()
    clock.step(60)
    assert retry.should_retry()
    clock.step(59)
    assert not retry.should_retry()


def test_no_retry_without_a_deadline() -> None:
    assert not RetryWithDeadline(0, 60, FakeClock()).should_retry()
