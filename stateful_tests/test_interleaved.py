"""Interleaved tests: bodies that fail in some order of their threads are found out, and their twins pass."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from kcache import testing
from kcache.testing import clock, interleaved, replay, run
from kcache_conformance.errors import ConformanceError, InconclusiveError
from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.report.interleaving import interleaving_text
from kcache_conformance.runs.guessed_type import guessed_type, type_of_target
from kcache_conformance.runs.suite import run_suite
from kcache_model.errors import CannotExploreError, TargetError
from kcache_model.finding import Finding, FindingKind
from kcache_model.interleaved_program import InterleavedProgram
from kcache_model.verdict import Status
from kcache_stress.engine import counterexample
from kcache_stress.interleaved import runner
from kcache_stress.interleaved.body_exploration import TOKENS, BodyExplorationTarget
from kcache_stress.interleaved.named_test import load_test
from kcache_stress.target.explore import Explored, ExploreOptions, explore

EXAMPLES = Path(__file__).parent.parent / "examples" / "any_class"
BODIES = EXAMPLES / "bodies.py"


def explored(name: str, **options: object) -> Explored:
    exploration_target = BodyExplorationTarget(f"{BODIES}:{name}")
    quick = ExploreOptions(executions=60)
    return explore(exploration_target, InterleavedProgram(), ExploreOptions(seconds=60.0, candidates=quick, **options))  # type: ignore[arg-type]


def finding(name: str) -> Finding:
    found = explored(name).finding
    assert found is not None
    return found


FAILING = [
    ("fails_sold_twice", FindingKind.FAILURE, "assert len(sold) == 1"),
    ("fails_without_a_check", FindingKind.NONLINEARIZABLE, "one after another, they return"),
    ("fails_in_threads_of_its_own", FindingKind.FAILURE, "assert stock.sell() == 0"),
    ("fails_for_ever", FindingKind.DEADLOCK, "held by thread"),
    ("fails_twice_run", FindingKind.FAILURE, "assert stock.sell() == 2"),
    ("fails_where_a_thread_dies", FindingKind.FAILURE, "work(), ended with Empty"),
    ("fails_in_a_call_of_c", FindingKind.FAILURE, "assert _entered_by_threads() != [2, 1, 0]"),
    ("fails_alone", FindingKind.FAILURE, "stock.sell(), ended with SoldOut"),
    ("fails_before_there_are_threads", FindingKind.FAILURE, "the test ended with SoldOut"),
    ("Method.fails", FindingKind.FAILURE, "assert self.stock.sell() == 0"),
    ("Case.fails", FindingKind.FAILURE, "the test fails: 1 != 0"),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("name", "kind", "text"), FAILING, ids=[name for name, *_ in FAILING])
def test_a_body_that_may_fail_is_found_out(name: str, kind: FindingKind, text: str) -> None:
    found = finding(name)
    assert found.kind is kind
    assert text in found.summary
    token = TOKENS.decode(found.schedule)
    assert token.target == f"{BODIES}:{name}"


@pytest.mark.nightly
def test_a_pool_is_explored_too() -> None:
    assert finding("fails_in_a_pool").kind is FindingKind.FAILURE


POOLED = """
import queue
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed

from kcache import testing as kt


class Memo:
    value = None

    def get(self):
        if self.value is None:
            self.value = object()
        return self.value


def in_a_pool():
    memo = Memo()
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(memo.get) for _ in range(2)]
        assert len({id(one.result()) for one in HOW}) == 1


def takes_it_twice():
    lock = threading.Lock()

    def twice():
        with lock:
            lock.acquire()

    kt.run(twice, twice)


def feeds_a_worker():
    tasks = queue.Queue()
    worker = threading.Thread(target=lambda: tasks.get())
    worker.start()
    for task in range(HOW):
        tasks.put(task)
    worker.join()
