"""Virtual threads and primitives behave as CPython's, and survive whatever the code under test does."""

import importlib
import inspect
import itertools
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from kcache_stress.engine import search as searching
from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.events import BLOCKED, KIND_NAMES, WRITE
from kcache_stress.engine.execution import Execution
from kcache_stress.engine.granularity import Granularity
from kcache_stress.engine.scheduling import FOREVER
from kcache_stress.engine.search import SearchLimits, search
from kcache_stress.engine.strategy import MOST_EVENTS, Coverage, Ending
from kcache_stress.engine.waits import cycle
from kcache_stress.modules.roots import Roots
from kcache_stress.modules.sandbox import Sandbox
from kcache_stress.runtime.threads.scheduler import Scheduler
from kcache_stress.runtime.threads.virtual_thread import Aborted, SetupDeadlockError
from kcache_stress.runtime.waits import waits
from kcache_stress.strategies.naive import Naive
from kcache_stress.strategies.partial_order_sampling import PartialOrderSampling

HERE = Path(__file__).parent / "material" / "explorer_targets"


class Bodies:
    """Runs functions of a sandbox as virtual threads; what they return or raise is their outcome.

    Args:
        sandbox: where they come from.
        make: gives them, anew for each execution.
        threads: how many there are.
        timeouts: how many waits may time out although something else could happen.
    """

    def __init__(self, sandbox, make, threads=1, timeouts=50):
        self.sandbox = sandbox
        self.make = make
        self.threads = threads
        self.timeouts = timeouts

    def run(self, strategy):
        scheduler = self.sandbox.scheduler
        self.clean_up()
        results = [[] for _ in range(self.threads)]

        def work(number, body):
            def run_body():
                try:
                    results[number].append(body())
                except Aborted:
                    raise
                except BaseException as error:
                    results[number].append(type(error).__name__)

            return run_body

        works = [work(number, body) for number, body in enumerate(self.make())]
        scheduler.settle()
        strategy.begin(scheduler)
        scheduler.explore(works, strategy.choose, self.timeouts)
        execution = Execution(strategy.ending, scheduler.trace, len(scheduler.actors), [], results)
        execution.failures = tuple(type(error).__name__ for error in scheduler.failures)
        if execution.ending is Ending.DEADLOCK:
            execution.waits = waits(scheduler)
        return execution

    def clean_up(self):
        self.sandbox.reset(self.threads)


def executions(bodies, strategy, most):
    found = []
    result = search(bodies, strategy, None, SearchLimits(most), on_execution=found.append)
    return found, result


MODULES = ("stress.material.explorer_targets.primitives", "stress.material.explorer_targets.primitives_of_time")
FUNCTIONS = [
    f"{module}:{name}"
    for module in MODULES
    for name, value in vars(importlib.import_module(module)).items()
    if inspect.isfunction(value) and not name.startswith("_") and value.__module__ == module
]


@pytest.fixture(scope="module", params=list(Granularity))
def virtual(request):
    """The sandbox and its copies of the primitives."""
    sandbox = Sandbox(Roots(frozenset({"stress.material.explorer_targets"})), request.param)
    return sandbox, {module: sandbox.load(module) for module in MODULES}


def real(name):
    """What a function gives with the real modules."""
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)()


@pytest.fixture(scope="module")
def expected():
    """What each function gives with the real modules."""
    return {}


@pytest.mark.one_in(2)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # of the real SystemExit
@pytest.mark.parametrize("name", FUNCTIONS)
def test_primitives_do_what_those_of_cpython_do(name, virtual, expected):
    sandbox, modules = virtual
    if name not in expected:
        expected[name] = real(name)
    module, _, function = name.partition(":")
    bodies = Bodies(sandbox, lambda: [getattr(modules[module], function)])
    found = executions(bodies, Dpor(), 12)[0] + executions(bodies, PartialOrderSampling(1), 12)[0]
    for execution in found:
        assert (execution.ending, execution.failures) == (Ending.COMPLETE, ())
        assert execution.outcomes == [[expected[name]]]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_primitives_serve_outside_an_exploration_too(name, virtual, expected):
    """While an Indexer is made, filled and read back, the harness itself is a thread."""
    sandbox, modules = virtual
    if name not in expected:
        expected[name] = real(name)
    module, _, function = name.partition(":")
    sandbox.reset(2)
    assert getattr(modules[module], function)() == expected[name]
    sandbox.scheduler.settle()
    assert sandbox.scheduler.failures == []
    sandbox.reset()


