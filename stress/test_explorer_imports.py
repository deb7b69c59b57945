"""What threads of the explorer import, and what code under test finds where modules are kept."""

from __future__ import annotations

import importlib
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import greenlet
import pytest

from kcache_stress.modules.roots import Roots
from kcache_stress.modules.sandbox import Sandbox
from kcache_stress.runtime.threads.library import make_builtins
from stress.test_explorer_reach import COUNTING, GUARD, Write, explored, is_right

LATE = {
    "reach_plugins/__init__.py": "",
    "reach_plugins/base.py": """
        class Base:
            def __init__(self):
                self.low = self.high = 0
        """,
    "reach_plugins/plugin.py": """
        import threading
        from reach_plugins.base import Base

        LOCK = threading.Lock()

        class Unlocked(Base):
            def move(self):
                assert self.low == self.high, "torn"
                self.low += 1
                self.high += 1

        class Locked(Unlocked):
            def move(self):
                with LOCK:
                    Unlocked.move(self)
        """,
    "reach_plugins/user.py": """
        import importlib, pkgutil
        from importlib.metadata import EntryPoint
        from reach_plugins.base import Base

        def load(name):
            {load}

        class Made:
            def __init__(self):
                self.plugin = Base()

            def move(self, name):
                kind = load(name)
                assert issubclass(kind, Base), "there are two copies of Base"
                kind.move(self.plugin)

            def locked(self):
                self.move("Locked")

            def unlocked(self):
                self.move("Unlocked")
        """,
}
WAYS = {
    "import": "from reach_plugins import plugin; return getattr(plugin, name)",
    "__import__": "return getattr(__import__('reach_plugins.plugin', fromlist=['Locked']), name)",
    "import_module": "return getattr(importlib.import_module('.plugin', 'reach_plugins'), name)",
    "resolve_name": "return pkgutil.resolve_name(f'reach_plugins.plugin:{name}')",
    "entry_point": "return EntryPoint('it', f'reach_plugins.plugin:{name}', 'group').load()",
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("imported_before", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_what_threads_import_is_loaded_once_in_each_execution(write: Write, way: str, imported_before: bool) -> None:
    """Its classes are those that the other modules have; the modules of the process stay as they were."""
    write({**LATE, "reach_plugins/user.py": LATE["reach_plugins/user.py"].replace("{load}", WAYS[way])})
    if imported_before:
        importlib.import_module("reach_plugins.plugin")
    before = dict(sys.modules)
    assert explored("reach_plugins.user", "locked", "locked", executions=40).problem is None
    problem = explored("reach_plugins.user", "unlocked", "unlocked").problem
    assert problem is not None
    assert "torn" in problem.summary
    assert not any(name.startswith("reach_plugins.") for name in sys.modules.keys() - before.keys())
    assert all(sys.modules.get(name) is module for name, module in before.items())


VENDORED = {
    "reach_vendors/__init__.py": """
        import sys
        from reach_vendors import guards
        sys.modules["reach_alias"] = guards
        """,
    "reach_vendors/guards/__init__.py": "",
    "reach_vendors/guards/inner.py": GUARD.format(lock="Lock"),
    "reach_vendors/made.py": COUNTING.format(guard="reach_alias.inner"),
}


def test_an_import_that_fails_does_so_in_each_execution(write: Write) -> None:
    write(
        {
            "reach_failing/__init__.py": "",
            "reach_failing/extra.py": "raise ImportError('not here')",
            "reach_failing/user.py": """
                class Made:
                    def __init__(self):
                        self.failed = []

                    def ask(self):
                        try:
                            from reach_failing import extra
                        except ImportError:
                            self.failed.append(1)
                        assert self.failed
                """,
        }
    )
    assert explored("reach_failing.user", "ask", "ask", executions=20).problem is None


def test_a_package_that_code_puts_under_another_name_is_private_there_too(write: Write) -> None:
    """With real locks, threads of the explorer would wait for ever."""
    write(VENDORED)
    real = importlib.import_module("reach_vendors.made")
    before = dict(sys.modules)
    assert is_right(explored("reach_vendors", "safely", "safely", module="reach_vendors.made"))
    torn = explored("reach_vendors", "safely", "at_once", module="reach_vendors.made").problem
    assert torn is not None
    assert "torn" in torn.summary
    assert all(sys.modules.get(name) is module for name, module in before.items())
    assert sys.modules["reach_alias"].inner.Guard is real.Guard
    del sys.modules["reach_alias"], sys.modules["reach_alias.inner"]


def test_what_is_not_installed_is_not_found_and_what_is_shared_is_not_imported_before_its_time(write: Write) -> None:
    write(
        {
            "reach_shared.py": "VALUE = object()",
            "reach_optional.py": """
                import importlib.util
                from importlib.util import find_spec

                ABSENT = importlib.util.find_spec("reach_absent"), importlib.util.find_spec("json.absent")
                FOUND = importlib.util.find_spec("reach_shared")
                THREADED = [find_spec("greenlet"), importlib.util.find_spec("gevent")]
                if find_spec("greenlet") is not None:
                    import greenlet  # it cannot be scheduled, so it is taken for absent
                try:
                    find_spec("greenlet.part")
                except ModuleNotFoundError as error:
                    THREADED.append(error.name)
                """,
        }
    )
    loaded: Any = Sandbox(Roots(frozenset({"reach_optional"}))).load("reach_optional")
    assert loaded.ABSENT == (None, None)
    assert loaded.THREADED == [None, None, "greenlet.part"]
    assert Path(loaded.FOUND.origin).name == "reach_shared.py"
    assert "reach_shared" not in sys.modules
    assert Sandbox(Roots()).load("reach_shared") is sys.modules["reach_shared"]


@pytest.mark.parametrize("method", ["find", "lose"])
def test_finders_and_folders_that_an_execution_adds_are_gone_in_the_next_one(write: Write, method: str) -> None:
    write(
        {
            "reach_finding.py": """
                import sys
                import threading

                class Hearing:
                    def __init__(self, made):
                        self.made = made

                    def find_spec(self, name, path=None, target=None):
                        if name == "reach_missing":
                            self.made.asked.append(name)

                class Made:
                    def __init__(self):
                        self.asked, self.lock = [], threading.Lock()
                        sys.meta_path.insert(0, Hearing(self))
                        sys.path.append("/nowhere")

                    def find(self):
                        with self.lock:
                            before = len(self.asked)
                            try:
                                import reach_missing
                            except ImportError:
                                pass
                            assert len(self.asked) == before + 1
                            finders = [finder for finder in sys.meta_path if type(finder).__name__ == "Hearing"]
                            assert (len(finders), sys.path.count("/nowhere")) == (1, 1)

                    def lose(self):
                        known = len(self.asked)
                        self.asked = self.asked[:known] + [1]
                        assert len(self.asked) == known + 1
                        self.asked = self.asked + [2]
                        assert self.asked[known:] == [1, 2]
                """,
        }
    )
    before = sys.meta_path[:], sys.path[:]
    problem = explored("reach_finding", method, method, executions=100).problem
    assert (problem is None) == (method == "find"), problem
    assert (sys.meta_path, sys.path) == before


def test_a_module_that_the_harness_imports_while_it_loads_can_be_loaded_again() -> None:
    sandbox = Sandbox(Roots(frozenset({"collections"})))
    loaded: Any = sandbox.load("collections")
    assert loaded.Counter("aab").most_common(1) == [("a", 2)]
    assert loaded.Counter is not sys.modules["collections"].Counter
    assert "collections" in sandbox.seen.instrumented


def test_a_package_of_the_process_that_an_execution_imports_has_nothing_of_the_sandbox(write: Write) -> None:
    write(
        {
            "reach_plain.py": "class Plain: pass",
            "reach_factory.py": """
                class Made:
                    def __init__(self):
                        import reach_plain
                        self.plain, self.count = reach_plain.Plain(), 0

                    def add(self):
                        import reach_plain
                        assert type(self.plain) is reach_plain.Plain
                        self.count += 1
                """,
        }
    )
    sys.modules.pop("reach_plain", None)
    assert explored("reach_factory", "add", "add", executions=100).problem is None
    assert "__builtins__" in vars(sys.modules["reach_plain"])
    assert Sandbox(Roots()).load("reach_plain") is sys.modules["reach_plain"]


def test_a_real_thread_beside_an_execution_imports_as_usual():
    seen: list[str] = []
    scheduler: Any = SimpleNamespace(live=True)
    private = make_builtins(lambda name, *_: seen.append(name), {}, scheduler)
    greenlet.greenlet(lambda: private.__import__("of_a_virtual_thread")).switch()
    beside = threading.Thread(target=lambda: seen.append(private.__import__("gc").__name__))
    beside.start()
    beside.join()
    assert seen == ["of_a_virtual_thread", "gc"]
