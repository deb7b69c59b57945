"""What no scheduler controls: anybody may import and make it, no thread may use it; and what stands still is said."""

import sys
import textwrap
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kcache_model.errors import CannotExploreError
from kcache_stress.engine.strategy import Coverage
from kcache_stress.target.scenarios import Load, Scenario, ScenarioResult, explore_scenario

MODULE = """
    {imports}

    class Made:
        def __init__(self):
            {made}

        def used(self):
            {used}

        def unused(self):
            return 1
    """


def explored(file: Path, *calls: str) -> ScenarioResult:
    """All interleavings of threads that each make one call of ``Made()``."""

    def setup(load: Load) -> Sequence[Callable[[], object]]:
        made = load(file).Made()
        return [getattr(made, call) for call in calls]

    return explore_scenario(Scenario((), setup), executions=100, seconds=60)


USES = {
    "asyncio.SelectorEventLoop": ("import asyncio", "self.lock = asyncio.Lock()", "asyncio.SelectorEventLoop()"),
    "multiprocessing.Lock": (
        "from multiprocessing import Lock",
        "self.lock = Lock()",
        "with self.lock: return 1",
    ),
    "multiprocessing.Process.start": (
        "import multiprocessing",
        "self.process = multiprocessing.Process(target=int)",
        "self.process.start()",
    ),
    "multiprocessing.pool.ThreadPool": (
        "from multiprocessing.pool import ThreadPool",
        "self.kind = ThreadPool",
        "self.kind(2)",
    ),
    "ctypes.strlen": (
        "import ctypes",
        "self.library = ctypes.CDLL(None); self.length = self.library.strlen; assert self.length(b'ab') == 2",
        "self.length(b'ab')",
    ),
}


@pytest.mark.skipif(sys.platform == "win32", reason="its C library has another name")
@pytest.mark.parametrize("use", USES)
def test_what_cannot_be_scheduled_is_refused_where_it_is_used(tmp_path: Path, use: str) -> None:
    imports, made, used = USES[use]
    file = tmp_path / "using.py"
    file.write_text(textwrap.dedent(MODULE.format(imports=imports, made=made, used=used)))
    result = explored(file, "used", "unused")
    assert (result.problem, result.coverage) == (None, Coverage.BUDGET_SPENT)
    assert result.refused.startswith(f"using.py:9 in used uses {use}: ")
    unused = explored(file, "unused", "unused")
    assert unused.coverage is Coverage.EXHAUSTED or "keeps state from one execution to the next" in unused.note


def test_a_loop_in_the_first_step_of_a_program_waits_for_its_other_threads(tmp_path: Path) -> None:
    file = tmp_path / "looping.py"
    used = "asyncio.run(asyncio.sleep(0))"
    file.write_text(textwrap.dedent(MODULE.format(imports="import asyncio", made="pass", used=used)))
    result = explored(file, "used", "used")
    assert (result.problem, result.executions > 1) == (None, True)


def test_it_is_refused_in_threads_that_the_code_starts_itself(tmp_path: Path) -> None:
    file = tmp_path / "using.py"
    made = "threading.Thread(target=self.used).start()"
    imports = "import asyncio, threading"
    file.write_text(textwrap.dedent(MODULE.format(imports=imports, made=made, used="asyncio.SelectorEventLoop()")))
    with pytest.raises(CannotExploreError, match=r"using\.py:9 in used uses asyncio\.SelectorEventLoop"):
        explored(file, "unused")


def test_threads_of_another_kind_count_as_not_installed(tmp_path: Path) -> None:
    """Code that can do without them is explored without; code that cannot is refused, and told why."""
    file = tmp_path / "using.py"
    optional = "\n    ".join(("try:", "    import greenlet", "except ImportError:", "    greenlet = None"))
    file.write_text(textwrap.dedent(MODULE.format(imports=optional, made="pass", used="assert greenlet is None")))
    assert explored(file, "used").coverage is Coverage.EXHAUSTED
    file.write_text("import greenlet\n")
    with pytest.raises(CannotExploreError, match="greenlet starts its own threads"):
        explored(file, "used")


def test_modules_that_start_threads_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "using.py"
    file.write_text("import threading\nthreading.Thread(target=int).start()\n")
    with pytest.raises(CannotExploreError, match=r"using\.py:2 in <module> starts a thread while it is imported"):
        explored(file, "used")


@pytest.mark.parametrize("name", ["Lock", "Thread"])
def test_modules_that_replace_what_threads_are_made_of_are_refused(tmp_path: Path, name: str) -> None:
    file = tmp_path / "using.py"
    file.write_text(f"import threading\nthreading.{name} = int\n")
    with pytest.raises(CannotExploreError, match=f"replaces threading.{name}"):
        explored(file, "used")


STILL = """
import threading

class Made:
    def __init__(self):
        self.lock, self.held = REAL.Lock(), threading.Lock()

    def used(self):
        with self.lock:
            with self.held:
                return 1

    unused = used
"""


@pytest.mark.waits
@pytest.mark.skipif(sys.platform == "win32", reason="nothing interrupts a wait there")
def test_a_real_wait_is_no_proof_and_freezes_nobody(tmp_path: Path) -> None:
    """A lock of the process, which comes from somewhere that no copy was made of."""
    file = tmp_path / "using.py"
    file.write_text("import kcache_stress.loading\nREAL = kcache_stress.loading.threads()\n" + STILL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kcache_stress.loading.threads", lambda: threading, raising=False)
        result = explored(file, "used", "unused")
    assert (result.problem, result.coverage) == (None, Coverage.BUDGET_SPENT)
    assert result.refused.startswith("using.py:11 in used waits for something real (a lock")


REAL = """
    locks = [__import__("_thread").allocate_lock()]  # of the process: no import tells of it, nor does a name

    def bump(box):
        with locks[0]:
            box.append(1)
    """


def test_what_the_audit_cannot_control_is_no_proof(tmp_path, monkeypatch):
    """The search goes through the unknown code in one step; the audit stops within it, under a real lock."""
    for name, text in {"elsewhere/real_lock.py": REAL, "behind.py": "from real_lock import bump"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")

    def setup(load):
        bump, box = load(tmp_path / "behind.py").bump, []
        return [lambda: bump(box)] * 2

    result = explore_scenario(Scenario((), setup))
    assert (result.problem, result.coverage) == (None, Coverage.NO_PROOF)
    assert "waits for something real" in result.note