"""


@pytest.mark.parametrize(
    ("name", "how", "says"),
    [
        ("in_a_pool", "futures", ["waits in Future#1.result()", "thread 2 waits for something to do"]),
        ("in_a_pool", "as_completed(futures)", [" as_completed() begins", "waits in as_completed()"]),
        ("takes_it_twice", "()", ["thread 1 waits for lock, held by thread 1"]),
        ("feeds_a_worker", "0", ["thread 1 waits for the end of thread 2", "thread 2 waits in Queue#1.get()"]),
    ],
)
def test_who_waits_for_what_in_a_pool(
    name: str, how: str, says: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counterexample, "_BOUNDED", replace(counterexample._BOUNDED, seconds=600.0))
    (tmp_path / "pooled.py").write_text(POOLED.replace("HOW", how), encoding="utf-8")
    exploration_target = BodyExplorationTarget(f"{tmp_path / 'pooled.py'}:{name}")
    quick = ExploreOptions(seconds=inf, candidates=ExploreOptions(executions=20))  # that a GIL allows it is not asked
    found = explore(exploration_target, InterleavedProgram(), quick).finding
    assert found is not None
    assert found.interleaving is not None
    text = interleaving_text(found.interleaving)
    assert [one for one in says if one not in text] == [], text
    assert "_WorkItem" not in text
    assert "NoneType" not in text
    if name == "in_a_pool":
        assert "held by" not in text


def test_a_worker_that_gets_its_task_waits_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "pooled.py").write_text(POOLED.replace("HOW", "1"), encoding="utf-8")
    exploration_target = BodyExplorationTarget(f"{tmp_path / 'pooled.py'}:feeds_a_worker")
    found = explore(exploration_target, InterleavedProgram(), ExploreOptions(executions=400))
    assert found.finding is None
    assert found.is_exhausted, found.note


@pytest.mark.parametrize(
    "name",
    [
        "passes_sold_once",
        "passes_without_a_check",
        "passes_in_order",
        "passes_in_calls_of_c",
    ],
)
def test_its_twin_passes_in_every_order(name: str) -> None:
    found = explored(name)
    assert found.finding is None
    assert found.is_exhausted, found.note


@pytest.mark.parametrize(("most", "is_smallest"), [(60.0, True), (0.0, False)])
def test_to_make_a_schedule_smaller_counts_and_what_was_found_is_told_without_it(
    most: float, is_smallest: bool
) -> None:
    found = explored("fails_sold_twice", whole_seconds=most).finding
    assert found is not None
    assert ("no schedule with fewer fails" in found.detail) == is_smallest
    assert TOKENS.decode(found.schedule).schedule


def test_a_long_wait_takes_no_time_and_is_proved_if_it_may_end_at_any_moment() -> None:
    found = explored("passes_after_a_day")
    assert (found.finding, found.no_proof, found.is_exhausted) == (None, "", True)


def test_threads_of_a_body_that_start_elsewhere_pass_where_it_is_right() -> None:
    found = explored("passes_in_threads_of_its_own", executions=60)
    assert found.finding is None


def test_the_story_names_threads_by_their_calls_and_objects_by_the_names_in_the_test() -> None:
    told = finding("fails_without_a_check").interleaving
    assert told is not None
    assert [call.text for call in told.calls] == ["stock.sell()", "stock.refill(1)"]
    assert {event.subject for event in told.events if event.slot == "._count"} == {"stock"}


def test_what_needs_no_concurrency_is_told() -> None:
    assert finding("fails_alone").detail.startswith("It also fails without concurrency")
    assert "without concurrency" not in finding("fails_sold_twice").detail


def test_results_are_not_compared_with_some_of_their_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_MOST_ORDERS", 1)
    found = explored("passes_without_a_check")
    assert found.finding is None
    assert not found.is_exhausted
    assert "more than 1 orders of its threads" in found.refused


def test_a_body_without_threads_is_never_ok() -> None:
    found = explored("starts_nothing")
    assert found.finding is None
    assert not found.is_exhausted
    assert "starts no threads" in found.refused


def test_a_refusal_before_the_threads_is_told_with_its_line(tmp_path: Path) -> None:
    body = "import socket\ndef test_it():\n    socket.create_connection(('example.com', 80))\n"
    (tmp_path / "far_away.py").write_text(body)
    found = explore(
        BodyExplorationTarget(f"{tmp_path / 'far_away.py'}:test_it"), InterleavedProgram(), ExploreOptions(seconds=60.0)
    )
    assert found.refused.startswith("far_away.py:3 in test_it looks up the address of example.com")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("takes_arguments", "takes nobody_builds_this: pytest has no such fixture"),
        ("Method", "is not a test"),
        ("nothing", "has no nothing"),
        ("SoldOut", "is not a test"),
    ],
)
def test_what_is_no_test_is_one_clear_line(name: str, text: str) -> None:
    with pytest.raises(TargetError, match=text):
        load_test(f"{BODIES}:{name}").with_parameters({})


def test_a_local_function_says_where_it_has_to_be() -> None:
    with pytest.raises(TargetError, match="at the top of a module"):
        load_test(lambda: None)


def module_of(folder: Path, source: str) -> Callable[[str], Callable[[], None]]:
    (folder / "own_test_module.py").write_text(inspect.cleandoc(source), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("own_test_module", folder / "own_test_module.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["own_test_module"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return lambda name: getattr(module, name)


DECORATED = """
    from kcache.testing import interleaved, run

    class Counter:
        value = 0

        def add(self):
            value = self.value
            self.value = value + 1

    @interleaved
    def fails():
        counter = Counter()
        run(counter.add, counter.add)
        assert counter.value == 2

    @interleaved(exhaustive=True)
    def passes():
        counter = Counter()
        run(counter.add, lambda: None)
        assert counter.value == 1

    @interleaved
    def starts_nothing():
        assert Counter().value == 0
