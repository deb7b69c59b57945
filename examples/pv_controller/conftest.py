import threading

import pytest

from .cluster import Cluster


@pytest.fixture
def cluster():
    before = set(threading.enumerate())
    made = Cluster()
    yield made
    made.factory.shutdown()  # raises what the mutation detectors have found
    made.api.close()
    assert set(threading.enumerate()) <= before
