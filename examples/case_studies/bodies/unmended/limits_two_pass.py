"""limits 5.8.0, unmended: of one hit an hour, two pass."""

from limits import RateLimitItemPerHour
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

from kcache import testing as kt


def at_most_one_passes():
    limiter, one = FixedWindowRateLimiter(MemoryStorage()), RateLimitItemPerHour(1)
    assert sum(kt.run(lambda: limiter.hit(one), lambda: limiter.hit(one))) <= 1
