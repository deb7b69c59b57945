"""Cancellation: each task of an async test is cancelled at each of its awaits, unless the test needs its work."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcache_model.call_program import Cancelled
from kcache_model.interleaved_program import InterleavedProgram
from kcache_model.progress import NoProgress
from kcache_model.verdict import Status
from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.strategy import Coverage
from kcache_stress.interleaved.body_exploration import TOKENS, BodyExplorationTarget
from kcache_stress.runtime.tasks.cancellation import NOT_TOLERATED
from kcache_stress.target.explore import ExploreOptions, explore
from kcache_stress.target.investigation import investigate
from kcache_stress.target.replay import follow
from stress.material.async_sources import LIMITER

SUPPORT = (
    LIMITER
    + """from kcache import testing as kt

async def use(limiter):
    await limiter.acquire()
    try:
        await kt.io()
    finally:
        limiter.release()

async def checked(hands_on):
    limiter = Limiter(1, hands_on)
    await asyncio.gather(use(limiter), use(limiter), return_exceptions=True)
    assert limiter.free == 1, "a place is lost"

async def others_go_on(hands_on):
    limiter = Limiter(1, hands_on)
    await asyncio.gather(*(use(limiter) for _ in range(3)))  # ends with the first cancellation

async def loaded(together):
    task = None
    async def load():
        await kt.io()
        return 1
    async def get():
        nonlocal task
        task = task or asyncio.ensure_future(load())
        return await (task if together else asyncio.shield(task))
    got = await asyncio.gather(get(), get(), return_exceptions=True)
    assert 1 in got, "one cancelled caller has cancelled the other"

async def asked_again(keep):
    tasks = []
    async def load():
        await kt.io()
    async def get():
        if not keep: tasks[:] = [one for one in tasks if not one.cancelled()]
        if not tasks: tasks.append(asyncio.ensure_future(load()))
        await tasks[0]
    await asyncio.wait({asyncio.ensure_future(get())})
    await get()  # raises CancelledError if the first caller was cancelled, and its task is kept

async def awaited(how):
    async def work():
        await kt.io()
    async def outer(task):
        await task
    task = asyncio.ensure_future(work())
    if how == "directly": await task
    elif how == "later": await kt.io(); await task
    elif how == "if it runs":
        await asyncio.sleep(0)
        if not task.done(): await task
    elif how == "by another": await asyncio.ensure_future(outer(task))
    else: await asyncio.gather(task, kt.io())

async def swallowed(raises):
    async def stubborn():
        try:
            await kt.io()
        except asyncio.CancelledError:
            if raises: raise
            return "swallowed"
    (got,) = await asyncio.gather(stubborn(), return_exceptions=True)
    assert got != "swallowed"
"""
)
WRONG = ["checked(False)", "others_go_on(False)", "loaded(True)", "swallowed(False)", "asked_again(True)"]
RIGHT = [
    "checked(True)",
    "others_go_on(True)",
    "swallowed(True)",
]
AWAITED = ["directly", "later", "if it runs", "by another", "together"]


def explored(folder: Path, body: str, cancellations: int = 1):
    file = folder / "explored_cancellation.py"
    file.write_text(f"{SUPPORT}\nasync def test_it():\n{body}", encoding="utf-8")
    target = BodyExplorationTarget(f"{file}:test_it")
    program = InterleavedProgram(cancellations=cancellations)
    return investigate(lambda _: target.open_runner(program), lambda _: [(Dpor(), 5_000)], seconds=60.0)


@pytest.mark.parametrize("call", WRONG)
def test_what_a_cancellation_breaks_is_found(call: str, tmp_path: Path) -> None:
    assert explored(tmp_path, f"    await {call}\n", 0).coverage.value == "exhausted"
    result = explored(tmp_path, f"    await {call}\n")
    assert result.problem is not None
    assert result.counterexample is not None


def test_a_shielded_task_is_not_cancelled_with_its_caller(tmp_path: Path) -> None:
    result = explored(tmp_path, "    await loaded(False)\n")
    assert result.problem is None
    assert NOT_TOLERATED in result.note  # the test needs the task that loads


def test_a_test_may_ask_again_after_the_first_caller_was_cancelled(tmp_path: Path) -> None:
    result = explored(tmp_path, "    await asked_again(False)\n")
    assert result.problem is None, result.problem


@pytest.mark.parametrize("call", RIGHT)
def test_what_a_cancellation_cannot_break_is_proved(call: str, tmp_path: Path) -> None:
    result = explored(tmp_path, f"    await {call}\n")
    assert (result.problem, result.coverage.value, result.note) == (None, "exhausted", "")


@pytest.mark.parametrize("how", AWAITED)
def test_a_test_that_awaits_the_cancelled_task_does_not_fail(how: str, tmp_path: Path) -> None:
    result = explored(tmp_path, f"    await awaited({how!r})\n")
    assert result.problem is None, result.problem
    assert result.coverage.value == "exhausted" or NOT_TOLERATED in result.note


ORPHAN = """
async def main():
    never = asyncio.Event()
    async def use():
        helper = asyncio.ensure_future(never.wait())
        await kt.io()
        helper.cancel()
    await asyncio.ensure_future(use())
