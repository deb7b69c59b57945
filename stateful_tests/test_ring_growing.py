"""The ring is a queue that grows: never anything lost, nothing kept, no place given back."""

from __future__ import annotations

import gc
import weakref
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcache.informers import RingGrowing


@given(st.integers(0, 5), st.lists(st.booleans(), max_size=80))
def test_it_is_a_queue(initial_size, writes):
    ring, model = RingGrowing(initial_size), deque()
    for number, is_write in enumerate(writes):
        if is_write:
            ring.write_one(number)
            model.append(number)
        elif model:
            assert ring.read_one() == model.popleft()
        else:
            with pytest.raises(IndexError, match="the ring is empty"):
                ring.read_one()
        assert len(ring) == len(model) <= ring.capacity
    assert [ring.read_one() for _ in range(len(ring))] == list(model)


def test_it_doubles_when_it_is_full_and_never_shrinks():
    ring = RingGrowing(3)
    capacities = []
    for number in range(13):
        ring.write_one(number)
        capacities.append(ring.capacity)
    assert capacities == [3] * 3 + [6] * 3 + [12] * 6 + [24]
    assert [ring.read_one() for _ in range(13)] == list(range(13))
    assert ring.capacity == 24


def test_it_may_begin_without_places():
    ring = RingGrowing(0)
    assert ring.capacity == 0
    ring.write_one("a")
    assert ring.capacity == 16
    assert ring.read_one() == "a"


def test_it_wraps_around_without_growing():
    ring = RingGrowing(2)
    for number in range(100):
        ring.write_one(number)
        assert ring.read_one() == number
    assert ring.capacity == 2


def test_it_grows_while_it_is_wrapped_around():
    ring = RingGrowing(4)
    for number in range(4):
        ring.write_one(number)
    assert [ring.read_one() for _ in range(3)] == [0, 1, 2]
    for number in range(4, 10):
        ring.write_one(number)
    assert [ring.read_one() for _ in range(7)] == list(range(3, 10))


def test_a_negative_size_is_refused():
    with pytest.raises(ValueError, match="give 0 or more"):
        RingGrowing(-1)


def test_none_is_a_value():
    ring = RingGrowing(1)
    ring.write_one(None)
    assert len(ring) == 1
    assert ring.read_one() is None


class Value:
    """Something that can be watched going."""


@pytest.mark.parametrize("let_go", [RingGrowing.read_one, RingGrowing.clear])
def test_what_was_read_or_cleared_is_let_go(let_go):
    ring = RingGrowing(2)
    value = Value()
    gone = weakref.ref(value)
    ring.write_one(value)
    del value
    gc.collect()
    assert gone() is not None
    let_go(ring)
    gc.collect()
    assert gone() is None
    assert (len(ring), ring.capacity) == (0, 2)
    ring.write_one("next")
    assert ring.read_one() == "next"
