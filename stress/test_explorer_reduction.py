"""The reduction against brute force: Dpor shows every outcome that Naive shows, and finds a bug exactly if Naive does.

Three kinds of programs: calls of Indexers of the gallery; micro-programs, random straight-line threads over a few
variables and everything that ``threading``, ``queue`` and ``time`` offer to synchronise them; and small ones written by
hand, each of which a wrong reduction once got wrong or easily could.

Where Naive does not come to an end, what it saw and what random schedules show must be among what Dpor saw.
"""

import functools
import math
from pathlib import Path

import pytest

from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item, Semantics
from kcache_model.indexers.program import Program
from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.granularity import REWRITTEN, Granularity
from kcache_stress.engine.search import SearchLimits, search
from kcache_stress.engine.strategy import Coverage, Ending
from kcache_stress.indexers.exploration import explored_indexer
from kcache_stress.indexers.programs.random_programs import ExplorerShape, explorer_program
from kcache_stress.strategies.naive import Naive
from kcache_stress.strategies.partial_order_sampling import PartialOrderSampling
from stress.material.explorer_targets.micro_programs import Author, Micros, micro

TARGETS = Path(__file__).parents[1] / "examples" / "targets"
FREE, GIL, SYNC = Granularity.FREE, Granularity.GIL, Granularity.SYNC


def outcomes(runner, strategy, executions):
    """What a search shows, and how it ended."""
    seen = set()

    def look(execution):
        results = runner.sandbox.scheduler.equal_actors.in_order(list(map(tuple, execution.outcomes)))
        seen.add((execution.ending, results, execution.final, tuple(sorted(execution.failures))))

    result = search(runner, strategy, None, SearchLimits(executions), on_execution=look)
    return seen, result


def dpor(granularity=FREE):
    return Dpor()


class Tally:
    """What was compared in a number of programs."""

    def __init__(self):
        self.programs = self.compared = self.exhausted = self.several = 0

    def compare(self, runner, granularity, name, executions):
        """Dpor against Naive, or against a sample where there is too much for Naive."""
        self.programs += 1
        reduced, result = outcomes(runner, dpor(granularity), executions)
        if result.coverage not in (Coverage.EXHAUSTED, Coverage.NO_PROOF):
            return
        everything, brute_force = outcomes(runner, Naive(), executions)
        self.compared += 1
        self.several += len(reduced) > 1
        if brute_force.coverage in (Coverage.EXHAUSTED, Coverage.NO_PROOF):
            self.exhausted += 1
            assert reduced == everything, f"{name}: Dpor shows other outcomes than Naive"
            if granularity is FREE:
                assert result.executions <= brute_force.executions, f"{name}: that is no reduction"
        else:
            sample, _ = outcomes(runner, PartialOrderSampling(len(name)), 80)
            assert everything | sample <= reduced, f"{name}: Dpor misses outcomes"


# Micro-programs


BATCHES = 120
MICRO_BATCH = 30


def random_micros(first, folder, granularity, count=MICRO_BATCH):
    return Micros([Author(seed).bodies() for seed in range(first, first + count)], folder, granularity)


@pytest.mark.one_in(240)
@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_micro_programs(batch, tmp_path):
    micros, tally = random_micros(1000 * batch, tmp_path, FREE), Tally()
    for number in range(len(micros.programs)):
        tally.compare(micros.runner(number), FREE, micros.name(number), 600)
    assert tally.compared > 0.7 * tally.programs
    assert tally.exhausted > 0.4 * tally.programs
    assert tally.several > 0.3 * tally.programs, "most programs must have something to choose"


