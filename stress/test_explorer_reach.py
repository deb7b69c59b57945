"""What the code under test imports, and what becomes of it: instrumented, virtual, or shared with the process."""

import queue
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import pytest

from kcache_model.errors import CannotExploreError
from kcache_stress.engine.granularity import Granularity
from kcache_stress.engine.strategy import Coverage
from kcache_stress.modules.private_packages import Kind, existing, own_kind
from kcache_stress.modules.roots import Roots
from kcache_stress.modules.sandbox import Sandbox
from kcache_stress.target.scenarios import Load, Scenario, ScenarioResult, explore_scenario

Write = Callable[[dict[str, str]], None]


def explored(
    target: str,
    *calls: str,
    granularity: Granularity = Granularity.FREE,
    module: str | None = None,
    executions: int = 3_000,
) -> ScenarioResult:
    """All interleavings of threads that each make one call of ``Made()`` of a module; whatever is wrong raises."""

    def setup(load: Load) -> Sequence[Callable[[], object]]:
        made = load(module or target).Made()
        return [getattr(made, call) for call in calls]

    return explore_scenario(Scenario((target,), setup), granularity=granularity, executions=executions, seconds=60)


def is_right(result: ScenarioResult) -> bool:
    """Whether nothing was found in all interleavings, as far as that can be seen."""
    assert result.problem is None, result.problem
    return result.coverage is Coverage.EXHAUSTED or (
        result.coverage is Coverage.NO_PROOF and "which is not instrumented" in result.note
    )


GUARD = """
    import threading

    class Guard:
        def __init__(self):
            self._lock = threading.{lock}()

        def call(self, function):
            with self._lock:
                return function()
    """
COUNTING = """
    from {guard} import Guard

    class Made:
        def __init__(self):
            self._guard = Guard()
            self.low = self.high = 0

        def _move(self):
            assert self.low == self.high, "torn"
            self.low += 1
            self.high += 1

        def safely(self):
            self._guard.call(self._move)

        def at_once(self):
            self._move()
    """


@pytest.mark.parametrize("lock", ["Lock", "RLock"])
@pytest.mark.parametrize("granularity", [Granularity.FREE, Granularity.GIL])
def test_locks_of_a_package_that_is_not_instrumented_exclude(write: Write, lock: str, granularity: Granularity) -> None:
    write({"reach_guard.py": GUARD.format(lock=lock), "reach_counting.py": COUNTING.format(guard="reach_guard")})
    assert is_right(explored("reach_counting", "safely", "safely", granularity=granularity))
    result = explored("reach_counting", "safely", "at_once")
    assert result.problem is not None
    assert "torn" in result.problem.summary


def test_who_imports_what_locks_is_copied_too(write: Write) -> None:
    """Also in a function, by way of a package that does not lock itself; a package is never half private."""
    write(
        {
            "reach_guard.py": GUARD.format(lock="RLock"),
            "reach_between/__init__.py": "from .plain import VALUES",
            "reach_between/plain.py": "VALUES = []",
            "reach_between/deep.py": "def guard():\n    from reach_guard import Guard\n    return Guard()",
            "reach_pure.py": "VALUES = []",
            "reach_target.py": """
                import reach_pure
                from reach_between import VALUES
                from reach_between.deep import guard

                def make():
                    return guard()
                """,
        }
    )
    sandbox = Sandbox(Roots(frozenset({"reach_target"})))
    target: Any = sandbox.load("reach_target")
    real: Any = __import__("reach_target")
    assert type(target.make()._lock) is not type(real.make()._lock)
    assert target.VALUES is not real.VALUES
    assert target.reach_pure is real.reach_pure
    seen = sandbox.seen
    assert seen.instrumented == ("reach_target",)
    assert seen.virtual == ("reach_between", "reach_guard")
    assert seen.opaque == ("reach_pure",)


