import asyncio
import random
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.asyncio_testers import programs

SCRIPT = Path(__file__).parent / "run.py"
NEEDS_3_13 = ("notify_kept", "wait_for_raises", "group_raises")


class JumpingClock(asyncio.SelectorEventLoop):
    """asyncio's own loop. Before an iteration, its clock may jump to a deadline, as if a callback had been slow."""

    def __init__(self, seed):
        super().__init__()
        self.random, self.now, self._clock_resolution = random.Random(seed), 0.0, 0.0
        self._selector.select = self.jump

    def time(self):
        self.now += 1e-9
        return self.now

    def jump(self, timeout):
        deadlines = [timer.when() for timer in self._scheduled if not timer.cancelled()]
        assert deadlines or timeout == 0, "waits for ever"
        if deadlines and (timeout != 0 or self.random.random() < 0.4):
            self.now = max(self.now, self.random.choice(deadlines))
        return []


def fails_with(body, seed):
    loop = JumpingClock(seed)
    try:
        loop.run_until_complete(body())
    except AssertionError:
        return True
    finally:
        for task in asyncio.all_tasks(loop):
            task._coro.close()
            task._log_destroy_pending = False
        loop.close()
    return False


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", programs.TRUTHS)
def test_the_loop_of_asyncio_agrees_with_the_truth(name):
    if name in NEEDS_3_13 and sys.version_info < (3, 13):
        pytest.skip("asyncio itself has the fault")
    _, can_fail, _ = programs.TRUTHS[name]
    assert any(fails_with(getattr(programs, name), seed) for seed in range(300)) == can_fail


def test_the_table_has_a_cell_for_each_tester():
    command = [sys.executable, str(SCRIPT), "--only", "two_callbacks", "--only", "three_steps"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240).stdout
    holds, fails = printed.splitlines()[-2:]
    assert "| holds | proven, " in holds
    assert "| fails | found, " in fails
    assert holds.count("|") == fails.count("|") == 8
