"""The modules of the process are all back after an execution, wherever it was given up."""

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

from kcache_stress.modules.private_modules import PrivateModules
from kcache_stress.runtime.threads.scheduler import Scheduler
from kcache_stress.runtime.threads.standstill import Watched
from kcache_stress.runtime.threads.virtual_thread import UncontrolledError
from kcache_stress.strategies.naive import Naive

COPIED = "kcache_copied_for_a_test"

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGVTALRM"), reason="nothing interrupts an execution there")


def interrupted(*_: object) -> bool:
    """Sends the signal that gives up an execution, as the watchman does."""
    signal.raise_signal(signal.SIGVTALRM)
    return False


@contextlib.contextmanager
def process_with(real: ModuleType) -> Iterator[None]:
    sys.modules[COPIED] = real
    try:
        yield
    finally:
        del sys.modules[COPIED]


def exchanging(is_copy: Callable[[object], bool]) -> PrivateModules:
    return PrivateModules(lambda name: name == COPIED, sys.meta_path[0], lambda: (), is_copy)


def found_after(modules: PrivateModules, work: Callable[[], object]) -> tuple[bool, object, list[object]]:
    """Whether an execution of ``work`` was given up; what is there under the name afterwards, and the finders."""
    scheduler, strategy = Scheduler(), Naive()
    modules.show()
    try:
        with Watched(scheduler):
            strategy.begin(scheduler)
            scheduler.explore([work], strategy.choose, 0)
    except UncontrolledError:
        pass
    finally:
        modules.hide()
    scheduler.reset()
    return scheduler.is_stuck, sys.modules[COPIED], list(sys.meta_path)


def test_a_swap_of_modules_is_done_as_a_whole() -> None:
    real = ModuleType(COPIED)
    modules = exchanging(interrupted)
    before = list(sys.meta_path)

    def imports() -> None:
        with modules.active():
            sys.modules[COPIED] = ModuleType(COPIED)
            sys.modules[f"{COPIED}.new"] = ModuleType(COPIED)  # each new one is looked at, here by `interrupted`

    with process_with(real):
        assert found_after(modules, imports) == (False, real, before)
    del sys.modules[f"{COPIED}.new"]


@pytest.mark.parametrize("importing", [False, True])
def test_what_is_unwound_when_the_execution_is_over_brings_no_copies_back(importing: bool) -> None:
    real = ModuleType(COPIED)
    modules = exchanging(lambda _: False)
    before = list(sys.meta_path)

    def stands_still() -> None:
        with modules.active() if importing else contextlib.nullcontext(), modules.outside():
            interrupted()

    with process_with(real):
        with modules.active():
            sys.modules[COPIED] = ModuleType(COPIED)
        assert found_after(modules, stands_still) == (True, real, before)
        modules.show()
        modules.hide()
        assert sys.modules[COPIED] is real
