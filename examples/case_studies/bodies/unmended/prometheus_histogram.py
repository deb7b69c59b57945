"""prometheus_client 0.26.0, unmended: a scrape sees the sum of an observation before its count."""

from prometheus_client import Histogram

from kcache import testing as kt


def a_scrape_sees_all_of_an_observation():
    seconds = Histogram("seconds", "of requests", registry=None)
    (metric,) = kt.run(lambda: seconds.observe(1), seconds.collect)[1]
    found = {sample.name: sample.value for sample in metric.samples}
    assert found["seconds_count"] == found["seconds_sum"]