@pytest.mark.parametrize(("is_outside", "is_work"), [(True, False), (False, True), (False, False)])
def test_the_least_executions_end_where_they_wait_outside_or_work_for_long(virtual, monkeypatch, is_outside, is_work):
    """A busy machine is no reason to try fewer; a name server that lets each execution wait is one, and so is work."""
    sandbox, modules = virtual
    seconds = itertools.count()
    monkeypatch.setattr(
        searching, "time", SimpleNamespace(monotonic=lambda: next(seconds), thread_time=lambda: next(seconds) * is_work)
    )
    monkeypatch.setattr(searching, "idle_seconds", lambda: next(seconds) * is_outside)
    bodies = Bodies(sandbox, lambda: [getattr(modules[MODULES[0]], FUNCTIONS[0].partition(":")[2])])
    found = search(bodies, PartialOrderSampling(1), None, SearchLimits(100, 5.0, least=50))
    assert (found.executions < 50) is (is_outside or is_work)


# Troubles


@pytest.fixture(scope="module")
def troubles():
    sandbox = Sandbox(Roots())
    return sandbox, sandbox.load(HERE / "troubles.py")


@pytest.fixture
def trouble(troubles):
    """Makes the runner of a trouble; ``made`` are the objects of its executions."""
    sandbox, module = troubles

    def runner(name, **options):
        kind, made = getattr(module, name), []

        def make():
            made.append(kind())
            return [lambda number=number: made[-1].run(number) for number in range(kind.threads)]

        bodies = Bodies(sandbox, make, kind.threads, **options)
        bodies.made = made
        return bodies

    yield runner
    sandbox.reset()


def deadlock(bodies):
    found, _ = executions(bodies, Dpor(), 500)
    return next(execution for execution in found if execution.ending is Ending.DEADLOCK)


def test_deadlock_names_the_locks_their_holders_and_the_lines(trouble):
    found = deadlock(trouble("Crossing")).waits
    assert [wait.thread for wait in found] == [0, 1]
    assert [wait.holder for wait in found] == [1, 0]
    assert {wait.what for wait in found} == {"lock A", "lock B"}
    assert all(wait.where.startswith("troubles.py:") and wait.where.endswith(" in run") for wait in found)
    assert sorted(cycle(found)) == [0, 1]


def test_deadlock_of_a_wait_without_notification(trouble):
    (wait,) = deadlock(trouble("Unnotified")).waits
    assert (wait.what, wait.holder) == ("a notification that never comes", None)
    assert wait.where.startswith("troubles.py:")
    assert cycle((wait,)) == ()


def test_deadlock_of_a_join(trouble):
    first, second = deadlock(trouble("Joining")).waits
    assert first.what in ("the end of a thread", "lock A")  # until Python 3.12 threads are joined by a lock
    assert second.holder == 0
    assert first.where.startswith("troubles.py:")


@pytest.mark.parametrize("name", ["LeftWaiting", "LeftWaitingInTheForeground"])
def test_threads_that_are_left_waiting_are_no_deadlock(name, trouble):
    found, result = executions(trouble(name), Dpor(), 500)
    assert {execution.ending for execution in found} == {Ending.COMPLETE}
    assert result.coverage is Coverage.EXHAUSTED


@pytest.mark.parametrize("strategy", [Dpor, Naive, lambda: PartialOrderSampling(1)])
def test_who_swallows_everything_is_let_go(strategy, trouble):
    bodies = trouble("Stubborn")
    found, _ = executions(bodies, strategy(), 3)
    assert {execution.ending for execution in found} == {Ending.DEADLOCK}
    assert all(made.attempts > 0 for made in bodies.made), "they were unwound"
    assert not bodies.sandbox.scheduler.aborting
    others, _ = executions(trouble("Crossing"), Dpor(), 100)
    assert len({execution.ending for execution in others}) == 2


def test_unwound_threads_may_clean_up(trouble):
    bodies = trouble("CleaningUp")
    executions(bodies, Dpor(), 5)
    assert {made.cleaned for made in bodies.made} == {20}


@pytest.mark.parametrize(("name", "threads"), [("Bottomless", 2), ("BottomlessThread", 1)])
def test_recursion_without_end_is_an_error(name, threads, trouble):
    for strategy in (Dpor(), Naive(), PartialOrderSampling(1)):
        execution = trouble(name).run(strategy)
        assert execution.ending is Ending.COMPLETE
        assert [*itertools.chain(*execution.outcomes), *execution.failures].count("RecursionError") == threads


def test_recursion_without_end_leaves_its_limit_as_it_is(trouble):
    limit = sys.getrecursionlimit()
    trouble("Bottomless").run(Naive())  # asks for a choice at each event, the one with the very last frame included
    assert sys.getrecursionlimit() == limit


