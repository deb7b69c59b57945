"""Async tests with fixtures: the plugin that runs them under pytest runs them in each execution, too."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest

from kcache_model.errors import TargetError
from kcache_model.finding import Finding
from kcache_model.interleaved_program import InterleavedProgram
from kcache_stress.engine.strategy import Coverage
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.target.explore import Explored, ExploreOptions, explore
from stress.material.async_sources import GATE

POOL = """
import asyncio


class Pool:
    def __init__(self, idle=1, lock=None):
        self.idle = idle
        self.lock = lock or NoLock()

    async def take(self):
        async with self.lock:
            if self.idle:
                await asyncio.sleep(0.001)
                self.idle -= 1

    async def twice(self):
        await asyncio.gather(self.take(), self.take())
        assert self.idle == 0


class NoLock:
    async def __aenter__(self):
        return None

    async def __aexit__(self, *error):
        return None
"""

SYNC = """
import asyncio

import pytest
from pool import Pool

{imports}


@pytest.fixture
def racy():
    return Pool()


@pytest.fixture(scope="module")
def right():
    pool = Pool(lock=asyncio.Lock())
    yield pool
    assert pool.idle == 0, "each execution gets a new pool"


{mark}
async def test_racy(racy):
    await racy.twice()


{mark}
async def test_right(right):
    await right.twice()


{mark}
@pytest.mark.parametrize("idle", [0, 1])
async def test_parameter(idle):
    await Pool(idle).twice()


class TestMethods:
    def setup_method(self):
        self.pool = Pool()

    {mark}
    async def test_racy(self):
        await self.pool.twice()

    {mark}
    async def test_right(self, right):
        await right.twice()
"""

ASYNC = """

@{fixture}
async def waiting(racy):
    await asyncio.sleep(0.001)
    return racy


@{fixture}
async def around():
    pool = Pool(2, lock=asyncio.Lock())
    await pool.take()
    yield pool
    await pool.take()
    assert pool.idle == 0


@{fixture}
async def racy_end():
    pool = Pool()
    yield
    await pool.twice()


{mark}
async def test_racy_fixture(waiting):
    await waiting.twice()


{mark}
async def test_right_fixture(around):
    await asyncio.gather(around.take(), asyncio.sleep(0))


{mark}
async def test_racy_teardown(racy_end):
    await asyncio.sleep(0)
"""

CASES = """
import asyncio
import unittest

from pool import Pool