def test_what_imports_the_target_is_copied_with_it(write: Write) -> None:
    """Or there would be two of each class of the target, and ``isinstance`` would fail."""
    write(
        {
            "reach_base.py": "class Base:\n    pass\n\n\ndef check(value):\n    return isinstance(value, Base)\n",
            "reach_plugin.py": "from reach_base import Base\n\n\nclass Plugin(Base):\n    pass\n",
            "reach_host/__init__.py": """
                import reach_plugin, reach_base

                def fits():
                    return reach_base.check(reach_plugin.Plugin())
                """,
        }
    )
    sandbox = Sandbox(Roots(frozenset({"reach_host", "reach_base"})))
    host: Any = sandbox.load("reach_host")
    assert host.fits()
    assert sandbox.seen.virtual == ("reach_plugin",)


def test_packages_in_a_folder_of_packages(write: Write) -> None:
    write(
        {
            "reach_space/one/__init__.py": "import threading\nLOCK = threading.Lock()",
            "reach_space/two/__init__.py": "VALUES = []",
            "reach_target.py": "from reach_space import one, two\nimport reach_space.one\nLOCK = reach_space.one.LOCK",
        }
    )
    sandbox = Sandbox(Roots(frozenset({"reach_target"})))
    target: Any = sandbox.load("reach_target")
    real: Any = __import__("reach_target")
    assert target.LOCK is target.one.LOCK is not real.LOCK
    assert type(target.LOCK) is not type(real.LOCK)
    assert target.two is real.two
    assert real.reach_space.one is real.one
    assert sandbox.seen.virtual == ("reach_space.one",)


LOGGING = """
    import logging

    LOG = logging.getLogger("reach_logging")
    LOG.propagate = False

    class Handler(logging.Handler):
        def __init__(self):
            super().__init__()
            self.low = self.high = 0

        def emit(self, record):
            assert self.low == self.high, "torn"
            self.low += 1
            self.high += 1

        {more}

    class Made:
        def __init__(self):
            LOG.handlers[:] = [Handler()]

        def log(self):
            LOG.warning("it happened")
    """


@pytest.mark.parametrize(("more", "right"), [("", True), ("def handle(self, record): self.emit(record)", False)])
def test_a_handler_of_logging_is_called_under_its_lock(write: Write, more: str, right: bool) -> None:
    write({"reach_logging.py": LOGGING.format(more=more)})
    result = explored("reach_logging", "log", "log", granularity=Granularity.GIL if right else Granularity.FREE)
    if right:
        assert is_right(result)
    else:
        assert result.problem is not None
        assert "torn" in result.problem.summary


def test_simple_queues_wait_virtually_however_they_are_imported(write: Write) -> None:
    write(
        {
            "reach_queue.py": """
                import queue
                from _queue import SimpleQueue

                class Made:
                    def __init__(self):
                        self.queue = SimpleQueue()

                    def get(self):
                        assert isinstance(self.queue, queue.SimpleQueue)
                        assert self.queue.get() == 1
                        try:
                            self.queue.get(timeout=1)
                        except queue.Empty:
                            pass

                    def put(self):
                        self.queue.put(1)
                """
        }
    )
    assert explored("reach_queue", "get", "put").problem is None
    assert queue.SimpleQueue is __import__("_queue").SimpleQueue


def test_cached_properties_wait_for_each_other_where_they_do_in_production(write: Write) -> None:
    write(
        {
            "reach_cached.py": """
                import functools

                class Made:
                    made = 0

                    @functools.cached_property
                    def value(self):
                        self.made += 1
                        return self.made

                    def ask(self):
                        assert self.value == self.made
                """
        }
    )
    result = explored("reach_cached", "ask", "ask")
    if sys.version_info < (3, 12):  # under a lock until then
        assert is_right(result)
    else:
        assert result.problem is not None


def test_names_that_code_adds_to_the_builtins(write: Write) -> None:
    write(
        {
            "reach_names.py": """
                import builtins

                class Made:
                    def add(self):
                        builtins.reach_name = 1
                        assert reach_name == 1
                """
        }
    )
    result = explored("reach_names", "add")
    assert result.problem is None
    assert result.coverage is Coverage.EXHAUSTED
    assert not hasattr(__import__("builtins"), "reach_name")


