"""opentelemetry-sdk 1.39.1, mended in 1.40.0: two threads that make one counter at once may fail with a KeyError."""

from opentelemetry.sdk.metrics import MeterProvider

from kcache import testing as kt


def a_counter_can_be_made_by_all():
    meter = MeterProvider(shutdown_on_exit=False).get_meter("meter")
    first, second = kt.run(lambda: meter.create_counter("calls"), lambda: meter.create_counter("calls"))
    assert first is second