class Case(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        cls.idle = 1

    async def asyncSetUp(self):
        self.right, self.racy = Pool(self.idle, asyncio.Lock()), Pool(self.idle)
        await asyncio.sleep(0.001)
        self.addAsyncCleanup(self.clean)

    async def asyncTearDown(self):
        await asyncio.gather(self.right.take(), self.right.take())

    async def clean(self):
        await asyncio.sleep(0)
        self.assertEqual(self.right.idle, 0)

    async def test_right(self):
        await self.right.take()

    async def test_racy(self):
        await self.racy.twice()


class Leaking(Case):
    async def clean(self):
        await self.racy.twice()


class Below(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.addClassCleanup(cls.check)

    @classmethod
    def check(cls):
        assert cls.idle == 1
"""

FIXTURES = """
import asyncio
import inspect

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    function = fixturedef.func
    if not inspect.iscoroutinefunction(function) and not inspect.isasyncgenfunction(function):
        return (yield)

    def plain(**named):
        run = running(request)
        if inspect.iscoroutinefunction(function):
            return run(function(**named))
        values = function(**named)
        request.addfinalizer(lambda: run(anext(values, None)))
        return run(anext(values))

    fixturedef.func = plain
    try:
        return (yield)
    finally:
        fixturedef.func = function
"""

ITEMS = f"""{FIXTURES}

def running(request):
    runner = request.getfixturevalue("runner")
    async def awaited(one):
        return await one
    return lambda one: runner.run(awaited(one))


@pytest.fixture
def runner():
    with asyncio.Runner() as runner:
        yield runner


class AsyncFunction(pytest.Function):
    def runtest(self):
        function, runner = self.obj, self._request.getfixturevalue("runner")
        self.obj = lambda **named: runner.run(function(**named))
        super().runtest()


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector, name, obj):
    items = yield
    if isinstance(items, list):
        for place, item in enumerate(items):
            if inspect.iscoroutinefunction(item.obj):
                known = {{"name": item.name, "fixtureinfo": item._fixtureinfo, "originalname": item.originalname}}
                callspec = getattr(item, "callspec", None)
                items[place] = AsyncFunction.from_parent(item.parent, callspec=callspec, **known)
    return items


def pytest_pyfunc_call(pyfuncitem):
    pass
"""

SETUPS = f"""{FIXTURES}

def running(request):
    return request.getfixturevalue("loop").run_until_complete


@pytest.fixture
def loop():
    loop = asyncio.get_event_loop_policy().new_event_loop()
    yield loop
    loop.close()


def pytest_runtest_setup(item):
    if inspect.iscoroutinefunction(item.obj):
        item.fixturenames.insert(0, "loop")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    if inspect.iscoroutinefunction(pyfuncitem.obj):
        function, loop = pyfuncitem.obj, pyfuncitem.funcargs["loop"]
        pyfuncitem.obj = lambda **named: loop.run_until_complete(function(**named))
    return (yield)
"""

CALLS = f"""{FIXTURES}
import contextlib

runner, users = None, 0


@contextlib.contextmanager
def used_runner():
    global runner, users
    if runner is None:
        runner = asyncio.Runner()
    users += 1
    try:
        yield runner
    finally:
        users -= 1
        if not users:
            runner.close()
            runner = None


def running(request):
    entered = used_runner()
    runner = entered.__enter__()
    request.addfinalizer(lambda: entered.__exit__(None, None, None))
    async def awaited(one):
        return await one
    return lambda one: runner.run(awaited(one))


def pytest_pyfunc_call(pyfuncitem):
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    with used_runner() as runner:
        runner.run(pyfuncitem.obj(**{{name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}}))
    return True
"""

PLUGINS = {
    "no plugin": ("", "", "", ""),
    "items": (ITEMS, "", "", "pytest.fixture"),
    "setups": (SETUPS, "", "", "pytest.fixture"),
    "calls": (CALLS, "", "", "pytest.fixture"),
    "pytest_asyncio": ("", "import pytest_asyncio", "@pytest.mark.asyncio", "pytest_asyncio.fixture"),
    "anyio": ("", "pytestmark = pytest.mark.anyio", "", "pytest.fixture"),
}
"""Name -> source of a stand-in, imports of its tests, mark of each test, decorator of async fixtures.

The stand-ins do what plugins do: ``items`` pytest-asyncio since 1.0, ``setups`` before, ``calls`` anyio."""

RIGHT = ("test_right", "TestMethods.test_right")
RACY = ("test_racy", "TestMethods.test_racy")
RACY_FIXTURES = ("test_racy_fixture", "test_racy_teardown")


@pytest.fixture(params=PLUGINS)
def project(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, bool]:
    """The file of the tests, and whether async fixtures are among them."""
    stand_in, imports, mark, fixture = PLUGINS[request.param]
    if "_" in request.param or request.param == "anyio":
        pytest.importorskip(request.param)
    name = f"loops_of_{request.param.replace(' ', '_')}"
    tests = SYNC + (ASYNC if fixture else "")
    for file, text in {
        "pytest.ini": "[pytest]\n",
        "pool.py": POOL,
        f"{name}.py": stand_in,
        "conftest.py": f"pytest_plugins = ['{name}']\n",
        "test_loops.py": tests.format(imports=imports, mark=mark, fixture=fixture),
    }.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path / "test_loops.py", bool(fixture)


def explored(spec: str, parameters: dict[str, int] | None = None) -> tuple[Explored, Finding | None]:
    target = BodyExplorationTarget(spec)
    result = explore(target, InterleavedProgram(parameters=parameters or {}), ExploreOptions(executions=500))
    return result, result.finding


def test_tests_of_each_plugin_run_in_a_loop_of_the_explorer(project: tuple[Path, bool]) -> None:
    file, has_async_fixtures = project
    for name in (*RIGHT, *(["test_right_fixture"] if has_async_fixtures else [])):
        result, finding = explored(f"{file}:{name}")
        assert (finding, result.coverage, result.refused, result.no_proof) == (None, Coverage.EXHAUSTED, "", ""), name
        assert result.executions > 1
    for name in (*RACY, *(RACY_FIXTURES if has_async_fixtures else ())):
        result, finding = explored(f"{file}:{name}")
        assert finding is not None, name
        assert "self.idle == 0" in finding.summary
    assert explored(f"{file}:test_parameter", {"idle": 0})[1] is None
    assert explored(f"{file}:test_parameter", {"idle": 1})[1] is not None


@pytest.fixture
def cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "pool.py").write_text(POOL, encoding="utf-8")
    (tmp_path / "test_cases.py").write_text(CASES, encoding="utf-8")
    return tmp_path / "test_cases.py"


@pytest.mark.parametrize("has_pytest", [False, True])
def test_cases_of_unittest_run_in_a_loop_of_the_explorer(has_pytest: bool, cases: Path) -> None:
    if has_pytest:
        (cases.parent / "conftest.py").write_text("", encoding="utf-8")
    for name in ("Case.test_right", "Below.test_right"):
        result, finding = explored(f"{cases}:{name}")
        assert (finding, result.coverage, result.no_proof) == (None, Coverage.EXHAUSTED, "")
    for name in ("Case.test_racy", "Leaking.test_right", "Below.test_racy"):
        finding = explored(f"{cases}:{name}")[1]
        assert finding is not None, name
        assert "self.idle == 0" in finding.summary


_SOCKETS = "uses sockets or pipes of its event loop, which cannot be scheduled"
UNSUPPORTED = {
    "await asyncio.get_running_loop().sock_recv(None, 1)": f"{_SOCKETS}: sock_recv",
    "asyncio.get_running_loop().add_reader(0, print)": f"{_SOCKETS}: add_reader",
    "await asyncio.create_subprocess_exec('true')": "starts a process, which cannot be scheduled: subprocess_exec",
    "asyncio.get_running_loop().add_signal_handler(10, print)": "waits for signals, which no virtual thread can",
    "asyncio.SelectorEventLoop()": "uses asyncio.SelectorEventLoop: a loop that is created so",
    "import uvloop; uvloop.new_event_loop()": "uses uvloop.new_event_loop: its loop cannot be scheduled",
    "import trio; trio.run(print)": "uses trio.run: its loop cannot be scheduled",
}


@pytest.mark.parametrize("call", UNSUPPORTED)
def test_calls_that_cannot_be_scheduled_are_named_and_accuse_nobody(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("uvloop", "trio"):
        monkeypatch.delitem(sys.modules, name, raising=False)
        (tmp_path / f"{name}.py").write_text("run = new_event_loop = Loop = print\n", encoding="utf-8")
    file = tmp_path / "test_calls.py"
    file.write_text(f"import asyncio\n\nasync def test_call():\n    {call}\n", encoding="utf-8")
    result, finding = explored(f"{file}:test_call")
    assert (finding, result.coverage) == (None, Coverage.BUDGET_SPENT)
    assert f"test_calls.py:4 in test_call {UNSUPPORTED[call]}" in result.refused


def test_loops_that_code_of_the_process_creates_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin is no copy: it has the functions of asyncio itself."""
    monkeypatch.syspath_prepend(tmp_path)
    plugin = """
import asyncio

import pytest


@pytest.fixture
def loop():
    loop = asyncio.SelectorEventLoop()
    loop.call_soon(loop.stop)
    try:
        loop.run_forever()
    finally:
        loop.close()


def pytest_pyfunc_call(pyfuncitem):
    pass
"""
    (tmp_path / "selector_plugin.py").write_text(plugin, encoding="utf-8")
    (tmp_path / "conftest.py").write_text("pytest_plugins = ['selector_plugin']", encoding="utf-8")
    file = tmp_path / "test_selector.py"
    file.write_text("async def test_it(loop):\n    pass\n", encoding="utf-8")
    result, finding = explored(f"{file}:test_it")
    assert finding is None
    assert "runs a asyncio.unix_events._UnixSelectorEventLoop" in result.refused


@pytest.mark.parametrize("backends", [["asyncio", "trio"], [("trio", {})]])
def test_tests_on_trio_are_refused_by_name(
    backends: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    plugin = f"""
import pytest


@pytest.fixture(params={backends})
def anyio_backend(request):
    return request.param
"""
    (tmp_path / "backend_plugin.py").write_text(plugin, encoding="utf-8")
    (tmp_path / "conftest.py").write_text("pytest_plugins = ['backend_plugin']", encoding="utf-8")
    file = tmp_path / "test_backends.py"
    file.write_text("async def test_it(anyio_backend):\n    pass\n", encoding="utf-8")
    with pytest.raises(TargetError, match="test_it uses trio: its loop cannot be scheduled"):
        explored(f"{file}:test_it", {"anyio_backend": len(backends) - 1})
    if len(backends) > 1:
        assert explored(f"{file}:test_it")[0].coverage is Coverage.EXHAUSTED


GROUPS = """
import asyncio


class Handle:
    def __init__(self, work):
        self.work = work

    async def run(self):
        await self.work


def start(work):
    return asyncio.ensure_future(Handle(work).run())
"""

GATES = (
    GATE
    + """

import groups


async def used(is_safe):
    gate = Gate(is_safe)
    await asyncio.wait([groups.start(gate.use())])
    assert gate.users == 0


async def test_unsafe():
    await used(False)


async def test_safe():
    await used(True)
"""
)


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
def test_tasks_are_cancelled_also_in_a_package_that_is_loaded_again_before_each_execution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "groups.py").write_text(GROUPS, encoding="utf-8")
    (tmp_path / "test_gates.py").write_text(GATES, encoding="utf-8")
    program = InterleavedProgram(cancellations=1)
    options = ExploreOptions(executions=100)
    safe = explore(BodyExplorationTarget(f"{tmp_path}/test_gates.py:test_safe"), program, options)
    assert (safe.finding, safe.coverage, safe.no_proof) == (None, Coverage.EXHAUSTED, "")
    assert safe.executions > 1
    target = BodyExplorationTarget(f"{tmp_path}/test_gates.py:test_unsafe")
    target._copies.reloads_each_time = True  # as of code whose state cannot be restored
    unsafe = explore(target, program, options)
    assert unsafe.finding is not None
    assert "gate.users == 0" in unsafe.finding.summary
    gc.collect()  # coroutines of tasks that were cancelled before they began