def test_threads_that_were_started_deep_down_leave_nothing_behind(trouble):
    bodies = trouble("DeepThenThreads")
    for _ in range(3):
        assert bodies.run(Dpor()).ending is Ending.COMPLETE
    first, *others = (sorted(made.depths) for made in bodies.made)
    assert len(first) == 8
    assert all(depths == first for depths in others)


@pytest.mark.parametrize("granularity", list(Granularity))
@pytest.mark.parametrize("strategy", [Dpor, Naive, lambda: PartialOrderSampling(1)])
def test_who_spins_for_ever_is_stopped(strategy, granularity):
    sandbox = Sandbox(Roots(), granularity)
    module = sandbox.load(HERE / "troubles.py")
    execution = Bodies(sandbox, lambda: [lambda: module.Spinning().run(0)]).run(strategy())
    assert execution.ending is Ending.ENDLESS
    assert MOST_EVENTS <= len(execution.trace) <= FOREVER + 10
    sandbox.reset()


@pytest.mark.parametrize(("name", "ending"), [("Polling", Ending.DEADLOCK), ("Napping", Ending.ENDLESS)])
def test_who_polls_for_ever_is_stopped(name, ending, trouble):
    for strategy in (Dpor(), PartialOrderSampling(1)):  # Naive interrupts each look
        assert trouble(name, timeouts=1).run(strategy).ending is ending


def test_who_spins_until_another_comes_is_not_stopped(trouble):
    endings = {trouble("SpinningUntilTheOtherComes").run(PartialOrderSampling(seed)).ending for seed in range(20)}
    assert Ending.COMPLETE in endings


@pytest.mark.parametrize("name", ["Dying", "DyingBare"])
def test_exception_that_ends_a_thread_is_noted(name, trouble):
    found, _ = executions(trouble(name), Dpor(), 50)
    assert {execution.failures for execution in found} == {("KeyError",)}
    assert {execution.ending for execution in found} == {Ending.COMPLETE}


def test_exit_is_no_failure(trouble):
    found, _ = executions(trouble("Leaving"), Dpor(), 50)
    assert {(execution.failures, *execution.outcomes[0]) for execution in found} == {((), "SystemExit")}


def test_nothing_is_left_of_an_execution_that_was_unwound(trouble):
    bodies = trouble("Crossing")
    deadlock(bodies)
    scheduler = bodies.sandbox.scheduler
    bodies.clean_up()
    assert scheduler.actors == {}
    assert scheduler.trace == []
    assert not scheduler.live
    assert not any(event[1] == BLOCKED for event in scheduler.trace)


def test_threads_have_the_same_names_and_order_in_each_execution(trouble):
    """Else the same choices would lead elsewhere."""
    bodies = trouble("Named")
    for _ in range(5):
        bodies.run(PartialOrderSampling(1))
    assert len({tuple(made.seen) for made in bodies.made}) == 1
    names = {name.partition(" ")[0] for name, _ in bodies.made[0].seen}
    assert names == {f"Thread-{number}" for number in range(1, 7)}


def test_thread_local_data_is_new_in_each_execution_and_for_each_thread_alone(troubles, trouble):
    _, module = troubles
    before = len(module.Counted.made)
    found, _ = executions(trouble("LookingAtAModule"), PartialOrderSampling(1), 10)
    assert {tuple(map(tuple, execution.outcomes)) for execution in found} == {(((1, False, None),),) * 2}
    assert len(module.Counted.made) - before == 20, "neither the harness nor the analysis of traces counts as a thread"


@pytest.mark.parametrize("after", [0, 1])
def test_exception_of_a_strategy_is_no_business_of_the_threads(after, trouble):
    class Failing(Naive):
        def choose(self, running):
            if len(self.scheduler.trace) >= after:
                raise LookupError("of the strategy")
            return super().choose(running)

    bodies = trouble("Stubborn")
    with pytest.raises(LookupError, match="of the strategy"):
        bodies.run(Failing())
    assert all(made.attempts == 0 for made in bodies.made)
    bodies.clean_up()
    assert trouble("Crossing").run(Dpor()).ending is Ending.COMPLETE


def test_real_threads_are_none_of_its_business(trouble):
    before = set(threading.enumerate())
    executions(trouble("Joining"), Dpor(), 100)
    assert set(threading.enumerate()) <= before


# The clock


