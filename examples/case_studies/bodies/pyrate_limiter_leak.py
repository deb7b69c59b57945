"""pyrate-limiter 4.3.0, mended in 4.4.0: what is put into a bucket while it leaks may be lost."""

from pyrate_limiter import InMemoryBucket, Rate, RateItem

from kcache import testing as kt


def a_bucket_keeps_what_is_put_into_it():
    bucket = InMemoryBucket([Rate(9, 1000)])
    bucket.put(RateItem("old", 0))
    kt.run(lambda: bucket.put(RateItem("new", 5000)), lambda: bucket.leak(5000))
    assert bucket.count() == 1
