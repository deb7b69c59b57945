"""Time limit for attempts after repeated errors (client-go ``retry_with_deadline.go``)."""

from __future__ import annotations

from .clock import Clock


class RetryWithDeadline:
    """Allows attempts until errors have occurred for too long; a time without errors resets it.

    Args:
        max_seconds: the time after the first error in which attempts are allowed; 0 for never.
        reset_seconds: an error that occurs this long after the previous error counts as the first.
        clock: the source of the time.
    """

    def __init__(self, max_seconds: float, reset_seconds: float, clock: Clock) -> None:
        self._max_seconds = max_seconds
        self._reset_seconds = reset_seconds
        self._clock = clock
        self._first_error: float | None = None
        self._last_error = 0.0

    def should_retry(self) -> bool:
        """Record an error; return whether another attempt is allowed."""
        now = self._clock.now()
        if self._first_error is None or now - self._last_error >= self._reset_seconds:
            self._first_error = now
        self._last_error = now
        if self._max_seconds > 0 and now - self._first_error <= self._max_seconds:
            return True
        self._first_error = None
        return False