"""


def test_the_decorator_fails_with_the_story_and_a_token(tmp_path: Path) -> None:
    named = module_of(tmp_path, DECORATED)
    with pytest.raises(ConformanceError, match=r"the test fails: assert counter.value == 2") as caught:
        named("fails")()
    token = next(word for word in str(caught.value).split() if word.startswith("kt1."))
    with pytest.raises(ConformanceError, match=r"assert counter.value == 2"):
        replay(token, trust=True)


def test_the_decorator_lets_a_right_test_pass(tmp_path: Path) -> None:
    module_of(tmp_path, DECORATED)("passes")()


def test_the_decorator_says_that_nothing_is_to_be_explored(tmp_path: Path) -> None:
    with pytest.raises(InconclusiveError, match="starts no threads"):
        module_of(tmp_path, DECORATED)("starts_nothing")()


def test_without_the_explorer_the_threads_are_real() -> None:
    before = clock()
    assert run(lambda: 1, lambda: 2) == [1, 2]
    assert clock() >= before
    with pytest.raises(ZeroDivisionError):
        run(lambda: 1 // 0, lambda: 2)
    first, second = run(lambda: 1 // 0, lambda: 2, serializable=True)
    assert isinstance(first, ZeroDivisionError)
    assert second == 2


@pytest.mark.parametrize("works", [(), (1,), (print, "x")])
def test_run_takes_functions(works: tuple[object, ...]) -> None:
    with pytest.raises(TypeError, match="run\\(\\) takes functions"):
        run(*works)  # type: ignore[arg-type]


def test_a_state_is_for_comparisons() -> None:
    with pytest.raises(TypeError, match="serializable=True"):
        run(lambda: 1, state=lambda: 2)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bodies.py:fails_alone", "test"),
        ("bodies.py:Method.fails", "test"),
        ("bodies.py:takes_arguments", "indexer"),
        ("bodies.py:nothing", "indexer"),
        ("nothing.py:nothing", "indexer"),
        ("stock.py:Stock", "class"),
        ("stock.py:LockedStock", "class"),
        ("stock.py:Stock(2)", "class"),
        ("stock.py:SoldOut", "class"),
        ("machines.py:StockMachine", "class"),
        ("machines.py:MadeStock", "class"),
        ("machines.py:MadeWithMore", "class"),
        ("machines.py:WithTarget.counts", "indexer"),
    ],
)
def test_the_type_of_a_target_is_seen_in_its_source(name: str, expected: str) -> None:
    assert guessed_type(str(EXAMPLES / name)) == expected


def test_the_decorator_is_a_public_name() -> None:
    assert {"interleaved", "run", "clock", "Machine", "rule", "invariant"} <= set(testing.__all__)
    assert interleaved is testing.interleaved


def test_a_marked_test_may_take_arguments(tmp_path: Path) -> None:
    marked = "@kt.interleaved(seconds=1)\ndef test_it(tmp_path, number):\n    pass\n"
    (tmp_path / "marked.py").write_text(marked, encoding="utf-8")
    assert guessed_type(f"{tmp_path / 'marked.py'}:test_it") == "test"


BASES = """
from kcache import testing as kt

