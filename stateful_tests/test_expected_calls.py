"""One replay of all calls of a program gives the outcomes that a replay of each sequence gives."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcache_conformance.targets.class_names import class_type_name
from kcache_conformance.targets.target_types import target_type_named
from kcache_model.object_types.expected_calls import ExpectedCalls
from kcache_model.object_types.plain import MethodCall, ObjectProgram
from kcache_model.object_types.replay_steps import CalledBy, Calls
from kcache_model.object_types.replayed import ReplaySpecification
from kcache_model.outcomes import Outcome
from kcache_stress.objects.virtual_calls import VirtualCalls
from kcache_stress.target.explore import ExploreOptions

CLASSES = """
    import threading
    import time

    class Account:
        def __init__(self):
            self.sum = 0

        def put(self, amount: int) -> int:
            self.sum += amount
            return self.sum

        def take(self, amount: int) -> int:
            if amount > self.sum:
                raise ValueError(amount)
            self.sum -= amount
            return self.sum

        def total(self) -> int:
            return self.sum

        def twice(self) -> int:
            return 2 * self.sum

    class Box:
        def __init__(self):
            self.changed = threading.Condition()
            self.items = []

        def put(self, amount: int) -> int:
            with self.changed:
                self.items.append(amount)
                self.changed.notify()
                return len(self.items)

        def take(self, amount: int) -> int:
            with self.changed:
                while not self.items:
                    self.changed.wait()
                return self.items.pop()

        def total(self) -> int:
            return len(self.items)

        def twice(self) -> int:
            return 2 * len(self.items)

    class Hasty(Box):
        def take(self, amount: int) -> int:
            with self.changed:
                if not self.changed.wait_for(lambda: self.items, timeout=1):
                    return -1
                return self.items.pop()

    class Reader(Account):
        def total(self) -> int:
            self.sum += 1
            return self.sum

    class Caller(Account):
        def put(self, amount: int) -> int:
            return threading.get_ident() % 2

    class Stuck(Account):
        def take(self, amount: int) -> int:
            while amount:
                time.sleep(1)
            return self.sum
"""

PUT, TAKE, TOTAL = MethodCall("put", (1,)), MethodCall("take", (1,)), MethodCall("total", (), is_write=False)
TWICE = MethodCall("twice", (), is_write=False)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("expected") / "expected.py"
    made.write_text(textwrap.dedent(CLASSES), encoding="utf-8")
    return made


def specification(target: str) -> ReplaySpecification:
    """A specification that has replayed nothing yet, as the explorer uses it."""
    exploring = target_type_named(class_type_name(target)).exploring
    assert exploring is not None
    made: Any = exploring.exploration_target(target, (), ExploreOptions().granularity)
    return made._object_type.specification(ObjectProgram())


def outcomes(asked: ReplaySpecification, threads: tuple[tuple[CalledBy, ...], ...]) -> Iterator[tuple[Calls, Outcome]]:
    """The outcome of each call after each sequence of calls that does not wait, with the last reads."""
    todo: list[tuple[Calls, tuple[tuple[CalledBy, ...], ...]]] = [((), threads)]
    while todo:
        state, left = todo.pop()
        if not any(left):
            for read in (TOTAL, TWICE):
                for _, outcome in asked.effects(state, read):
                    yield (*state, read), outcome
        for number, own in enumerate(left):
            for after, outcome in asked.effects(state, own[0]) if own else ():
                yield (*state, own[0]), outcome
                todo.append((after, (*left[:number], own[1:], *left[number + 1 :])))


PROGRAMS = [
    *itertools.product(itertools.product((PUT, TAKE), repeat=2), repeat=2),
    ((PUT, TOTAL), (TAKE, PUT)),
    ((TOTAL,), (PUT, TAKE), (PUT,)),
]


@pytest.mark.parametrize("name", ["Account", "Box", "Hasty", "Reader", "Caller", "Stuck"])
def test_outcomes_are_those_of_single_replays(file: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"replay": 0, "in_passing": 0}

    def counted(method: str) -> None:
        real = getattr(VirtualCalls, method)

        def count(*args: Any, **named: Any) -> Any:
            counts[method] += 1
            return real(*args, **named)

        monkeypatch.setattr(VirtualCalls, method, count)

    counted("replay")
    counted("in_passing")
    singly = ahead = asked = 0
    for threads in PROGRAMS if name != "Stuck" else PROGRAMS[:2]:
        called = tuple(tuple(CalledBy(call, number) for call in own) for number, own in enumerate(threads))
        plain, expecting = specification(f"{file}:{name}"), specification(f"{file}:{name}")
        before = sum(counts.values())
        expected = list(outcomes(plain, called))
        between = sum(counts.values())
        expecting.expect(list(itertools.chain(*called)), [TOTAL, TWICE])
        assert list(outcomes(expecting, called)) == expected
        singly, ahead = singly + between - before, ahead + sum(counts.values()) - between
        asked += len(expected)
    assert asked
    assert ahead < singly * (0.6 if name in ("Account", "Reader", "Caller") else 1.2)


def test_what_follows_is_the_rest_of_the_program() -> None:
    first, second, other = CalledBy(PUT, 0), CalledBy(TAKE, 0), CalledBy(PUT, 1)
    expected = ExpectedCalls([first, CalledBy(TOTAL, 0), second, other], [TOTAL, TWICE])
    assert expected.after((first,)) == (second, other, TOTAL)
    assert expected.after((other,)) == (first, second, TOTAL)
    assert expected.after((first, other, second)) == (TOTAL,)
    assert expected.after((second,)) == ()  # a call of another program
    assert expected.after((first, CalledBy(TOTAL, 1))) == ()
    assert expected.after((first, TOTAL)) == ()
