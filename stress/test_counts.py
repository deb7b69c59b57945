"""Tests with smaller counts: what is divided, and that a long race is shown with a short loop."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kcache_model.interleaved_program import InterleavedProgram
from kcache_stress.engine.counterexample import replayed
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.interleaved.counts import divided, divisors
from kcache_stress.target.excluded_faults import ExcludedFaults, ExcludingJudge
from kcache_stress.target.explore import ExploreOptions, explore

SOURCE = """
import functools

TIMES = 2_000
FEW = 4
SECONDS = 30
IS_LONG = True


def loop(times=1_000):
    return sum(1 for _ in range(times))


def nested():
    def inner():
        return [500 * FEW, 30, 7]

    return inner()


def wrapping(function):
    @functools.wraps(function)
    def call():
        return function()

    return call


@wrapping
def wrapped():
    return TIMES


class Case:
    def run(self):
        return 1_500

    @staticmethod
    def alone():
        return 2_500


def told():
    return loop(), nested(), wrapped(), Case().run(), Case.alone(), SECONDS, IS_LONG
"""

AS_WRITTEN = (1_000, [2_000, 30, 7], 2_000, 1_500, 2_500, 30, True)


@pytest.fixture
def module() -> ModuleType:
    made = ModuleType("counted")
    exec(compile(SOURCE, "counted.py", "exec"), vars(made))
    return made


def test_the_multiples_of_a_number_are_divided_and_set_back(module: ModuleType) -> None:
    assert module.told() == AS_WRITTEN
    with divided(module, 500):
        assert module.told() == (2, [4, 30, 7], 4, 3, 5, 30, True)
    assert module.told() == AS_WRITTEN


def test_they_are_set_back_when_the_test_fails(module: ModuleType) -> None:
    with pytest.raises(ZeroDivisionError), divided(module, 500):
        raise ZeroDivisionError
    assert module.told() == AS_WRITTEN


def test_divisors_come_first_that_leave_the_least(module: ModuleType) -> None:
    found = divisors(module)
    assert found[0] == 500  # of 500, 1_000, 1_500, 2_000 and 2_500
    assert 2_000 in found
    assert 7 not in found
    assert divisors(ModuleType("empty")) == []


LONG = """
import threading


class Table:
    def __init__(self):
        self.count = 0

    def add(self):
        count = self.count
        self.count = count + 1


def test_long():
    table = Table()
    threads = [threading.Thread(target=lambda: [table.add() for _ in range(400)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert table.count == 1_200
"""


def test_a_long_race_is_shown_with_a_short_loop(tmp_path: Path, run_command: Callable[..., Any]) -> None:
    (tmp_path / "test_long.py").write_text(LONG, encoding="utf-8")
    done = run_command(tmp_path, "kcache", "explore", "-x", "--budget", "60s", "test_long.py:test_long")
    assert done.returncode == 1, done.stdout
    told = re.search(r"numbers in the test that are multiples of ([0-9]+)", " ".join(done.stdout.split()))
    assert told is not None, done.stdout
    assert int(told[1]) >= 100
    assert "not instrumented" not in done.stdout
    token = re.search(r"kcache replay (\S+)", done.stdout)
    assert token is not None, done.stdout
    again = run_command(tmp_path, "kcache", "replay", token[1])
    assert again.returncode == 1, again.stdout + again.stderr
    assert "assert table.count" in again.stdout


TWO_RACES = """
import threading


class Table:
    def __init__(self):
        self.count = self.others = 0

    def add(self):
        count = self.count
        self.count = count + 1

    def add_other(self):
        others = self.others
        self.others = others + 1


def fill(add, threads, times):
    threads = [threading.Thread(target=lambda: [add() for _ in range(times)]) for _ in range(threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_one():
    table = Table()
    fill(table.add, 3, 400)
    assert table.count == 1_200


def test_either():
    table = Table()
    fill(lambda: (table.add(), table.add_other()), 2, 20)
    assert table.others == 40
    assert table.count == 40
"""


def test_a_known_race_in_a_long_loop_is_not_told_again(tmp_path: Path) -> None:
    file = tmp_path / "test_races.py"
    file.write_text(TWO_RACES, encoding="utf-8")
    one, either = (BodyExplorationTarget(f"{file}:{name}") for name in ("test_one", "test_either"))
    found = explore(
        one, InterleavedProgram(), ExploreOptions(walk=1, executions=1, seconds=600.0, whole_seconds=2.0)
    ).finding
    assert found is not None
    excluded = ExcludedFaults((found,))
    with one.open_runner(InterleavedProgram()) as (runner, judge):
        # Thread 1 is interrupted in its first call, and thousands of steps follow.
        execution, problem, _ = replayed(runner, ExcludingJudge(judge, runner, excluded), ((0, 11), (1, 3), (2, 1_300)))
        assert len(execution.trace) > 2_400
        assert problem is None
        assert excluded.counts.total() == 1
        assert judge.judge(execution) is not None
    options = ExploreOptions(executions=40, seconds=600.0, whole_seconds=1.0)
    other = explore(either, InterleavedProgram(), options, excluded=excluded).finding
    assert other is not None
    assert "table.others" in other.summary