@pytest.mark.parametrize("strategy", [Dpor, Naive])
def test_time_passes_as_fast_as_somebody_waits_for_it(strategy, trouble):
    bodies = trouble("Sleepers")
    found, result = executions(bodies, strategy(), 20_000)
    assert result.coverage is Coverage.EXHAUSTED
    assert {execution.ending for execution in found} == {Ending.COMPLETE}
    # both slept at the same time, one after the other, or were slow to begin or to look at the clock
    assert {tuple(made.woken) for made in bodies.made} == {(1.0, 2.0), (2.0, 2.0), (1.0, 3.0), (3.0, 2.0), (3.0, 3.0)}


def test_wait_with_a_timeout_ends_well_or_takes_its_time(trouble):
    bodies = trouble("Impatient")
    executions(bodies, Naive(), 1000)
    assert {seen for made in bodies.made for seen in made.seen} == {(True, 0.0), (False, 1.0)}


def test_nothing_times_out_early_once_that_has_happened_often_enough(trouble):
    """With no timeouts to spend, a wait ends early only if nothing else can happen."""
    bodies = trouble("Impatient", timeouts=0)
    found, result = executions(bodies, Dpor(), 1000)
    assert {seen for made in bodies.made for seen in made.seen} == {(True, 0.0)}
    assert result.coverage is Coverage.NO_PROOF or not any(execution.timeouts_withheld for execution in found)


def test_time_moves_on_with_each_reading():
    time = Sandbox(Roots()).world_module("time")
    for clock in (time.time, time.monotonic, time.perf_counter, time.time_ns, time.monotonic_ns):
        assert clock() < clock() < clock() < clock() + 1


def test_clock_of_each_execution_begins_anew(trouble):
    bodies = trouble("Sleepers")
    for _ in range(3):
        bodies.run(Dpor())
    assert len({tuple(made.woken) for made in bodies.made}) == 1
    bodies.clean_up()
    assert bodies.sandbox.scheduler.now == 0.0


# Events


def test_who_waits_outside_an_exploration_for_what_never_comes_is_told(virtual):
    sandbox, modules = virtual
    sandbox.reset(1)
    lock = modules[MODULES[0]].threading.Lock()
    lock.acquire()
    with pytest.raises(SetupDeadlockError, match="something that never happens"):
        lock.acquire()
    with pytest.raises(SetupDeadlockError):
        modules[MODULES[0]].threading.Event().wait()
    sandbox.reset()


def test_each_visible_step_of_a_lock_is_an_event(troubles):
    sandbox, module = troubles
    lock, reentrant = module.threading.Lock(), module.threading.RLock()

    def steps():
        lock.acquire()
        lock.locked()
        lock.acquire(blocking=False)
        lock.release()
        with reentrant, reentrant:
            pass

    execution = Bodies(sandbox, lambda: [steps]).run(Dpor())
    kinds = [KIND_NAMES[kind] for _, kind, obj, _ in execution.trace if obj is lock]
    assert kinds == ["acquire", "query", "try", "release"]
    kinds = [KIND_NAMES[kind] for _, kind, obj, _ in execution.trace if obj is reentrant]
    assert kinds == ["acquire", "release"], "taking it again is nobody else's business"
    sandbox.reset()


def test_events_that_fail_say_so(troubles):
    sandbox, module = troubles
    lock = module.threading.Lock()

    def steps():
        lock.acquire()
        lock.acquire(blocking=False)
        lock.release()
        lock.acquire(blocking=False)
        lock.release()
        lock.release()

    execution = Bodies(sandbox, lambda: [steps]).run(Dpor())
    assert [slot for _, _, obj, slot in execution.trace if obj is lock] == [None, False, True, True, True, False]
    assert execution.outcomes == [["RuntimeError"]]
    sandbox.reset()


def test_locks_of_modules_are_free_again_after_an_execution_that_was_unwound(troubles):
    sandbox, module = troubles
    lock, held = module.threading.Lock(), module.threading.Lock()
    held.acquire()
    both = module.threading.RLock()

    def keep():
        both.acquire()
        lock.acquire()
        held.release()
        held.acquire()
        lock.acquire()

    execution = Bodies(sandbox, lambda: [keep, keep], threads=2).run(Dpor())
    assert execution.ending is Ending.DEADLOCK
    sandbox.reset()
    assert not lock.locked()
    assert both.free
    assert held.locked(), "it was held before"


def test_what_an_object_does_that_dies_with_a_thread_is_let_end() -> None:
    """The hub finalizes it, and cannot be aborted; ``tempfile.SpooledTemporaryFile`` closes itself so."""
    scheduler = Scheduler()
    scheduler.live = scheduler.aborting = True
    for _ in range(1_000):
        scheduler.access(scheduler, "name", WRITE)
    assert len(scheduler.trace) == 1_000
