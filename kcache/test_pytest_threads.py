"""Threads beside a test: those of other tests count, kcache's own do not."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from kcache.pytest_threads import Started


@pytest.mark.parametrize(("name", "counts"), [("kcache reader", False), ("Thread-3 (_read)", True)])
def test_only_kcache_has_threads_that_do_not_count(name: str, counts: bool) -> None:
    before: Any = SimpleNamespace(_always={*threading.enumerate()})
    go_on = threading.Event()
    beside = threading.Thread(target=go_on.wait, name=name)
    beside.start()
    try:
        assert Started.others(before) == [beside] * counts
    finally:
        go_on.set()
        beside.join()
