"""paho-mqtt 1.3.1, mended in 1.4.0: two messages that are sent at once may get one id."""

from paho.mqtt.client import Client

from kcache import testing as kt


def ids_differ():
    client = Client()
    first, second = kt.run(client._mid_generate, client._mid_generate)
    assert first != second
