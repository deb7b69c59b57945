"""limits 5.8.0: of one hit an hour, two pass, or none, or the second raises a RuntimeError."""

from limits import RateLimitItemPerHour
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter, MovingWindowRateLimiter

from kcache import testing as kt

ONE = RateLimitItemPerHour(1)


def at_most_one_passes():
    limiter = FixedWindowRateLimiter(MemoryStorage())
    assert sum(kt.run(lambda: limiter.hit(ONE), lambda: limiter.hit(ONE))) <= 1


def at_least_one_passes():
    limiter = FixedWindowRateLimiter(MemoryStorage())
    assert sum(kt.run(lambda: limiter.hit(ONE), lambda: limiter.hit(ONE))) >= 1


def nothing_is_raised():
    limiter = MovingWindowRateLimiter(MemoryStorage())
    kt.run(lambda: limiter.hit(ONE), lambda: limiter.hit(ONE))
