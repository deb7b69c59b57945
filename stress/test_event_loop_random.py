"""Random asyncio programs: what a search of the event loop has seen, against naive enumeration and the real loop."""

from __future__ import annotations

import asyncio
import math
import random
from pathlib import Path

import pytest

from kcache_model.interleaved_program import InterleavedProgram, LoopContract, Timeouts
from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.search import SearchLimits, search
from kcache_stress.engine.strategy import Coverage, Ending
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from stress.material import naive_loop
from stress.material.async_programs import program

_MOST_PLANS = 300
_SHARE = 12
_REAL_RUNS = 15


def explored(
    folder: Path,
    source: str,
    timeouts: Timeouts = Timeouts.ANY_TIME,
    loop: LoopContract = LoopContract.ASYNCIO,
    most: int = _MOST_PLANS,
) -> tuple[set[str], int] | None:
    """Return the outcomes that a search sees, and the number of its executions; ``None`` if it is too long."""
    file = folder / "random_program.py"
    file.write_text(source + "\nfrom kcache import testing as kt\nasync def test_it(): return await program(kt.io)\n")
    target = BodyExplorationTarget(f"{file}:test_it")
    seen: set[str] = set()

    def look(execution):
        if execution.ending is Ending.DEADLOCK:
            seen.add("standstill")
            return
        (end,) = execution.outcomes[0]
        seen.add(end.raised or repr(end.value))

    with target.open_runner(InterleavedProgram(timeouts=timeouts, loop=loop)) as (runner, _):
        result = search(runner, Dpor(), None, SearchLimits(most), on_execution=look)
    return (seen, result.executions) if result.coverage is Coverage.EXHAUSTED else None


def on_the_real_loop(body, seed: int) -> str:
    """Return what one run on a real loop comes to, with completions and timers after random, short delays."""
    choose = random.Random(seed)

    async def main():
        loop = asyncio.get_running_loop()
        later, scale = loop.call_later, choose.random() * 2e-3
        loop.call_later = lambda delay, *rest, **named: later(delay * scale, *rest, **named)

        def completion():
            future = loop.create_future()
            later(choose.random() * 1e-3, lambda: future.done() or future.set_result(None))
            return future

        return await body(completion)

    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)
    try:
        return repr(loop.run_until_complete(main()))
    except Exception as error:
        return type(error).__name__
    finally:
        loop.close()


def body_of(source: str):
    namespace: dict[str, object] = {}
    exec(source, namespace)
    return namespace["program"]


@pytest.mark.parametrize("share", [0, *(pytest.param(number, marks=pytest.mark.nightly) for number in range(1, 100))])
@pytest.mark.parametrize("loop", LoopContract)
@pytest.mark.parametrize(("timeouts", "longest"), [(Timeouts.ANY_TIME, math.inf), (Timeouts.PATIENT, 0.05)])
def test_the_search_sees_what_naive_enumeration_sees(
    share: int, timeouts: Timeouts, longest: float, loop: LoopContract, tmp_path: Path
) -> None:
    compared = saved = 0
    for seed in range(_SHARE * share, _SHARE * share + _SHARE):
        is_asyncio = loop is LoopContract.ASYNCIO  # the others have many more orders
        most = _MOST_PLANS if is_asyncio else 2 * _MOST_PLANS
        source = program(seed, is_small=not is_asyncio)
        expected = naive_loop.outcomes(body_of(source), most, longest, loop)
        found = explored(tmp_path, source, timeouts, loop, most) if expected else None
        if expected is None or found is None:
            continue
        assert found[0] == expected, f"{source}\nmissing {expected - found[0]}, too many {found[0] - expected}"
        compared += 1
        saved += found[1] > 1
    assert compared >= _SHARE // 3
    assert saved >= 1


def test_the_real_loop_does_nothing_that_the_search_does_not_see(tmp_path: Path) -> None:
    compared = 0
    for seed in range(8):
        source = program(seed)
        found = explored(tmp_path, source)
        if found is None:
            continue
        real = {on_the_real_loop(body_of(source), run) for run in range(_REAL_RUNS)}
        assert real <= found[0], f"{source}\n{real - found[0]}"
        compared += 1
    assert compared > 3
