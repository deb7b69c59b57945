"""Waits that are no fault of a class: for a lock that a call is to take for good, and for the outside world."""

from __future__ import annotations

import io
import textwrap
import threading
from pathlib import Path

import pytest

from kcache_conformance.targets.class_names import class_type_name
from kcache_conformance.targets.target_types import target_type_named
from kcache_model.finding import Finding, FindingKind
from kcache_model.object_types.plain import MethodCall, ObjectProgram
from kcache_model.progress import NoProgress
from kcache_stress.objects.findings import Setting
from kcache_stress.objects.object_exploration import ObjectExplorationTarget
from kcache_stress.objects.threads import ObjectStress, Round
from kcache_stress.outside import outside_wait
from kcache_stress.target.explore import ExploreOptions, explore

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # threads that are left behind have sockets
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CODE = """
    import select, socket, threading

    class Handler:  # logging.Handler in small
        def __init__(self):
            self.createLock()
            self.count = 0

        def createLock(self):
            self.lock = threading.RLock()

        def acquire(self):
            self.lock.acquire()

        def release(self):
            self.lock.release()

        def close(self):
            with self.lock:
                self.count = 0

    class Forgetful:
        def __init__(self):
            self._lock, self._count = threading.RLock(), 0

        def add(self):
            seen = self._count
            self._lock.acquire()
            if self._count != seen:
                return  # without giving it back
            self._count += 1
            self._lock.release()

    class Remote:
        def __init__(self):
            self.one, self.other = socket.socketpair()
            self.lock = threading.Lock()

        def ask(self):
            with self.lock:
                return self.one.recv(1)

        def choose(self):
            return select.select([self.one], [], [])

        def size(self):
            with self.lock:
                return 1

        def stand_still(self):
            self.lock.acquire()
            self.lock.acquire()
    """


@pytest.fixture
def file(tmp_path: Path) -> Path:
    written = tmp_path / "waiting_classes.py"
    written.write_text(textwrap.dedent(CODE))
    return written


def exploration_target(target: str) -> ObjectExplorationTarget:
    exploring = target_type_named(class_type_name(target)).exploring
    assert exploring is not None
    made = exploring.exploration_target(target, (), ExploreOptions().granularity)
    assert isinstance(made, ObjectExplorationTarget)
    return made


def program(prefix: str, *threads: str) -> ObjectProgram:
    """A program of calls without arguments, each thread's in a text."""
    return ObjectProgram(
        prefix=tuple(map(MethodCall, prefix.split())),
        threads=tuple(tuple(map(MethodCall, own.split())) for own in threads),
    )


def explored(target: str, chosen: ObjectProgram) -> Finding | None:
    options = ExploreOptions(executions=200, minimise_seconds=0.0, candidates=ExploreOptions(samples=5, executions=20))
    return explore(exploration_target(target), chosen, options).finding


def stressed(target: str, chosen: ObjectProgram) -> tuple[Round, ObjectStress]:
    made = exploration_target(target)
    stress = ObjectStress(made.target, Setting(made._object_type, target), NoProgress(), 0, 0.3)
    with stress.underway():
        return stress.run(chosen), stress


@pytest.mark.parametrize(("prefix", "threads"), [("acquire", ("close", "createLock")), ("", ("acquire", "close"))])
def test_a_lock_that_a_call_is_to_take_for_good_makes_no_deadlock(
    file: Path, prefix: str, threads: tuple[str, ...]
) -> None:
    chosen = program(prefix, *threads)
    assert explored(f"{file}:Handler", chosen) is None
    assert stressed(f"{file}:Handler", chosen)[0].kind is None


def test_a_lock_that_a_call_forgets_to_give_back_is_a_deadlock(file: Path) -> None:
    found = explored(f"{file}:Forgetful", program("", "add", "add add"))
    assert found is not None
    assert found.kind is FindingKind.DEADLOCK


@pytest.mark.parametrize(("call", "what"), [("ask", "the network"), ("choose", "a socket, a pipe or a process")])
def test_a_call_that_waits_for_the_outside_world_is_left_out(file: Path, call: str, what: str) -> None:
    chosen = program("", call, "size")
    shown, stress = stressed(f"{file}:Remote", chosen)
    assert shown.kind is None
    assert stress.left_out[call].startswith(f"it waits for {what} (waiting_classes.py:")
    assert stress.leaves_out(chosen)
    assert not stress.leaves_out(program("", "size", "size"))


def test_a_call_that_waits_for_its_own_lock_hangs(file: Path) -> None:
    shown, stress = stressed(f"{file}:Remote", program("", "stand_still", "size"))
    assert shown.kind is FindingKind.HANG
    assert not stress.left_out


def test_a_wait_is_told_by_what_is_called_last() -> None:
    """Not by what a function has called before, nor by what its own variables are called."""
    lock, has_begun = threading.Lock(), threading.Event()
    lock.acquire()

    def read() -> None:
        recv = io.StringIO("text").read(len("1"))
        has_begun.set()
        lock.acquire(len(recv) > 0)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    has_begun.wait(10)
    assert outside_wait(thread.ident) == ""
    lock.release()
    thread.join(10)
