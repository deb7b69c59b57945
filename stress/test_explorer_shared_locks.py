"""Locks of modules that the explorer shares with the process: virtual threads exclude each other by them, too."""

import importlib
import sys
import tempfile
import textwrap
import threading
import unittest.mock
import zipfile

import pytest

from kcache_model.finding import FindingKind
from kcache_model.interleaved_program import InterleavedProgram
from kcache_model.verdict import Status
from kcache_stress.engine.granularity import Granularity
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.modules.roots import Roots
from kcache_stress.modules.sandbox import Sandbox
from kcache_stress.runtime.threads.shared_locks import SharedLocks
from kcache_stress.strategies.registry import OPCODES
from kcache_stress.target.explore import ExploreOptions, explore

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""An archive whose reader was unwound in the middle says so when it dies."""

ZIP = """
    import io
    import zipfile

    from kcache import testing as kt

    def both_read():
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as file:
            file.writestr("a", b"aa")
            file.writestr("b", b"bbb")
        file = zipfile.ZipFile(data)
        assert list(kt.run(lambda: file.read("a"), lambda: file.read("b"))) == [b"aa", b"bbb"]

    def both_write():
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as file:
            first, second = kt.run(lambda: file.getinfo("a") if "a" in file.namelist() else file.writestr("a", b"a"),
                                   lambda: file.getinfo("a") if "a" in file.namelist() else file.writestr("a", b"a"))
            assert len(file.namelist()) == 1
    """

MADE = """
    import tempfile
    import unittest.mock
    import zipfile

    from kcache import testing as kt

    class Thing:
        count = 0

    def one_mock():
        mock = unittest.mock.Mock()
        first, second = kt.run(lambda: mock.child, lambda: mock.child)
        assert first is second

    def counted():
        thing = Thing()

        def add():
            with tempfile._once_lock:
                thing.count = count = thing.count + 1
        kt.run(add, add)
        assert thing.count == 2

    def counted_outside():
        thing = Thing()

        def add():
            with tempfile._once_lock:
                count = thing.count
            thing.count = count + 1
        kt.run(add, add)
        assert thing.count == 2
    """


def explored(tmp_path, text: str, name: str, granularity: Granularity = Granularity.FREE, **options):
    file = tmp_path / f"shared_{name}.py"
    file.write_text(textwrap.dedent(text))
    exploration_target = BodyExplorationTarget(f"{file}:{name}", granularity=granularity)
    chosen = ExploreOptions(granularity=granularity, executions=150, seconds=60, **options)
    return explore(exploration_target, InterleavedProgram(), chosen)


KEEPER = """
    LOCKS = [__import__("_thread").RLock()]

    def call(function):
        with {guard}:
            return function()
    """

KEPT = """
    import keeper_{name}
    from kcache import testing as kt

    class Thing:
        count = 0

    @kt.interleaved(instrument="keeper_{name}.other")  # and not the rest of the keeper
    def {name}():
        thing = Thing()

        def add():
            count = thing.count
            thing.count = count + 1
        kt.run(lambda: keeper_{name}.call(add), lambda: keeper_{name}.call(add))
        assert thing.count == 2
    """


OPCODES = {"granularity": Granularity.OPCODES, "strategy": OPCODES}


@pytest.mark.parametrize("options", [{}, OPCODES], ids=["events", "opcodes"])
@pytest.mark.parametrize(("text", "name"), [(ZIP, "both_read"), (MADE, "counted")])
def test_a_lock_of_the_standard_library_excludes(tmp_path, text, name, options):
    """At opcodes, a thread is left while it holds the lock: the second one must not take it again."""
    assert explored(tmp_path, text, name, **options).finding is None


@pytest.mark.parametrize(("text", "name"), [(ZIP, "both_write"), (MADE, "counted_outside")])
def test_what_is_done_outside_of_it_is_a_race(tmp_path, text, name):
    finding = explored(tmp_path, text, name).finding
    assert finding is not None
    assert finding.kind is FindingKind.FAILURE
    assert finding.status is Status.VIOLATION, finding.unconfirmed


@pytest.mark.parametrize(
    ("name", "guard", "expected"),
    [("hidden", "LOCKS[0]", Status.UNKNOWN), ("free", "__import__('contextlib').nullcontext()", Status.VIOLATION)],
)
@pytest.mark.parametrize("options", [{}, OPCODES], ids=["events", "opcodes"])
def test_a_lock_that_stays_real_makes_no_violation(tmp_path, monkeypatch, name, guard, expected, options):
    """Where such a lock may be, real threads decide, whatever the granularity."""
    keeper = tmp_path / "elsewhere" / f"keeper_{name}"
    keeper.mkdir(parents=True)
    (keeper / "__init__.py").write_text(textwrap.dedent(KEEPER.format(guard=guard)))
    (keeper / "other.py").touch()
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")
    monkeypatch.delitem(sys.modules, f"keeper_{name}", raising=False)
    finding = explored(tmp_path, KEPT.format(name=name), name, **options).finding
    assert finding is not None
    assert finding.status is expected, finding


def test_the_process_keeps_its_own_locks():
    """Names of modules, locks that modules have made, and those of classes, also after an import meanwhile."""
    before = zipfile.threading, tempfile._once_lock, vars(unittest.mock.NonCallableMock).get("_lock")
    sandbox = Sandbox(Roots())
    with sandbox.locks:
        assert zipfile.threading is sandbox.world_module("threading")
        assert zipfile.ZipFile.__init__.__globals__["threading"].RLock is not threading.RLock
        assert type(tempfile._once_lock) is not type(before[1])
        with sandbox.outside():
            assert zipfile.threading is threading
        with sandbox.locks:
            pass
        assert zipfile.threading is not threading
        tempfile._once_lock.acquire()
        sandbox.reset()
        assert tempfile._once_lock.acquire(blocking=False)  # an execution that was given up had it
    assert (zipfile.threading, tempfile._once_lock) == before[:2]
    assert vars(unittest.mock.NonCallableMock).get("_lock") is before[2]


def test_modules_that_are_loaded_again_meanwhile_leave_no_lock_real(tmp_path, monkeypatch):
    (tmp_path / "holder.py").write_text("import threading\nLOCK = threading.Lock()\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    holder = importlib.import_module("holder")
    before = holder.LOCK
    worlds = [Sandbox(Roots(), Granularity.FREE) for _ in range(2)]
    locks = SharedLocks(lambda name: worlds[0].world_module(name), lambda name: name == "holder")
    with locks:
        assert holder.threading is worlds[0].world_module("threading")
        worlds.pop(0)
        locks.renew()
        assert holder.threading is worlds[0].world_module("threading")
        assert type(holder.LOCK) is type(worlds[0].world_module("threading").Lock())
    assert (holder.threading, holder.LOCK) == (threading, before)
    with locks:
        assert holder.threading is worlds[0].world_module("threading")
