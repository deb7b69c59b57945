"""limits 5.8.0, unmended: of two hits at once, the limit of one an hour refuses both."""

from limits import RateLimitItemPerHour
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

from kcache import testing as kt


def at_least_one_passes():
    limiter, one = FixedWindowRateLimiter(MemoryStorage()), RateLimitItemPerHour(1)
    assert sum(kt.run(lambda: limiter.hit(one), lambda: limiter.hit(one))) >= 1
