"""Values that calls of classes take and return: unusual results, and methods that return only after other ones."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from kcache_conformance.classes import sparing
from kcache_conformance.classes.class_type import class_type
from kcache_conformance.classes.public_calls import public_calls
from kcache_conformance.classes.vocabulary_choice import vocabulary_of
from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.results.events import SuiteResult
from kcache_conformance.runs.guessed_type import guessed_type
from kcache_conformance.runs.suite import run_suite
from kcache_conformance.targets.class_names import CLASS, class_type_name
from kcache_model.object_types.method_call import MethodCall
from kcache_model.object_types.plain import plain_value
from kcache_model.outcomes import Outcome, raised
from kcache_model.verdict import Status
from stateful_tests.material.front_door import values

VALUES = Path(values.__file__)
NAMES = [name.removeprefix("Bad") for name in vars(values) if name.startswith("Bad")]


def checked(name: str, programs: int) -> SuiteResult:
    """The result of a check of a class of :mod:`.front_door.values` that does a fixed amount of work."""
    spec = f"{VALUES}:{name}"
    options = SuiteOptions(
        kind=class_type_name(spec), phases=("explorer",), programs=programs, budget_seconds=600.0, most_findings=1
    )
    return run_suite(spec, options)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", NAMES)
def test_a_faulty_class_is_found(name: str) -> None:
    result = checked(f"Bad{name}", 300)  # a fault ends the run: most need few
    assert result.status is Status.VIOLATION, result.reasons


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", NAMES)
def test_its_right_twin_is_ok_and_each_of_its_methods_has_returned(name: str) -> None:
    result = checked(f"Good{name}", 30)
    assert not result.findings
    assert result.status is Status.OK, result.reasons
    assert not result.methods.not_compared


def nested(times: int) -> list[object]:
    inner: list[object] = []
    for _ in range(times):
        inner = [inner, inner]
    return inner


UNUSUAL = [
    lambda: nested(40),
    lambda: [float("nan"), {"a": float("nan")}],
    lambda: list(range(100_000)),
    lambda: set(range(100_000)),
    lambda: dict.fromkeys(range(100_000)),
    lambda: "x" * 100_000,
    lambda: b"x" * 100_000,
    lambda: 10**6000,
]


@pytest.mark.parametrize("make", UNUSUAL)
def test_an_unusual_value_is_reduced_to_data_that_is_equal_to_itself_and_short(make: object) -> None:
    assert callable(make)
    reduced = plain_value(make())
    assert reduced == plain_value(make())
    assert len(repr(reduced)) < 200_000
    hash(reduced)


def test_what_lies_in_itself_is_named_there_by_its_type() -> None:
    ring: list[object] = [1]
    ring.append(ring)
    assert plain_value(ring) == (1, "a list")
    own: dict[str, object] = {}
    own["me"] = own
    assert plain_value(own) == (("me", "a dict"),)


def test_huge_values_that_differ_in_size_or_text_are_told_apart() -> None:
    assert plain_value([0] * 5_000) != plain_value([0] * 5_001)
    assert plain_value("x" * 20_000 + "y") != plain_value("x" * 20_000 + "z")
    assert plain_value(10**6000) != plain_value(10**6001)


def test_a_class_that_prints_does_not_print_while_it_is_tried(capfd: pytest.CaptureFixture[str]) -> None:
    class_type(class_type_name(f"{VALUES}:GoodPrinter"))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["collections:deque", "collections:OrderedDict", "weakref:WeakValueDictionary"])
def test_each_method_of_a_container_returns_after_one_that_puts_something_in(name: str) -> None:
    kind = class_type(class_type_name(name))
    loaded = kind.load(name)
    assert {"pop", "__getitem__", "__setitem__", "__delitem__"} <= set(kind.calls(loaded))
    assert [text for text in kind.not_tested(loaded) if not text.startswith("what data returns (it is a dict")] == []


@pytest.mark.parametrize(("seconds", "made"), [(0.003, 5_000), (0.25, 49)])
def test_quick_tries_are_all_made_on_a_slow_machine(seconds: float, made: int, monkeypatch: pytest.MonkeyPatch) -> None:
    now, called = [0.0], itertools.count()

    class Tries:
        real_waits = 0

        def __call__(self, calls: tuple[MethodCall, ...], /) -> Outcome:
            now[0] += seconds
            next(called)
            return Outcome()

        def result(self, calls: tuple[MethodCall, ...], /) -> object:
            return calls

    monkeypatch.setattr(sparing, "own_seconds", lambda: now[0])
    tries = sparing.Sparing(Tries(), sparing.Allowance())
    outcomes = [tries((MethodCall("get", ()),)) for _ in range(5_000)]
    assert next(called) == made
    assert sum(outcome.waits for outcome in outcomes) == 5_000 - made
    assert (tries.result(()) is None) == (made < 5_000)


def test_values_of_many_parameters_are_tried_a_few_times_only() -> None:
    tried = itertools.count()

    class Tries:
        def __call__(self, calls: tuple[MethodCall, ...], /) -> Outcome:
            next(tried)
            return raised("ValueError") if calls[-1].name == "order" else Outcome()

        def result(self, calls: tuple[MethodCall, ...], /) -> object:
            del calls
            return None

    made = values.Particular()
    vocabulary_of(public_calls(values.Particular, made), Tries())
    assert next(tried) < 2_000


def test_a_function_that_makes_an_object_of_a_class_in_c_is_taken_for_a_class() -> None:
    assert [guessed_type(name) for name in ("threading:RLock", "threading:Lock")] == [CLASS, CLASS]
    assert guessed_type("math:pi") != CLASS


def test_two_equal_calls_of_which_one_is_over_before_its_first_step_are_explored() -> None:
    options = SuiteOptions(
        kind=class_type_name("collections:OrderedDict"), phases=("explorer",), programs=25, budget_seconds=600.0
    )
    result = run_suite("collections:OrderedDict", options)
    assert result.status is Status.OK, result.reasons


def test_a_fraction_is_ok_although_the_explorer_has_a_copy_of_its_class() -> None:
    options = SuiteOptions(
        kind=class_type_name("fractions:Fraction"), phases=("explorer",), programs=20, budget_seconds=600.0
    )
    result = run_suite("fractions:Fraction", options)
    assert not result.findings
    assert result.status is Status.OK, result.reasons


def test_a_container_in_c_is_iterated_in_one_step_and_one_in_python_in_several() -> None:
    def stressed(spec: str) -> SuiteResult:
        options = SuiteOptions(kind=class_type_name(spec), phases=("stress",), programs=150, budget_seconds=600.0)
        return run_suite(spec, options)

    assert not [found for found in stressed("collections:deque").findings if "mutated during" in found.summary]
    result = checked("BadShelf", 40)
    assert any("changed size during" in found.summary for found in result.findings)


REFUSED = """
import greenlet
class Outside:
    def look(self): return greenlet.greenlet(bool).switch(1)
    def refuse(self): raise PermissionError("never")
"""


def test_a_run_without_the_explorer_in_which_methods_were_not_called_is_incomplete(tmp_path: Path) -> None:
    file = tmp_path / "outside.py"
    file.write_text(REFUSED, encoding="utf-8")
    spec = f"{file}:Outside"
    options = SuiteOptions(kind=class_type_name(spec), phases=("explorer", "stress"), programs=5, budget_seconds=600.0)
    result = run_suite(spec, options)
    assert any("explorer" in reason for reason in result.reasons)
    assert (result.status, result.verdict) == (Status.UNKNOWN, "incomplete")
