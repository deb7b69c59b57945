"""limits 5.8.0, pull request 352: two threads start one timer, and one of them gets a RuntimeError."""

from limits import RateLimitItemPerHour
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from kcache import testing as kt


def nothing_is_raised():
    limiter, one = MovingWindowRateLimiter(MemoryStorage()), RateLimitItemPerHour(1)
    kt.run(lambda: limiter.hit(one), lambda: limiter.hit(one))
