"""CPython's own tests of threads, run on virtual ones: each must pass, or there is a reason why it cannot."""

from __future__ import annotations

import fnmatch
import json
import os
import subprocess
import sys
from pathlib import Path

_CHILD = Path(__file__).with_name("virtual_child.py")
_MOST_SECONDS = 3_600

SUITES = ("test.test_threading", "test.test_queue", "test.test_thread", "test.test_threading_local", "test.test_sched")
"""The first one holds `test.lock_tests`."""

_DAEMON = "threads of a program are daemons, as no execution outlives them, and so are those that they start"
_START = "starting a thread is one step of the virtual runtime, not what the source of threading does it with"
_TRACE = "the trace of the execution keeps objects until it is over"

REFUSED = (
    "uses os.fork: other processes cannot be scheduled",
    "uses _thread.interrupt_main: no signal is delivered to virtual threads",
    "uses ctypes.pythonapi.PyThreadState_SetAsyncExc: it reaches memory that cannot be watched",
)
"""Ends of the reasons for which a test may be refused."""

UNAVOIDABLE = {
    "ExceptHookTests.test_excepthook_thread_None": "the hook in C prints the identity of the real thread",
    "MiscTestCase.test__all__": "functions of a virtual _thread tell where they are from",
    "SubinterpThreadingTests.test_threads_join*": "another interpreter knows no virtual descriptors",
    "ThreadTests.test_daemon_param": _DAEMON,
    "ThreadTests.test_repr_daemon": _DAEMON,
    "ThreadTests.test_shutdown_locks": _DAEMON,
    "ThreadTests.test_various_ops*": _DAEMON,
    "ThreadTests.test_disallow_instantiation": "the type of virtual locks may be called, as it may from Python 3.13 on",
    "ThreadTests.test_main_thread": "a program has threads of its own: none of them is the main thread",
    "ThreadTests.test_limbo_cleanup": _START,
    "ThreadTests.test_tstate_lock": _START,
    "ThreadTests.test_no_refcycle_through_target": _TRACE,
    "*ThreadingLocalTest.test_cycle_collection": _TRACE,
    "*ThreadLocalTest.test_cycle_collection": _TRACE,
    "*LocalTest.test_local_refs": _TRACE,
    "ThreadRunningTests.test_unraisable_exception": "what ends a thread is a finding: it is kept, not printed",
}
"""Tests that give something else on virtual threads, and why."""


def run(suite: str, folder: Path, seed: int, *patterns: str) -> dict[str, str]:
    """What each test of a suite gives whose name fits a pattern."""
    done = subprocess.run(
        (sys.executable, str(_CHILD), suite, str(seed), *patterns),
        cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=_MOST_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{suite} ended with status {done.returncode}:\n{done.stderr[-3_000:]}"
    given: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return given


def wrong(given: dict[str, str]) -> list[str]:
    """The tests that gave something that they should not, with what."""
    return [
        f"{test}: {what}"
        for test, what in given.items()
        if what not in ("passed", "skipped")
        and not (what.startswith("refused: ") and what.endswith(REFUSED))
        and not any(fnmatch.fnmatchcase(test, name) for name in UNAVOIDABLE)
    ]
