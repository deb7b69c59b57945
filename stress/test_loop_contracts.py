"""Contracts about event loops: some of what asyncio promises is broken where ready callbacks run in any order."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcache_model.interleaved_program import (
    LOOP_CONTRACTS,
    InterleavedProgram,
    LoopContract,
    decode_program,
    encode_program,
)
from kcache_stress.engine.dpor import Dpor
from kcache_stress.interleaved.body_exploration import TOKENS, BodyExplorationTarget
from kcache_stress.target.explore import ExploreOptions, explore
from kcache_stress.target.investigation import investigate

SUPPORT = """
import asyncio
from kcache import testing as kt

async def callbacks():
    seen, loop = [], asyncio.get_running_loop()
    loop.call_soon(seen.append, 1)
    loop.call_soon(seen.append, 2)
    while len(seen) < 2: await asyncio.sleep(0)
    assert seen == [1, 2]

async def tasks():
    seen = []
    async def note(number): seen.append(number)
    await asyncio.gather(note(1), note(2))
    assert seen == [1, 2]

async def timers():
    seen, loop = [], asyncio.get_running_loop()
    loop.call_later(0.001, seen.append, 1)
    loop.call_later(0.002, seen.append, 2)
    while len(seen) < 2: await asyncio.sleep(0.003)
    assert seen == [1, 2]

async def delivered():
    seen = []
    async def note(number):
        await kt.io()
        seen.append(number)
    await asyncio.gather(note(1), note(2))
    assert seen == [1, 2]

async def locked():
    total, lock = 0, asyncio.Lock()
    async def add():
        nonlocal total
        async with lock:
            before = total
            await asyncio.sleep(0)
            total = before + 1
    await asyncio.gather(add(), add())
    assert total == 2

async def cancelled():
    seen = []
    handle = asyncio.get_running_loop().call_soon(seen.append, 1)
    handle.cancel()
    await asyncio.sleep(0)
    assert not seen
"""


def explored(folder: Path, call: str, loop: LoopContract):
    file = folder / "explored_contract.py"
    file.write_text(f"{SUPPORT}\nasync def test_it(): await {call}()\n", encoding="utf-8")
    target = BodyExplorationTarget(f"{file}:test_it")
    program = InterleavedProgram(loop=loop)
    result = investigate(lambda _: target.open_runner(program), lambda _: [(Dpor(), 5_000)], seconds=60.0)
    assert target.contract(program) == LOOP_CONTRACTS[loop]
    return result


@pytest.mark.parametrize("call", ["callbacks", "tasks"])
def test_an_order_that_asyncio_promises_is_broken_in_any_loop(call: str, tmp_path: Path) -> None:
    result = explored(tmp_path, call, LoopContract.ASYNCIO)
    assert (result.problem, result.coverage.value, result.note) == (None, "exhausted", "")
    assert explored(tmp_path, call, LoopContract.ANY_LOOP).problem is not None


def test_only_an_ideal_loop_lets_timers_end_in_any_order(tmp_path: Path) -> None:
    for loop in (LoopContract.ASYNCIO, LoopContract.ANY_LOOP):
        result = explored(tmp_path, "timers", loop)
        assert (result.problem, result.coverage.value) == (None, "exhausted")
    assert explored(tmp_path, "timers", LoopContract.IDEAL).problem is not None


@pytest.mark.parametrize(
    ("call", "strictest"),
    [("delivered", LoopContract.ASYNCIO), ("tasks", LoopContract.ANY_LOOP), ("timers", LoopContract.IDEAL)],
)
def test_a_finding_names_the_strictest_contract_under_which_it_occurs(
    call: str, strictest: LoopContract, tmp_path: Path
) -> None:
    file = tmp_path / "explored_strictest.py"
    file.write_text(f"{SUPPORT}\nasync def test_it(): await {call}()\n", encoding="utf-8")
    program = InterleavedProgram(loop=LoopContract.IDEAL, cancellations=1)
    finding = explore(BodyExplorationTarget(f"{file}:test_it"), program, ExploreOptions()).finding
    assert finding is not None
    assert LOOP_CONTRACTS[strictest] in finding.detail
    token = TOKENS.decode(finding.schedule or "")
    assert (token.program.loop, token.program.cancellations) == (strictest, 0)


@pytest.mark.parametrize("call", ["locked", "cancelled"])
@pytest.mark.parametrize("loop", LoopContract)
def test_what_needs_no_order_is_proved_under_each_contract(call: str, loop: LoopContract, tmp_path: Path) -> None:
    result = explored(tmp_path, call, loop)
    assert (result.problem, result.coverage.value, result.note) == (None, "exhausted", "")


def test_the_contract_is_part_of_a_token() -> None:
    program = InterleavedProgram(loop=LoopContract.ANY_LOOP, cancellations=2)
    assert decode_program(encode_program(program)) == program
    assert encode_program(InterleavedProgram()) == {}
