"""kombu 5.2.4, pull request 1489: what is called soon may be forgotten while the event loop takes what it has to do."""

from kombu.asynchronous.hub import Hub

from kcache import testing as kt


@kt.interleaved(instrument="kombu.asynchronous.hub")
def what_is_called_soon_is_called():
    hub, called = Hub(), []
    kt.run(lambda: hub.call_soon(called.append, 1), hub.close)
    assert called or hub._ready