def test_threads_of_the_program_are_all_there_are(write: Write) -> None:
    write(
        {
            "reach_threads.py": """
                import threading

                class Made:
                    def count(self):
                        assert threading.active_count() == len(threading.enumerate()) == 3, threading.enumerate()
                        assert threading.current_thread() in threading.enumerate()
                        assert threading.main_thread() in threading.enumerate()
                """
        }
    )
    assert is_right(explored("reach_threads", "count", "count"))


def test_modules_without_a_spec_and_imports_by_name(write: Write) -> None:
    """Made by hand, they have none; and ``import_module`` finds what an import statement does."""
    write(
        {
            "reach_guard.py": GUARD.format(lock="RLock"),
            "reach_target.py": """
                import importlib, sys, types
                sys.modules["reach_made"] = types.ModuleType("reach_made")
                import reach_made

                def guard():
                    return importlib.import_module("reach_guard")
                """,
        }
    )
    __import__("reach_target")
    sandbox = Sandbox(Roots(frozenset({"reach_target"})))
    target: Any = sandbox.load("reach_target")
    assert isinstance(target.reach_made, ModuleType)
    assert target.guard() is sandbox.load("reach_guard")
    assert target.guard() is not __import__("reach_target").guard()
    del sys.modules["reach_made"]


def test_modules_that_import_each_other_are_loaded_in_the_order_of_the_process(write: Write) -> None:
    write(
        {
            "reach_circle/__init__.py": "",
            "reach_circle/first.py": "VALUE = 1\nfrom .second import OTHER",
            "reach_circle/second.py": "from .first import VALUE\nOTHER = VALUE",
        }
    )
    with pytest.raises(CannotExploreError, match="partially initialized"):
        Sandbox(Roots(frozenset({"reach_circle"}))).load("reach_circle.second")
    __import__("reach_circle.first")
    assert vars(Sandbox(Roots(frozenset({"reach_circle"}))).load("reach_circle.second"))["OTHER"] == 1


@pytest.mark.parametrize(("file", "is_found"), [("__file__", True), ("None", False)])
def test_a_package_that_puts_another_module_in_its_place(write: Write, file: str, is_found: bool) -> None:
    """That module has no spec, but if it has the file of the package, that is what is instrumented."""
    write(
        {
            "reach_replaced/__init__.py": f"""
                import sys, types
                module = types.ModuleType(__name__)
                module.__file__, module.__path__ = {file}, __path__
                sys.modules[__name__] = module
                """,
            "reach_replaced/inner.py": "",
        }
    )
    __import__("reach_replaced.inner")
    assert own_kind("reach_replaced") is (Kind.PLAIN if is_found else Kind.NATIVE)
    assert existing(["reach_replaced.inner"]) == ("reach_replaced.inner",)
    del sys.modules["reach_replaced"]


def test_a_module_that_was_imported_by_a_thread_is_found_where_modules_are_kept(write: Write) -> None:
    """Also while another thread is in the middle of an import; so do modules that choose between two names."""
    write(
        {
            "reach_late.py": """
                import threading

                lock, KEPT = threading.Lock(), []
                for number in range(2):
                    KEPT.append(number)
                """,
            "reach_asks.py": """
                import sys
                import threading

                class Made:
                    found = ()

                    def ask(self):
                        __import__("queue"), __import__("reach_late")
                        found = sys.modules["queue"], sys.modules["reach_late"], sys.modules["threading"]
                        assert not self.found or self.found == found
                        assert found[0].threading is found[2] and found[1].KEPT == [0, 1]
                        self.found = found
                """,
        }
    )
    before = sys.modules["queue"], sys.modules["threading"]
    assert explored("reach_asks", "ask", "ask").problem is None
    assert (sys.modules["queue"], sys.modules["threading"]) == before
