"""A suite of unittest's in a process of its own, each test a virtual thread; prints what each gave, as JSON.

Started as ``virtual_child.py SUITE SEED PATTERN...``: the tests are those whose ``Class.method`` fits a pattern. Time
passes only where nothing else can go on: these tests take for granted that an hour is enough for a step.
"""

from __future__ import annotations

import fnmatch
import functools
import importlib
import json
import sys
import unittest
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from kcache_stress.engine.granularity import Granularity
from kcache_stress.engine.strategy import Ending
from kcache_stress.modules.copies import Copies
from kcache_stress.runtime.threads.standstill import Watched
from kcache_stress.runtime.threads.virtual_thread import UncontrolledError
from kcache_stress.runtime.waits import waits
from kcache_stress.strategies.random_walk import RandomWalk

_MOST_EVENTS = 10_000_000
_HELPERS = ("test.lock_tests",)
"""Modules that suites share, whose accesses are to be steps, too."""


def _names(suite: unittest.TestSuite, test_module: str) -> Iterator[tuple[str, str]]:
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from _names(test, test_module)
        elif type(test).__module__ == test_module:
            yield type(test).__qualname__, test._testMethodName


def _outcome(result: unittest.TestResult) -> str:
    for what, found in (("error", result.errors), ("failed", result.failures)):
        if found:
            return f"{what}: {found[0][1]}"
    return "skipped" if result.skipped else "passed"


def _run(copies: Copies, suite: str, owner: str, name: str, seed: int) -> str:
    sandbox = copies.sandbox
    scheduler = sandbox.scheduler
    sandbox.reset(1)
    holder: Any = functools.reduce(getattr, owner.split("."), sandbox.load(suite))
    strategy, result = RandomWalk(seed), unittest.TestResult()
    strategy.most_events = _MOST_EVENTS
    try:
        with Watched(scheduler), sandbox.present():
            scheduler.settle()
            strategy.begin(scheduler)
            scheduler.explore([lambda: holder(name).run(result)], strategy.choose, 0)
    except UncontrolledError as error:
        return f"refused: {error}"
    if strategy.ending is not Ending.COMPLETE:
        return f"{strategy.ending}: {'; '.join(map(str, waits(scheduler)))}"
    return _outcome(result)


def main(suite: str, seed: str, *patterns: str) -> None:
    """Run the tests."""
    warnings.simplefilter("ignore")
    out, sys.stdout = sys.stdout, sys.stderr
    instrumented: Sequence[str] = (suite, *_HELPERS)
    copies = Copies(tuple(instrumented), Granularity.SYNC, None, (suite,))
    tests = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(suite))
    given = {
        f"{owner}.{name}": _run(copies, suite, owner, name, int(seed))
        for owner, name in _names(tests, suite)
        if any(fnmatch.fnmatchcase(f"{owner}.{name}", pattern) for pattern in patterns)
    }
    copies.sandbox.reset()
    print(json.dumps(given), file=out)


if __name__ == "__main__":
    main(*sys.argv[1:])