class Base(kt.Machine):
    pass

Made = kt.machine_of(dict)

class Needy:
    def __init__(self, size):
        pass
"""

DERIVED = """
import {package}bases
from {origin} import Base, Made as M, Needy

class Imported(Base):
    pass

class OfModule({package}bases.Base):
    pass

class OfMade(M):
    pass

class OfNeedy(Needy):
    pass
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Imported", "class"), ("OfModule", "class"), ("OfMade", "class"), ("Base", "class"), ("OfNeedy", "indexer")],
)
def test_what_is_derived_is_seen_where_its_base_is(
    name: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "__init__.py").touch()
    for place, package, origin in ((tmp_path, "", "bases"), (folder, "package.", ".bases")):
        (place / "bases.py").write_text(BASES, encoding="utf-8")
        (place / "derived.py").write_text(DERIVED.format(package=package, origin=origin), encoding="utf-8")
    assert guessed_type(f"{tmp_path / 'derived.py'}:{name}") == expected
    monkeypatch.chdir(tmp_path)
    assert guessed_type(f"package.derived:{name}") == expected


MAKERS = """
class Thing:
    def __init__(self, size):
        self.size = size

    @classmethod
    def small(cls):
        return cls(1)

    @classmethod
    def of(cls, size):
        return cls(size)

    @staticmethod
    def large():
        return Thing(9)

    def method(self):
        return self.size

    @classmethod
    def test_it(cls):
        pass

def make():
    return Thing(1)

def body():
    def inner():
        return 1
    inner()

def test_it(fixture):
    return 1
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Thing.small", "class"),
        ("Thing.of", "indexer"),
        ("Thing.large", "class"),
        ("Thing.method", "test"),
        ("Thing.test_it", "test"),
        ("make", "class"),
        ("body", "test"),
    ],
)
def test_what_makes_an_object_is_no_test(name: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "makers.py").write_text(MAKERS, encoding="utf-8")
    assert guessed_type(f"{tmp_path / 'makers.py'}:{name}") == expected


@pytest.mark.parametrize(
    ("name", "said"), [("Thing.small", "is a class method, not a test"), ("Thing.method", "needs arguments")]
)
def test_what_makes_an_object_or_lacks_one_is_refused_as_a_test(name: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "makers.py").write_text(MAKERS, encoding="utf-8")
    with pytest.raises(TargetError, match=said):
        load_test(f"{tmp_path / 'makers.py'}:{name}")
    assert load_test(f"{tmp_path / 'makers.py'}:body").attribute == "body"


@pytest.mark.parametrize(
    ("file", "expected"), [("test_it.py", "test"), ("it_test.py", "test"), ("makers.py", "indexer")]
)
def test_a_test_of_pytest_may_take_fixtures(file: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(MAKERS, encoding="utf-8")
    assert guessed_type(f"{tmp_path / file}:test_it") == expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def helper(): pass\ndef test_a(): pass\nclass TestB:\n    def test_c(self): pass\n", "test_a, TestB.test_c"),
        ("class Stock:\n    def sell(self): pass\ndef make(): pass\n_hidden = 1\n", "Stock, make"),
    ],
)
def test_a_file_without_a_name_is_told_with_its_names(text: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "things.py"
    file.write_text(text, encoding="utf-8")
    for said in (None, "test", "class"):
        with pytest.raises(TargetError, match=rf"things\.py:NAME, with one of its names: {told}$"):
            type_of_target(str(file), said)
    assert type_of_target(f"{file}:{told.partition(',')[0]}", None).name in ("test", f"class={file}:Stock")


SLOW = """
from kcache import testing as kt

