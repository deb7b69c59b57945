"""``kcache run pytest`` explores async tests: what fails under some schedule is found, the rest is listed."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from stress.material.async_sources import GATE

CONFTEST = """
import asyncio
import inspect

import pytest


def pytest_pyfunc_call(pyfuncitem):
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True
"""

POOL = """
import asyncio


class Pool:
    def __init__(self):
        self.idle = 1

    async def take(self):
        if self.idle:
            for _ in range(3):
                await asyncio.sleep(0)
            self.idle -= 1


class Locked(Pool):
    def __init__(self):
        super().__init__()
        self.lock = asyncio.Lock()

    async def take(self):
        async with self.lock:
            await super().take()
"""

SUITE = """
import asyncio
import sys
import unittest

import pytest
import trio
from gate import Gate
from pool import Locked, Pool


async def twice(pool):
    async def late():
        await asyncio.sleep(0.001)
        await pool.take()

    await asyncio.gather(pool.take(), late())
    assert pool.idle == 0


@pytest.mark.parametrize("kind", [Pool, Locked])
async def test_pool(kind):
    await twice(kind())


@pytest.mark.parametrize("is_safe", [False, True])
async def test_gate(is_safe):
    gate = Gate(is_safe)
    await asyncio.wait([asyncio.ensure_future(gate.use())])
    assert gate.users == 0


class Case(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.pool = Locked()

    async def test_locked(self):
        await twice(self.pool)


async def test_alone():
    await asyncio.sleep(0)


async def test_fails():
    await asyncio.gather(Pool().take())
    assert not "always"


def test_trio():
    trio.run(print)


async def test_datagrams():
    await asyncio.get_running_loop().create_datagram_endpoint(asyncio.DatagramProtocol, ("127.0.0.1", 0))


async def test_process():
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    assert await process.wait() == 0
"""

HELPER = """
import asyncio

from pool import Locked, Pool


async def body(kind):
    pool = kind()
    loop = asyncio.get_running_loop()
    for seconds in (0.01, 0.03):
        loop.call_later(seconds, lambda: tasks.append(loop.create_task(pool.take())))
    tasks = []
    await asyncio.sleep(0.05)
    await asyncio.gather(*tasks)
    assert pool.idle == 0


def run(kind):
    asyncio.run(body(kind))
"""

IN_TIME = """
import asyncio

import pytest
from helper import Locked, Pool, body


@pytest.mark.parametrize("kind", [Pool, Locked])
def test_body_of_another_module(kind):
    asyncio.run(body(kind))


async def test_timers_that_are_due_at_once():
    log, loop = [], asyncio.get_running_loop()

    async def wait():
        await asyncio.sleep(0.01)
        log.append("task")

    loop.call_later(0.02, log.append, "timer")
    await asyncio.gather(wait())
    assert log[0] == "task"


async def test_input_within_a_long_timeout():
    async def serve(reader, writer):
        writer.write(b"x")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        async with asyncio.timeout(10):
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            assert await reader.read() == b"x"
        writer.close()


async def test_input_that_never_comes():
    await asyncio.gather(asyncio.sleep(0))
    async with asyncio.timeout(10):
        await asyncio.get_running_loop().create_future()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in {
        "pytest.ini": "[pytest]\n",
        "conftest.py": CONFTEST,
        "gate.py": GATE,
        "pool.py": POOL,
        "trio.py": "run = print\n",
        "helper.py": HELPER,
        "test_loops.py": SUITE,
        "in_time.py": IN_TIME,
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def outcomes(done: CompletedProcess[str]) -> tuple[dict[str, tuple[str, str]], str]:
    """Test -> its outcome and the text; and the summary."""
    summary = re.search(r"=+ kcache: tests that start threads or tasks =+\n(.*?)\n=", done.stdout, re.DOTALL)
    assert summary is not None, done.stdout + done.stderr
    lines = (re.fullmatch(r"([a-z ]+): \S+\.py::(\S+): (.*)", line) for line in summary[1].splitlines())
    return {line[2]: (line[1], line[3]) for line in lines if line is not None}, summary[1]


def test_async_tests_are_explored_or_listed_with_the_reason(
    project: Path, run_command: Callable[..., CompletedProcess[str]]
) -> None:
    options = ("-v", "-p", "no:cacheprovider", "-k", "not gate")
    done = run_command(project, "kcache", "run", "--budget-per-test", "4s", "pytest", "--", *options)
    listed, summary = outcomes(done)
    assert done.returncode == 1
    exhausted = [name for name, (_, text) in listed.items() if "exhausted, if callbacks run in the order" in text]
    assert sorted(exhausted) == ["Case::test_locked", "test_pool[Locked]"]
    outcome, text = listed["test_pool[Pool]"]
    assert (outcome, text.partition(" (")[0]) == ("fails in some order", "the test fails: assert pool.idle == 0")
    assert {name: text for name, (outcome, text) in listed.items() if outcome == "ran as it is"} == {
        "test_fails": "it fails",
        "test_trio": "it runs in a loop of trio, which cannot be scheduled",
        "test_datagrams": "test_loops.py:55 in test_datagrams uses sockets or pipes of its event loop, which cannot be "
        "scheduled: create_datagram_endpoint",
        "test_process": "test_loops.py:59 in test_process starts a process, which cannot be scheduled",
    }
    assert "test_alone" not in listed
    assert "8 tests, 7 with tasks in an event loop\n  fails in some order: 1\n  explored: 2 (2 exhausted;" in summary


def test_cancellations_reach_the_exploration(project: Path, run_command: Callable[..., CompletedProcess[str]]) -> None:
    options = ("-v", "-p", "no:cacheprovider", "-k", "gate")
    done = run_command(project, "kcache", "run", "--cancel", "1", "pytest", "--", *options)
    listed, _ = outcomes(done)
    assert done.returncode == 1
    assert {name: outcome for name, (outcome, _) in listed.items()} == {
        "test_gate[False]": "fails in some order",
        "test_gate[True]": "explored",
    }


def test_what_happens_if_nothing_is_late_is_no_failure_in_every_order(
    project: Path, run_command: Callable[..., CompletedProcess[str]]
) -> None:
    options = ("-v", "-p", "no:cacheprovider", "in_time.py")
    done = run_command(project, "kcache", "run", "--budget-per-test", "4s", "pytest", "--", *options)
    listed, summary = outcomes(done)
    assert done.returncode == 1
    assert {name: outcome for name, (outcome, _) in listed.items()} == {
        "test_body_of_another_module[Pool]": "fails in some order",
        "test_body_of_another_module[Locked]": "explored",
        "test_timers_that_are_due_at_once": "fails in some order",
        "test_input_within_a_long_timeout": "explored",
        "test_input_that_never_comes": "ran as it is",
    }, summary
