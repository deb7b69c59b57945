"""Findings about event loops, confirmed in asyncio's own loop, and shown by tests without kcache."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from kcache_model.finding import FindingKind
from kcache_model.interleaved_program import InterleavedProgram, LoopContract, Timeouts
from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.search import SearchLimits, search
from kcache_stress.engine.strategy import Ending
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.interleaved.confirming_on_loops import confirm_on_loops, orders_of
from kcache_stress.interleaved.forced_loop import ForcedLoop
from kcache_stress.target.confirmation import Answer
from kcache_stress.target.explore import ExploreOptions, explore
from stress.material.async_programs import program
from stress.material.async_sources import LIMITER

CONFIRMED = "the unchanged test fails in asyncio's own loop"
SUPPORT = (
    LIMITER
    + """
import unittest
from kcache import testing as kt

IS_REPAIRED = False

async def orders():
    seen = []
    async def note(number):
        await kt.io()
        seen.append(number)
    await asyncio.gather(note(1), note(2))
    return sorted(seen) if IS_REPAIRED else seen

async def test_input(): assert await orders() == [1, 2]

async def test_made_once():
    made, lock = [], asyncio.Lock()
    async def get():
        if IS_REPAIRED: await lock.acquire()
        if not made:
            await kt.io()
            made.append(1)
        if IS_REPAIRED: lock.release()
    await asyncio.gather(get(), get())
    assert len(made) == 1

async def test_time():
    seen = []
    async def late():
        await asyncio.sleep(3)
        seen.append("late")
    task = asyncio.ensure_future(late())
    for _ in range(5): await asyncio.sleep(0)
    seen.append("soon")
    await task
    assert IS_REPAIRED or seen == ["soon", "late"]

async def test_error():
    seen = await orders()
    {1: "first"}[seen[0]]

async def use(limiter):
    await limiter.acquire()
    try: await kt.io()
    finally: limiter.release()

@kt.interleaved(cancel=1)
async def test_cancelled():
    limiter = Limiter(1, IS_REPAIRED)
    await asyncio.gather(*(use(limiter) for _ in range(2)), return_exceptions=True)
    assert limiter.free == 1

@kt.interleaved(cancel=1)
async def test_standstill():
    limiter = Limiter(1, IS_REPAIRED)
    await asyncio.gather(*(use(limiter) for _ in range(3)))

def test_own_loop(): assert asyncio.run(orders()) == [1, 2]

class TestCase(unittest.IsolatedAsyncioTestCase):
    async def test_case(self): self.assertEqual(await orders(), [1, 2])

async def test_function():
    seen = []
    async def note(number):
        await asyncio.to_thread(int)
        seen.append(number)
    await asyncio.gather(note(1), note(2))
    assert seen == [1, 2]

class TestWithSetup:
    def setup_method(self): self.first = 1
    async def test_it(self): assert (await orders())[0] == self.first
"""
)
TESTS = [
    *("test_input", "test_made_once", "test_time", "test_error", "test_cancelled", "test_standstill", "test_own_loop"),
    "TestCase.test_case",
]


def found(folder: Path, name: str, loop: LoopContract | None = None):
    file = folder / "test_told.py"
    file.write_text(SUPPORT, encoding="utf-8")
    finding = explore(BodyExplorationTarget(f"{file}:{name}"), InterleavedProgram(loop=loop), ExploreOptions()).finding
    assert finding is not None
    return finding


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", TESTS)
def test_it_is_confirmed_and_shown_without_kcache_until_it_is_repaired(name: str, tmp_path: Path) -> None:
    finding = found(tmp_path, name)
    assert CONFIRMED in finding.detail
    assert not finding.unconfirmed
    assert "kcache_" not in finding.standalone
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "test_alone.py").write_text(finding.standalone, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(alone)]

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    broken = run()
    assert broken.returncode == 1, broken.stdout + broken.stderr
    assert ("the loop waits for ever" in broken.stdout) == (name == "test_standstill")
    (tmp_path / "test_told.py").write_text(SUPPORT.replace("IS_REPAIRED = False", "IS_REPAIRED = True"), "utf-8")
    repaired = run()
    assert repaired.returncode == 0, repaired.stdout + repaired.stderr


@pytest.mark.parametrize("name", ["test_function", "TestWithSetup.test_it"])
def test_what_cannot_be_forced_or_needs_pytest_has_no_test_without_kcache(name: str, tmp_path: Path) -> None:
    finding = found(tmp_path, name)
    assert not finding.standalone
    assert (CONFIRMED in finding.detail) == (name != "test_function")


def test_what_needs_another_loop_is_not_confirmed_in_that_of_asyncio(tmp_path: Path) -> None:
    (tmp_path / "test_any.py").write_text(
        "import asyncio\nasync def test_it():\n    seen = []\n    async def note(number): seen.append(number)\n"
        "    await asyncio.gather(note(1), note(2))\n    assert seen == [1, 2]\n",
        encoding="utf-8",
    )
    target = BodyExplorationTarget(f"{tmp_path / 'test_any.py'}:test_it")
    finding = explore(target, InterleavedProgram(loop=LoopContract.ANY_LOOP), ExploreOptions()).finding
    assert finding is not None
    assert CONFIRMED not in finding.detail
    assert not finding.standalone


def test_a_test_that_passes_in_asyncios_loop_is_not_confirmed() -> None:
    async def passes() -> None:
        await asyncio.sleep(1)

    orders = [{2: [("time", 0)]}]
    answer = confirm_on_loops(lambda: asyncio.run(passes()), orders, FindingKind.FAILURE, "the test fails: ")
    assert answer.answer is Answer.NOT_TRIED


def test_an_order_that_does_not_fit_ends() -> None:
    async def waits() -> None:
        await asyncio.get_running_loop().create_future()

    orders = [{2: [("cancel", 7)], 0: [("wait", 0), ("wait", 7)]}]
    answer = confirm_on_loops(lambda: asyncio.run(waits()), orders, FindingKind.DEADLOCK, "no thread can go on")
    assert answer.answer is Answer.CONFIRMED  # it waits for ever, whatever the order says


def test_asyncios_own_loop_does_in_each_order_what_the_explorer_has_seen(tmp_path: Path) -> None:
    executions = 0
    for seed in range(16):
        source, file = program(seed), tmp_path / f"forced_program_{seed}.py"
        file.write_text(
            f"{source}\nfrom kcache import testing as kt\nasync def test_it(): return await program(kt.io)\n"
        )
        target, seen = BodyExplorationTarget(f"{file}:test_it"), []

        with target.open_runner(InterleavedProgram(timeouts=Timeouts.ANY_TIME)) as (runner, _):

            def look(execution, runner=runner, seen=seen) -> None:
                if execution.ending is Ending.COMPLETE:
                    (end,) = execution.outcomes[0]
                    seen.append((orders_of(runner.arrivals), end.raised or end.value))

            search(runner, Dpor(), None, SearchLimits(60), on_execution=look)
        namespace: dict[str, object] = {}
        exec(source, namespace)
        for orders, outcome in seen:
            assert orders is not None
            ForcedLoop.ORDERS = [{number: list(some) for number, some in order.items()} for order in orders]
            with asyncio.Runner(loop_factory=ForcedLoop) as loop:
                assert loop.run(namespace["program"](loop.get_loop().complete)) == outcome, f"{source}\n{orders}"
            executions += 1
    assert executions > 100
