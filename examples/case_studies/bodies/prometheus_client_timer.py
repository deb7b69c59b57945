"""prometheus_client 0.3.0, issue 287: threads in one decorated function share the time at which it began."""

from time import sleep

from prometheus_client import CollectorRegistry, Summary

from kcache import testing as kt


def each_call_is_measured():
    registry = CollectorRegistry()

    @Summary("calls", "Calls", registry=registry).time()
    def call():
        sleep(1)

    kt.run(call, lambda: (sleep(0.5), call()))
    assert registry.get_sample_value("calls_sum") > 1.9
