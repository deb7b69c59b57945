"""Event loops by whatever way code creates them; what a loop cannot do is named, and nothing hangs."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcache_model.interleaved_program import InterleavedProgram
from kcache_stress.engine.dpor import Dpor
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.runtime.tasks.event_loop import FORCED
from kcache_stress.runtime.tasks.loops import NEVER_AWAITED
from kcache_stress.target.investigation import investigate

SUPPORT = """
import asyncio
import unittest
from kcache import testing as kt

async def late():
    try:
        return await asyncio.wait_for(kt.io("done"), 5)
    except asyncio.TimeoutError:
        return "late"

async def add(to):
    before = to[0]
    await kt.io()
    to[0] = before + 1

class Case(unittest.IsolatedAsyncioTestCase):
    def setUp(self): self.total = [0]
    async def asyncSetUp(self): await asyncio.sleep(0)
    async def asyncTearDown(self): await asyncio.sleep(0)
    async def test_sound(self):
        await add(self.total)
        await add(self.total)
        self.assertEqual(self.total, [2])
    async def test_broken(self):
        await asyncio.gather(add(self.total), add(self.total))
        self.assertEqual(self.total, [2])

def with_run(seen): seen.append(asyncio.run(late()))
def with_runner(seen):
    with asyncio.Runner() as runner:
        seen.append(runner.run(late()))
        seen.append(runner.run(late()))
def with_loop(seen):
    loop = asyncio.new_event_loop()
    seen.append(loop.run_until_complete(late()))
def with_two_loops(seen):
    with_run(seen)
    with_loop(seen)

async def polls():
    done = []
    async def other():
        await kt.io()
        done.append(1)
    task = asyncio.ensure_future(other())
    while not done: await asyncio.sleep(0)

async def rings_twice():
    seen = []
    async def ring(name, more):
        await asyncio.sleep(0.01)
        for _ in range(more): await asyncio.sleep(0)
        seen.append(name)
    await asyncio.gather(ring("slow", 2), ring("quick", 0))
    return seen

async def due_at_once():
    seen = []
    asyncio.get_running_loop().call_later(0, seen.append, 1)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return seen
"""


def explored(folder: Path, body: str, name: str = "test_it"):
    file = folder / "explored_entries.py"
    file.write_text(f"{SUPPORT}\n{body}", encoding="utf-8")
    target = BodyExplorationTarget(f"{file}:{name}")
    program = InterleavedProgram()
    result = investigate(
        lambda _: target.open_runner(program), lambda _: [(Dpor(), 5_000)], seconds=60.0, budget=target.share.due(1.0)
    )
    return target, result


@pytest.mark.parametrize("entry", ["with_run", "with_runner", "with_loop", "with_two_loops"])
def test_a_loop_that_a_test_runs_itself_is_explored(entry: str, tmp_path: Path) -> None:
    sound = f"def test_it():\n    seen = []\n    {entry}(seen)\n    assert set(seen) <= {{'done', 'late'}}\n"
    target, result = explored(tmp_path, sound)
    assert (result.problem, result.coverage.value, result.note) == (None, "exhausted", "")
    assert target.contract(InterleavedProgram())
    broken = f"def test_it():\n    seen = []\n    {entry}(seen)\n    assert set(seen) == {{'done'}}\n"
    assert explored(tmp_path, broken)[1].problem is not None


def test_a_test_case_with_a_loop_of_its_own_is_explored(tmp_path: Path) -> None:
    _, result = explored(tmp_path, "", "Case.test_sound")
    assert (result.problem, result.coverage.value, result.note) == (None, "exhausted", "")
    _, result = explored(tmp_path, "", "Case.test_broken")
    assert result.problem is not None
    assert not result.unseen


def test_timers_of_the_same_length_may_be_due_apart(tmp_path: Path) -> None:
    body = "async def test_it():\n    assert await rings_twice() == ['quick', 'slow']\n"
    assert explored(tmp_path, body)[1].problem is not None
    body = "async def test_it():\n    assert sorted(await rings_twice()) == ['quick', 'slow']\n"
    assert explored(tmp_path, body)[1].coverage.value == "exhausted"


def test_a_timer_without_delay_is_due_at_once(tmp_path: Path) -> None:
    _, result = explored(tmp_path, "async def test_it():\n    assert await due_at_once()\n")
    assert (result.problem, result.coverage.value, result.note) == (None, "exhausted", "")


REFUSED = {
    "await asyncio.get_running_loop().create_datagram_endpoint(print)": "uses sockets or pipes",
    "await asyncio.get_running_loop().sock_connect(None, ('localhost', 1))": "uses sockets or pipes",
    "asyncio.get_running_loop().add_reader(0, print)": "uses sockets or pipes",
    "await asyncio.get_running_loop().getaddrinfo('localhost', 1)": "names of hosts",
    "await asyncio.create_subprocess_exec('true')": "starts a process",
    "asyncio.get_running_loop().add_signal_handler(2, print)": "signals",
    "asyncio.SelectorEventLoop()": "a loop that is created so cannot be scheduled",
}


@pytest.mark.parametrize("code", REFUSED)
def test_what_a_loop_cannot_do_is_named_with_its_line(code: str, tmp_path: Path) -> None:
    _, result = explored(tmp_path, f"async def test_it():\n    {code}\n")
    assert result.problem is None
    assert REFUSED[code] in result.refused
    assert "explored_entries.py:" in result.refused


NO_PROOF = {
    "    late()\n    await kt.io()\n": NEVER_AWAITED,
    "    await polls()\n": FORCED,
}


@pytest.mark.parametrize("body", NO_PROOF)
def test_what_was_not_run_to_its_end_is_no_proof(body: str, tmp_path: Path) -> None:
    _, result = explored(tmp_path, f"async def test_it():\n{body}")
    assert result.problem is None
    assert NO_PROOF[body] in result.note


@pytest.mark.parametrize(
    "body",
    [
        "    while True: await asyncio.sleep(0)\n",
        "    while True: await asyncio.sleep(1)\n",
    ],
)
def test_a_loop_that_never_ends_is_told_in_one_line(body: str, tmp_path: Path) -> None:
    _, result = explored(tmp_path, f"async def test_it():\n{body}")
    assert result.problem is None
    assert "iterations: test_it awaits at explored_entries.py:" in result.refused


@pytest.mark.parametrize(
    "body", ["    asyncio.run(late())\n", "    asyncio.new_event_loop().run_until_complete(late())\n"]
)
def test_a_loop_inside_a_loop_fails_as_it_does_in_asyncio(body: str, tmp_path: Path) -> None:
    problem = explored(tmp_path, f"async def test_it():\n{body}")[1].problem
    assert problem is not None
    assert "RuntimeError" in problem.summary
