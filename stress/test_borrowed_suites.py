"""Suites written by others give the same on instrumented modules: CPython's own, and those of some packages."""

import importlib.util
from itertools import chain
from pathlib import Path

import pytest

from kcache_stress.engine.granularity import REWRITTEN
from stress.material.borrowed_suites import virtual
from stress.material.borrowed_suites.comparison import OTHERS, PACKAGES, QUICK, UNAVOIDABLE, Comparison, Suite

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("test") is None or importlib.util.find_spec("test.test_grammar") is None,
        reason="this Python was installed without its own tests",
    ),
    pytest.mark.timeout(7_200),
]


def _check(suite, folder):
    if not suite.is_there:
        pytest.skip(f"{suite} is not installed")
    comparison = Comparison(suite, folder)
    found = {granularity: comparison.differences(granularity) for granularity in map(str, REWRITTEN)}
    assert not any(found.values()), "\n".join(map(str, chain.from_iterable(found.values())))


@pytest.mark.one_in(12)
@pytest.mark.parametrize("suite", QUICK, ids=str)
def test_a_suite_gives_the_same(suite, tmp_path):
    _check(suite, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("suite", [*OTHERS, *PACKAGES], ids=str)
def test_every_suite_gives_the_same(suite, tmp_path):
    _check(suite, tmp_path)


def test_each_difference_has_a_reason():
    assert all(len(reason.split()) > 4 for reason in UNAVOIDABLE.values())
    told = (Path(__file__).parents[1] / "docs" / "limits.md").read_text(encoding="utf-8")
    assert all(f"| {reason} |" in told for reason in virtual.UNAVOIDABLE.values())


LOOKING = """
import sys, unittest
class Tests(unittest.TestCase):
    def test_what_is_the_same(self):
        self.assertIn("self", sys._getframe().f_code.co_names + sys._getframe().f_code.co_varnames)
    def test_what_is_not(self):
        self.assertNotIn("_kc_call", getattr(sys._getframe().f_code, "co_" + "names"))
"""


def test_a_difference_is_told(tmp_path, monkeypatch):
    (tmp_path / "looking_suite.py").write_text(LOOKING)
    monkeypatch.syspath_prepend(tmp_path)
    comparison = Comparison(Suite("looking_suite", ("looking_suite",)), tmp_path)
    (found,) = comparison.differences("free")
    assert (found.test, found.plain) == ("looking_suite.Tests.test_what_is_not", ("passed",))
    assert found.instrumented == ("failed: AssertionError",)
    assert comparison.differences("plain") == []


QUICK_VIRTUAL = (
    "LockTests.*",
    "PyRLockTests.*",
    "ConditionTests.*",
    "SemaphoreTests.*",
    "EventTests.*",
    "BarrierTests.*",
)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("pattern", QUICK_VIRTUAL)
def test_locks_pass_on_virtual_threads(pattern, tmp_path):
    given = virtual.run("test.test_threading", tmp_path, 1, pattern)
    assert given
    assert not virtual.wrong(given)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("suite", virtual.SUITES)
def test_suites_about_threads_pass_on_virtual_ones(suite, seed, tmp_path):
    given = virtual.run(suite, tmp_path, seed, "*")
    assert list(given.values()).count("passed") > len(given) // 2
    assert not virtual.wrong(given)


def test_what_fails_on_virtual_threads_is_told(tmp_path, monkeypatch):
    (tmp_path / "waiting_suite.py").write_text(WAITING)
    monkeypatch.syspath_prepend(tmp_path)
    given = virtual.run("waiting_suite", tmp_path, 1, "*")
    assert given["Tests.test_what_is_right"] == "passed"
    assert len(virtual.wrong(given)) == 2
    assert "wait_for_ever" in given["Tests.test_what_is_stuck"]


WAITING = """
import threading, unittest
class Tests(unittest.TestCase):
    def test_what_is_right(self):
        done = threading.Event()
        threading.Thread(target=done.set).start()
        self.assertTrue(done.wait(3_600))
    def test_what_is_wrong(self):
        self.assertTrue(threading.Event().wait(3_600))
    def test_what_is_stuck(self):
        self.wait_for_ever()
    def wait_for_ever(self):
        threading.Event().wait()
"""