for number in range(25_000_000):
    pass


@kt.interleaved
def test_it():
    found = []
    kt.run(lambda: found.append(1), lambda: found.append(2))
    {last}
"""


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("last", "expected"), [("assert len(found) == 2", Status.OK), ("while True: pass", Status.VIOLATION)]
)
def test_to_load_its_modules_may_take_longer_than_patience_lasts(tmp_path: Path, last: str, expected: Status) -> None:
    """They are loaded anew for each granularity; what hangs when they are loaded is a hang all the same."""
    (tmp_path / "slowly.py").write_text(SLOW.format(last=last), encoding="utf-8")
    options = SuiteOptions(phases=("explorer",), kind="test", patience_seconds=0.3, budget_seconds=60.0)
    assert run_suite(f"{tmp_path / 'slowly.py'}:test_it", options).status is expected


OUTCOMES = """
import unittest

import pytest

from kcache import testing as kt


def of_two(add):
    found = []

    def work():
        before = len(found)
        found[before:] = [before]

    kt.run(work, work if add else lambda: None)
    return len(found)


def passes():
    assert of_two(False) == 1


def pytest_fails():
    if of_two(True) != 2:
        pytest.fail("one is lost")


def pytest_skips():
    if of_two(True) != 2:
        pytest.skip("one is lost")


def pytest_expects_it():
    if of_two(True) != 2:
        pytest.xfail("one is lost")


def unittest_skips():
    if of_two(True) != 2:
        raise unittest.SkipTest("one is lost")


def raises_nothing():
    with pytest.raises(OSError):
        pass


def fails_in_a_thread():
    kt.run(lambda: pytest.fail("in a thread"))
"""


with pytest.raises(pytest.fail.Exception) as _failed, pytest.raises(OSError):  # noqa: PT011
    pass
_DID_NOT_RAISE = str(_failed.value)
"""In the words of the installed pytest: 8.2 shows the class otherwise than 9 does."""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("passes", ""),
        ("pytest_fails", "the test ended with Failed: one is lost"),
        ("pytest_skips", ""),
        ("pytest_expects_it", ""),
        ("unittest_skips", ""),
        ("raises_nothing", f"the test ended with Failed: {_DID_NOT_RAISE}"),
        ("fails_in_a_thread", "thread 1, pytest.fail('in a thread'), ended with Failed: in a thread"),
    ],
)
def test_what_pytest_raises_is_understood(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "outcomes.py").write_text(OUTCOMES, encoding="utf-8")
    exploration_target = BodyExplorationTarget(f"{tmp_path / 'outcomes.py'}:{name}")
    found = explore(exploration_target, InterleavedProgram(), ExploreOptions(executions=60))
    assert text in (found.finding.summary if found.finding is not None else "")
    assert (found.finding is None) == (not text)


def test_what_pytest_raises_in_a_real_thread_fails_the_test() -> None:
    with pytest.raises(pytest.fail.Exception, match="in a thread"):
        run(lambda: pytest.fail("in a thread"), lambda: 2)


@pytest.mark.parametrize("most", [1, 99])
def test_a_module_that_can_be_loaded_once_only_is_refused(tmp_path: Path, most: int) -> None:
    (tmp_path / "loaded.py").write_text(
        "from kcache import testing as kt\n\n"
        "with open(__file__ + '.loads', 'a+') as loads:\n    loads.write('.')\n"
        f"    assert loads.tell() <= {most}, 'once more'\n\n\n"
        "def test_it():\n    kt.run(list, list)\n",
        encoding="utf-8",
    )
    told = r"cannot be loaded a second time for the explorer: AssertionError: once more \(loaded.py:5 in <module>\)"
    with pytest.raises(CannotExploreError, match=told) if most == 1 else contextlib.nullcontext():
        BodyExplorationTarget(f"{tmp_path / 'loaded.py'}:test_it")
