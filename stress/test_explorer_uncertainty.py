"""What makes it uncertain that real threads do what an execution did."""

from __future__ import annotations

import threading
import weakref
from collections import UserDict
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kcache_stress.engine.events import READ, Trace
from kcache_stress.engine.granularity import Granularity
from kcache_stress.judgement.plain_data import plain
from kcache_stress.modules.sandbox import Roots, Sandbox
from kcache_stress.modules.uncertainty import late_finalizer
from stress.conftest import Write


class Plain:
    pass


class Closed:
    def __del__(self) -> None:
        pass


class Mute:
    def __getattribute__(self, name: str) -> Any:
        raise ValueError(f"asked for {name}")


def steps() -> Iterator[int]:
    try:
        yield 1
        yield 2
    finally:
        pass


def with_lock() -> Iterator[int]:
    with threading.Lock():
        yield 1


def caught() -> Iterator[int]:
    for number in range(2):
        try:
            yield number
        except GeneratorExit:
            return


def within() -> Iterator[int]:
    yield from steps()


def closing_nothing() -> Iterator[int]:
    try:
        numbers = [1, 2]
    except ValueError:
        numbers = []
    for number in numbers:
        yield number + 1


def trace_of(obj: object) -> Trace:
    return [(0, READ, obj, "value")]


def test_objects_with_a_finalizer_are_found_without_asking_them() -> None:
    generator = steps()
    assert not late_finalizer(trace_of(generator))
    next(generator)
    assert late_finalizer(trace_of(generator)).startswith("the rest of the generator steps")
    assert late_finalizer(trace_of(Closed())).startswith("Closed.__del__")
    assert not late_finalizer(trace_of(Mute()))
    assert not late_finalizer(trace_of(Plain()))


@pytest.mark.parametrize(
    ("generator", "runs"),
    [
        (steps, True),
        (with_lock, True),
        (caught, True),
        (within, True),
        (closing_nothing, False),
        (lambda: iter({1: 2}.items() | {(2, 3)}), False),
        (lambda: iter(UserDict({1: 2}).values()), False),
        (lambda: (number for number in (1, 2)), False),
    ],
)
def test_a_generator_counts_if_closing_it_runs_code(generator: Callable[[], Iterator[Any]], runs: bool) -> None:
    begun = generator()
    next(begun)
    assert bool(late_finalizer(trace_of(begun))) is runs


@pytest.mark.parametrize("refer", [weakref.ref, weakref.proxy])
@pytest.mark.parametrize("kind", [Plain, Mute])
def test_callbacks_of_weak_references_and_proxies_are_found(kind: type, refer: Any) -> None:
    obj = kind()
    silent = refer(obj)
    assert not late_finalizer(trace_of(obj)), silent
    telling = refer(obj, lambda _: None)
    assert late_finalizer(trace_of(obj)).startswith(f"the callback of a weak reference to a {kind.__name__}"), telling


@pytest.mark.parametrize(("body", "is_told"), [("def __del__(self): pass", True), ("count = 0", False)])
def test_at_opcodes_no_event_names_objects_and_classes_are_looked_at(write: Write, body: str, is_told: bool) -> None:
    write({"uncertain_classes.py": f"class Conn:\n    {body}\n"})
    sandbox = Sandbox(Roots(frozenset({"uncertain_classes"})), Granularity.OPCODES)
    sandbox.load("uncertain_classes")
    assert sandbox.unseen([]).startswith("Conn.__del__" if is_told else "") is True
    assert bool(sandbox.unseen([])) is is_told


def test_outcomes_of_audits_are_compared_without_asking_them() -> None:
    with pytest.raises(TypeError, match="not plain data"):
        plain(Mute())
