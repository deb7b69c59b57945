"""Other tools for threads on the same stores and programs: interleave-test and frontrun, if they are installed.

Neither knows what an indexed store is, so their test function gets an oracle: what the calls gave and what is read
afterwards must be what some order of the calls, one at a time, gives on the correct store. The orders are worked out
before the clock starts. The objects are plain items, and the tools trace as little as they can be told to.
"""

from __future__ import annotations

import importlib.util
import os
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from time import perf_counter, process_time
from typing import Any

from kcache_model.indexers.items import Item
from kcache_model.indexers.operations import Operation, OperationName
from kcache_model.indexers.program import Program
from kcache_stress.indexers.target_loading import load_target

from .ours import Ran
from .programs import NODE, SIMPLE, TARGETS

Call = tuple[str, tuple[Any, ...]]
Test = tuple[Callable[[], Any], list[Callable[[Any], None]], Callable[[Any], bool]]
"""Makes the state, the work of each thread, whether the state is right in the end."""

INTERLEAVE, FRONTRUN = "interleave-test", "frontrun"


def installed(name: str) -> bool:
    """Whether a tool can be imported here."""
    return importlib.util.find_spec(name.replace("-", "_")) is not None


def call_of(operation: Operation) -> Call:
    match operation.name:
        case OperationName.ADD | OperationName.UPDATE | OperationName.DELETE:
            arguments: tuple[Any, ...] = (operation.item,)
        case OperationName.REPLACE:
            arguments = (operation.items,)
        case OperationName.GET_BY_KEY:
            arguments = (operation.key,)
        case OperationName.BY_INDEX | OperationName.INDEX_KEYS:
            arguments = (operation.index, operation.value)
        case _:
            arguments = ()
    return operation.name.value, arguments


def perform(store: Any, call: Call) -> object:
    """What a call gives, as something that can be compared."""
    try:
        found = getattr(store, call[0])(*call[1])
    except Exception as error:
        return repr(error)
    return frozenset(map(str, map(name_of, found))) if isinstance(found, list) else name_of(found)


def name_of(found: object) -> object:
    return found.stamp if isinstance(found, Item) else found


class State:
    """A store, and what the calls of each thread gave."""

    def __init__(self, spec: str, program: Program) -> None:
        self.store: Any = make_store(spec)
        for operation in program.prefix:
            perform(self.store, call_of(operation))
        self.results: list[list[object]] = [[] for _ in program.threads]

    def observed(self, program: Program) -> object:
        return tuple(map(tuple, self.results)), tuple(perform(self.store, call) for call in final_calls(program))


@cache
def factory(spec: str) -> Callable[..., Any]:
    return load_target(spec).factory


def make_store(spec: str) -> Any:
    return factory(spec)(lambda item: item.key, {NODE: lambda item: list(item.values[NODE])})


@cache
def final_calls(program: Program) -> tuple[Call, ...]:
    values = {value for operation in program.operations() for item in operation.written for value in item.values[NODE]}
    return (("list", ()), ("list_keys", ()), *(("by_index", (NODE, value)) for value in sorted(values)))


@cache
def allowed(program: Program) -> frozenset[object]:
    """What may be observed: what one call at a time gives, in any order that keeps to the order in each thread."""

    def orders(left: tuple[int, ...]) -> Iterator[list[int]]:
        if not any(left):
            yield []
        for thread, count in enumerate(left):
            if count:
                for rest in orders((*left[:thread], count - 1, *left[thread + 1 :])):
                    yield [thread, *rest]

    observed = set()
    for order in orders(tuple(map(len, program.threads))):
        state = State(SIMPLE, program)
        for thread in order:
            operation = program.threads[thread][len(state.results[thread])]
            state.results[thread].append(perform(state.store, call_of(operation)))
        observed.add(state.observed(program))
    return frozenset(observed)


def test_of(spec: str, program: Program) -> Test:
    """The test function for both tools."""
    right = allowed(program)

    def work(number: int, calls: Sequence[Call]) -> Callable[[State], None]:
        def run(state: State) -> None:
            results, store = state.results[number], state.store
            for call in calls:
                results.append(perform(store, call))

        return run

    threads = [work(number, [*map(call_of, thread)]) for number, thread in enumerate(program.threads)]
    make_store(spec)
    return lambda: State(spec, program), threads, lambda state: state.observed(program) in right


def interleave_test(spec: str, program: Program, strategy: str, executions: int, seed: int = 1) -> Ran:
    """interleave-test: a switch before every bytecode instruction of the store."""
    import interleave_test

    setup, workers, is_right = test_of(spec, program)

    def model() -> None:
        with interleave_test.no_interleave():
            state = setup()
        for task in [interleave_test.spawn(worker, state) for worker in workers]:
            task.join()
        with interleave_test.no_interleave():
            assert is_right(state)

    wall, cpu = perf_counter(), process_time()
    result = interleave_test.explore(
        model, strategy=strategy, iterations=executions, seed=seed, include=[str(TARGETS)], raise_on_failure=False
    )
    wall, cpu = perf_counter() - wall, process_time() - cpu
    found = "" if result.failure is None else result.failure.kind
    return Ran(result.schedules_run, wall, cpu, found, "exhausted" if result.exhausted else "ok")


def frontrun(spec: str, program: Program, strategy: str, executions: int, seed: int = 1) -> Ran:
    """Frontrun: its own reduction, or random switches between instructions; what is found is not replayed."""
    os.environ["FRONTRUN_ACTIVE"] = "1"  # what its command-line wrapper does; nothing here needs the rest of that
    import frontrun as tool

    setup, workers, is_right = test_of(spec, program)
    more: dict[str, Any] = {"max_executions": executions, "preemption_bound": None, "total_timeout": 30.0}
    if strategy == "random":
        more = {"max_attempts": executions, "seed": seed}
    random_state = random.getstate()
    wall, cpu = perf_counter(), process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = tool.explore(
            setup, workers, is_right, strategy=strategy, detect_io=False, reproduce_on_failure=0, **more
        )
    wall, cpu = perf_counter() - wall, process_time() - cpu
    random.setstate(random_state)
    verdict = {True: "holds", False: "", None: "inconclusive"}[result.property_holds]
    claim = "exhausted" if result.exhausted else verdict
    return Ran(result.num_explored, wall, cpu, "failure" if result.property_holds is False else "", claim)


Peer = Callable[[str, Program, str, int], Ran]

PEERS: dict[str, tuple[str, Peer, str]] = {
    "interleave-test PCT": (INTERLEAVE, interleave_test, "pct"),
    "interleave-test DFS": (INTERLEAVE, interleave_test, "dfs"),
    "frontrun DPOR": (FRONTRUN, frontrun, "dpor"),
    "frontrun random": (FRONTRUN, frontrun, "random"),
}
"""Label -> package, what runs it, its strategy."""