"""


@pytest.mark.parametrize(
    ("test", "is_wrong"),
    [
        ("def test_it():\n    with contextlib.suppress(asyncio.CancelledError):\n        asyncio.run(main())\n", False),
        ("async def test_it():\n    await main()\n", True),
    ],
)
def test_tasks_that_are_left_are_cancelled_by_asyncio_run_alone(test: str, is_wrong: bool, tmp_path: Path) -> None:
    file = tmp_path / "explored_orphan.py"
    file.write_text(f"import contextlib\n{SUPPORT}\n{ORPHAN}\n{test}", encoding="utf-8")
    target, program = BodyExplorationTarget(f"{file}:test_it"), InterleavedProgram(cancellations=1)
    result = investigate(lambda _: target.open_runner(program), lambda _: [(Dpor(), 5_000)], seconds=60.0)
    assert (result.problem is not None) is is_wrong, result.problem or result.note


@pytest.mark.parametrize("cancellations", [None, 0, 1])
def test_what_the_decorator_of_a_test_says_holds_unless_the_user_says_otherwise(
    cancellations: int | None, tmp_path: Path
) -> None:
    file = tmp_path / "explored_decorator.py"
    body = "@kt.interleaved(cancel=1)\nasync def test_it():\n    await checked(False)\n"
    file.write_text(f"{SUPPORT}\n{body}", encoding="utf-8")
    target, program = BodyExplorationTarget(f"{file}:test_it"), InterleavedProgram(cancellations=cancellations)
    explored = explore(target, program, ExploreOptions())
    if cancellations == 0:
        assert (explored.finding, explored.coverage) == (None, Coverage.EXHAUSTED)
        assert "no task is cancelled from outside" in explored.assumes
    else:
        assert explored.finding is not None
        token = TOKENS.decode(explored.finding.schedule or "")
        assert follow(target, token, NoProgress(), []).status is Status.VIOLATION


def test_a_task_without_which_the_test_fails_is_not_cancelled_but_named(tmp_path: Path) -> None:
    body = """    total = 0
    async def add():
        nonlocal total
        await kt.io()
        total += 1
    await asyncio.gather(add(), add(), return_exceptions=True)
    assert total == 2
"""
    result = explored(tmp_path, body)
    assert result.problem is None
    assert NOT_TOLERATED in result.note


def test_tasks_that_a_package_makes_for_itself_are_not_cancelled(tmp_path: Path) -> None:
    (tmp_path / "own_worker.py").write_text(
        "import asyncio\n"
        "class Worker:\n"
        "    def __init__(self): self.task = asyncio.ensure_future(self.run())\n"
        "    async def run(self): await asyncio.sleep(0.01)\n",
        encoding="utf-8",
    )
    body = """    from own_worker import Worker
    worker = Worker()
    await kt.io()
    await worker.task
"""
    result = explored(tmp_path, body)
    assert (result.problem, result.coverage.value, result.note) == (None, "exhausted", "")


OWN_WORKER = """
import asyncio


class Worker:
    def __init__(self, is_careful):
        self.is_careful, self.held = is_careful, 0
        self.task = asyncio.ensure_future(self.run())

    async def run(self):
        self.held += 1
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            self.held -= self.is_careful
            raise
        self.held -= 1
"""


@pytest.mark.parametrize("is_careful", [False, True])
@pytest.mark.parametrize("cancelled", [None, Cancelled.ANY])
def test_tasks_of_packages_are_cancelled_if_the_user_says_so(
    cancelled: Cancelled | None, is_careful: bool, tmp_path: Path
) -> None:
    (tmp_path / "careful_worker.py").write_text(OWN_WORKER, encoding="utf-8")
    body = f"""    from careful_worker import Worker
    worker = Worker({is_careful})
    await asyncio.wait([worker.task])
    assert worker.held == 0
"""
    file = tmp_path / "explored_worker.py"
    file.write_text(f"{SUPPORT}\nasync def test_it():\n{body}", encoding="utf-8")
    target, program = BodyExplorationTarget(f"{file}:test_it"), InterleavedProgram(cancellations=1, cancelled=cancelled)
    explored = explore(target, program, ExploreOptions())
    if cancelled is None or is_careful:
        assert (explored.finding, explored.coverage) == (None, Coverage.EXHAUSTED)
        assert ("of a package" in explored.assumes) == (cancelled is Cancelled.ANY)
    else:
        assert explored.finding is not None
        token = TOKENS.decode(explored.finding.schedule or "")
        assert token.program.cancelled is Cancelled.ANY
        assert follow(target, token, NoProgress(), []).status is Status.VIOLATION


def test_two_cancellations_show_what_one_does_not(tmp_path: Path) -> None:
    body = """    left = 3
    async def one():
        nonlocal left
        try:
            await kt.io()
        except asyncio.CancelledError:
            left -= 1
            raise
    await asyncio.gather(one(), one(), return_exceptions=True)
    assert left > 1
"""
    assert explored(tmp_path, body).coverage.value == "exhausted"
    assert explored(tmp_path, body, 2).problem is not None