@pytest.mark.one_in(160, start=41)
@pytest.mark.parametrize("granularity", [GIL, SYNC])
@pytest.mark.parametrize("batch", range(BATCHES // 3))
def test_random_micro_programs_in_larger_steps(batch, granularity, tmp_path):
    micros, tally = random_micros(1000 * batch + 500, tmp_path, granularity), Tally()
    for number in range(len(micros.programs)):
        tally.compare(micros.runner(number), granularity, micros.name(number), 600)
    assert tally.compared > 0.6 * tally.programs
    assert tally.exhausted > 0.2 * tally.programs


@pytest.mark.one_in(40)
@pytest.mark.parametrize("batch", range(BATCHES // 6))
def test_larger_steps_show_some_of_what_smaller_ones_show(batch, tmp_path):
    """Whatever can happen if threads are switched at locks only can happen under a GIL; that, without one."""
    micros = {level: random_micros(1000 * batch + 700, tmp_path, level) for level in (SYNC, GIL, FREE)}
    fewer = compared = 0
    for number in range(MICRO_BATCH):
        found = {level: outcomes(micros[level].runner(number), dpor(level), 400) for level in micros}
        if any(result.coverage is not Coverage.EXHAUSTED for _, result in found.values()):
            continue
        compared += 1
        fewer += found[SYNC][0] < found[FREE][0]
        assert found[SYNC][0] <= found[GIL][0] <= found[FREE][0], micros[FREE].name(number)
    assert compared > 0.5 * MICRO_BATCH
    assert fewer, "some program must need smaller steps"


BY_HAND = {
    "two threads wait for one lock that a third one keeps": (
        "with s.r: pass",
        "s.r.acquire(timeout=2)",
        "with s.r: pass",
    ),
    "a lock is released by whom it does not belong to": ("s.a.acquire()\nnote(s.x)", "s.a.release()\ns.x = 1"),
    "a release in vain may come later": ("s.a.release()\ns.x = 1", "with s.a: pass\nwith s.a: s.x += 1"),
    "two release what one holds": ("s.a.acquire()\ns.a.release()", "s.a.release()"),
    "whoever times out moves the clock": (
        "note(s.r.acquire(timeout=2))\nnote(time.monotonic())",
        "note(s.r.acquire(timeout=2))",
    ),
    "sleepers share the clock": ("time.sleep(2)\nnote(time.monotonic())", "time.sleep(1)\nnote(time.monotonic())"),
    "a look at a lock": ("note(s.a.locked())\nnote(s.a.locked())", "with s.a: pass"),
    "a try in vain": ("note(s.a.acquire(blocking=False))", "note(s.a.acquire(blocking=False))", "note(s.a.locked())"),
    "two locks in two orders": ("with s.a, s.b: s.x += 1", "with s.b, s.a: s.x += 1"),
    "a wait that nobody ends": ("with s.k: s.k.wait()", "with s.k: s.k.notify()"),
    "one notification for two": ("with s.k: s.k.wait()", "with s.k: s.k.wait()", "with s.k: s.k.notify()"),
    "a write that only one order shows": ("s.x = 1\ns.y = 1", "note(s.y)\nnote(s.x)"),
    "store buffers": ("s.x = 1\nnote(s.y)", "s.y = 1\nnote(s.x)"),
    "three writers of one variable": ("s.x = 1", "s.x = 2", "s.x = 3"),
    "reads do not race": ("note(s.x)\nnote(s.y)", "note(s.y)\nnote(s.x)", "note(s.x)"),
    "a branch that a race decides": ("if s.x: s.y = 1", "s.x = 1\ns.x = 0", "note(s.y)"),
    "one step meets two threads": ("s.x = 1\ns.y = 1", "note(s.y)", "note(s.x)"),
    "a step that reads one and writes another": ("s.y = s.x", "s.x += 1", "note(s.x)"),
    "what is joined is over": ("t = CHILD; t.start(); t.join(); note(s.x)", "s.x += 1"),
    "alive or not": ("t = CHILD; t.start(); note(t.is_alive())", "s.y = 1"),
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """``shared(texts, granularity)``: micro-programs in one module, made once; that takes longer than to run them."""

    @functools.cache
    def make(texts, granularity):
        programs = [[text.split("\n") for text in threads] for threads in texts]
        return Micros(programs, tmp_path_factory.mktemp("micros"), granularity)

    return make


@pytest.mark.one_in(6)
@pytest.mark.parametrize("granularity", REWRITTEN)
@pytest.mark.parametrize("name", BY_HAND)
def test_micro_programs_by_hand(name, granularity, shared):
    micros, tally = shared(tuple(BY_HAND.values()), granularity), Tally()
    tally.compare(micros.runner(list(BY_HAND).index(name)), granularity, name, 1500)
    assert tally.compared == 1
    assert tally.exhausted == 1 or granularity is GIL or "CHILD" in str(BY_HAND[name])


def test_all_of_a_deadlock_of_three_is_seen(tmp_path):
    """Whoever takes the lock and keeps it, the other two wait."""
    keep = "s.a.acquire()\nnote(s.x)"
    seen, result = outcomes(micro(keep, keep, keep, folder=tmp_path), Dpor(), 1000)
    assert {ending for ending, *_ in seen} == {Ending.DEADLOCK}
    assert len(seen) == 3
    assert result.coverage is Coverage.EXHAUSTED


APPENDS = [(2, 1), (2, 2), (3, 1), (2, 3), (3, 2), (4, 1)]


def locked_appends(threads, appends):
    return tuple("\n".join([f"with s.a: s.l.append({thread})"] * appends) for thread in range(threads))


@pytest.mark.parametrize("granularity", REWRITTEN)
@pytest.mark.parametrize(("threads", "appends"), APPENDS)
def test_locked_appends_come_in_every_order(threads, appends, granularity, shared):
    """Exactly (nk)!/(k!)^n orders for n threads, k times each: all of them, and none twice."""
    micros = shared(tuple(locked_appends(*size) for size in APPENDS), granularity)
    runner = micros.runner(APPENDS.index((threads, appends)))
    seen, result = outcomes(runner, dpor(granularity), 100_000)
    orders = math.factorial(threads * appends) // math.factorial(appends) ** threads
    assert len(seen) == orders
    assert result.coverage is Coverage.EXHAUSTED
    if granularity is FREE:
        assert result.executions == orders


def test_counter_without_lock_loses_updates_only_where_threads_can_be_switched(tmp_path):
    """``x += 1`` is one step under a GIL, and between two locks; without any lock it loses updates."""
    finals = {}
    for granularity in REWRITTEN:
        runner = micro("s.x += 1", "s.x += 1", folder=tmp_path, granularity=granularity)
        seen, _ = outcomes(runner, dpor(granularity), 100)
        finals[granularity] = {final[0] for _, _, final, _ in seen}
    assert finals == {FREE: {1, 2}, GIL: {2}, SYNC: {2}}


@pytest.mark.parametrize("granularity", [GIL, SYNC])
def test_threads_begin_in_any_order_whatever_the_granularity(granularity, tmp_path):
    seen, _ = outcomes(micro("s.x = 1", "note(s.x)", folder=tmp_path, granularity=granularity), dpor(granularity), 100)
    assert {results[1] for _, results, _, _ in seen} == {("1", 0, "ended"), ("1", 1, "ended")}


def test_no_execution_is_left_by_the_one_before(tmp_path):
    """Executions that end while a thread is about to release a lock of a module: ``threading`` has some."""
    texts = ["t = CHILD; t.start()\ntime.sleep(1)", "t = CHILD; t.start(); t.join()"]
    runner = micro(*texts, folder=tmp_path, granularity=SYNC)
    outcomes(runner, dpor(SYNC), 400)
    seen, _ = outcomes(runner, PartialOrderSampling(1), 100)
    assert {ending for ending, *_ in seen} == {Ending.COMPLETE}


# Programs of Indexers


@functools.cache
def subject(name, granularity=FREE):
    return explored_indexer(f"{TARGETS / name}.py:new_indexer", granularity=granularity)


INDEXERS = [
    "textbook",
    "read_write_lock",
    "sequence_lock",
    "copy_on_write",
    "striped_locks",
    "lookup_in_two_steps",
    "snapshot_without_lock",
    "update_outside_lock",
    "unlocked_get",
    "unlocked_list",
    "unlocked_swap",
    "unlocked_index_values",
    "leaky_read_write_lock",
    "lock_order_inversion",
    "bucket_made_twice",
    "torn_sequence_lock",
    "replace_in_two_sections",
    "upgraded_read_lock",
    "waits_with_lock_held",
]
CORRECT = {"textbook", "read_write_lock", "sequence_lock", "copy_on_write"}
SHAPES = [
    ExplorerShape(threads=(2, 2), operations=(1, 1), prefix=1),
    ExplorerShape(threads=(2, 2), operations=(1, 2), prefix=1),
    ExplorerShape(threads=(3, 3), operations=(1, 1), prefix=1, keys=1),
]


def indexer_program(name, seed, shapes=SHAPES):
    chosen = shapes[seed % len(shapes)]
    return explorer_program(seed, subject(name).target, Semantics.CLASSIC, chosen)


@pytest.mark.one_in(24)
@pytest.mark.parametrize("name", INDEXERS)
def test_programs_of_indexers(name, effort):
    tally = Tally()
    for seed in range(effort(4, 80)):
        program = indexer_program(name, seed)
        tally.compare(subject(name).runner(program), FREE, f"{name}, {program}", 300)
    assert tally.compared > 0.5 * tally.programs


@pytest.mark.one_in(24)
@pytest.mark.parametrize("granularity", [GIL, SYNC])
@pytest.mark.parametrize("name", INDEXERS[::3])
def test_programs_of_indexers_in_larger_steps(name, granularity, effort):
    tally = Tally()
    for seed in range(100, 100 + effort(2, 40)):
        program = indexer_program(name, seed)
        tally.compare(subject(name, granularity).runner(program), granularity, f"{name}, {program}", 400)
    assert tally.compared > 0


def item(number):
    return Item("a", f"v{number}", {"node": (f"n{number % 2}",)})


@pytest.mark.parametrize(("threads", "calls"), [(2, 1), (2, 2), (3, 1), (3, 2), (4, 1)])
def test_executions_of_an_atomic_store_are_the_orders_of_its_calls(threads, calls):
    stamps = iter(range(99))
    program = Program(
        ("node",), (), tuple(tuple(op.add(item(next(stamps))) for _ in range(calls)) for _ in range(threads))
    )
    strategy = Dpor()
    result = search(subject("textbook").runner(program), strategy, None)
    assert result.coverage is Coverage.EXHAUSTED
    assert result.executions == math.factorial(threads * calls) // math.factorial(calls) ** threads
    assert strategy.redundant == 0


def first_problem(name, program, strategy, executions):
    loaded = subject(name)
    runner = loaded.runner(program)
    return search(runner, strategy, loaded.judge(program, runner), SearchLimits(executions))


@pytest.mark.one_in(24, start=1)
@pytest.mark.parametrize("name", INDEXERS)
def test_a_problem_is_found_exactly_if_brute_force_finds_one(name, effort):
    """Naive judges each execution in the order in which it happened, Dpor in all orders that happens-before admits."""
    wrong = right = 0
    for seed in range(200, 200 + effort(5, 100)):
        program = indexer_program(name, seed)
        reduced = first_problem(name, program, Dpor(), 200)
        brute_force = first_problem(name, program, Naive(), 200)
        if reduced.problem is None and reduced.coverage is not Coverage.EXHAUSTED:
            continue
        if brute_force.problem is None and brute_force.coverage is not Coverage.EXHAUSTED:
            sample = first_problem(name, program, PartialOrderSampling(seed), 100)
            if sample.problem is None and reduced.problem is not None:
                continue  # neither can be told wrong
            brute_force = sample
        assert (reduced.problem is None) == (brute_force.problem is None), (program, reduced.problem)
        wrong += reduced.problem is not None
        right += reduced.problem is None
    assert wrong + right > effort(1, 20)
    assert name not in CORRECT or not wrong
