"""Machines that are made of a class: its methods are the rules, and what cannot be called is named; and bundles."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle

from kcache import testing as kt
from kcache.testing import in_threads, machine_of, stress
from kcache_conformance.classes.machine import rules_of
from kcache_conformance.classes.machine_type import machine_vocabulary
from kcache_model.errors import TargetError
from kcache_stress.loading import importable_spec
from test_classes import machine, outcome_of


class Board:
    """Has methods whose names machines have, too, and one that takes a function."""

    def __init__(self, size: int = 1) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def teardown(self, key: str) -> str:
        return key

    def check(self) -> None:
        assert self.size < 2

    def subscribe(self, where: socket.socket) -> None: ...

    async def later(self) -> int:
        await asyncio.sleep(0)
        return self.size

    def missing(self) -> None:
        raise KeyError


class Smaller:
    def check(self) -> None:
        pass


BoardMachine: Any = machine_of(Board, leave_out=["subscribe"])


def test_the_methods_are_rules_and_what_has_no_values_is_named() -> None:
    assert list(rules_of(BoardMachine)) == ["call_len", "call_teardown", "check", "later", "missing", "size"]
    assert BoardMachine.left_out == ("subscribe",)
    assert importable_spec(BoardMachine) == f"{__name__}:_BoardMachine"
    with pytest.warns(UserWarning, match=r"leaves out subscribe\(where: .*leave_out=\['subscribe'\]"):
        (text,) = machine_of(Board).left_out
    assert text.startswith("subscribe(where: ")


def test_in_one_thread_an_exception_is_an_outcome_but_a_failed_check_is_none() -> None:
    assert outcome_of(BoardMachine.TestCase).wasSuccessful()
    failed = outcome_of(machine_of(Board, 2, leave_out=["subscribe"]).TestCase)
    assert "assert self.size < 2" in failed.failures[0][1]


def test_a_model_decides_in_one_thread() -> None:
    assert outcome_of(machine("MadeWithMore").TestCase).wasSuccessful()
    failed = outcome_of(machine("MadeLocked").TestCase)  # that raises SoldOut, and the model LookupError
    assert "sell() raised SoldOut; the model raised LookupError" in failed.failures[0][1]


@pytest.mark.parametrize("made", [in_threads, pytest.param(stress, marks=pytest.mark.nightly)])
def test_in_threads_it_fails_where_the_class_is_wrong(made: Callable[..., Any]) -> None:
    failed = outcome_of(made(machine("MadeStock"), seconds=60))
    assert "No sequential order" in failed.failures[0][1]


def test_in_threads_it_passes_where_the_class_is_right() -> None:
    assert outcome_of(in_threads(machine("MadeWithMore"), seconds=1)).wasSuccessful()


@pytest.mark.parametrize(
    ("arguments", "options", "text"),
    [
        ((Board, 1, 2), {}, r"creating an object of Board raised TypeError: .*"),
        ((type("Needs", (), {"__init__": lambda self, size: None}),), {}, r"machine_of\(Needs, 2\)"),
        ((3,), {}, "takes a class, not 3"),
        ((type("Empty", (), {}),), {}, "Empty has no public methods that can be called"),
        (
            (Board,),
            {"model": Smaller},
            r"the model Smaller has no __len__, later, missing, teardown, size, but Board has",
        ),
    ],
)
def test_what_cannot_be_used_is_one_clear_line(arguments: Any, options: Any, text: str) -> None:
    with pytest.raises(TargetError, match=text):
        machine_of(*arguments, leave_out=["subscribe"], **options)


@pytest.mark.parametrize("makes", [None, dict])
def test_what_a_rule_returns_goes_into_its_bundle(makes: Any) -> None:
    taken = set()

    class Choosing(kt.Machine):
        numbers = Bundle("numbers")
        model = makes
        subject = dict

        @kt.rule(target=numbers, number=st.integers(1, 3))
        def choose(self, made: Any, number: int) -> int:
            return number

        @kt.rule(number=numbers)
        def take(self, made: Any, number: int) -> None:
            taken.add(number)

    assert outcome_of(Choosing.TestCase).wasSuccessful()
    assert taken == {1, 2, 3}


def test_what_goes_into_a_bundle_is_no_argument_in_threads() -> None:
    found = {template.name: len(template.arguments) for template in machine_vocabulary(machine("WithTarget"))}
    assert found == {"choose": 1, "refill": 1, "sell": 0}
