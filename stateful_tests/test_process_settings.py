"""Settings of the process that tests change, and logs that `TestCase.assertLogs` waits for."""

from __future__ import annotations

import gc
import os
import sys
from math import inf
from pathlib import Path

import pytest

from kcache_model.finding import FindingKind
from kcache_model.interleaved_program import InterleavedProgram
from kcache_stress.engine.strategy import Coverage
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.runtime.stand_ins.process_settings import ProcessSettings
from kcache_stress.target.explore import ExploreOptions, explore

TESTS = """
import logging
import os
import sys
import threading
import unittest

log = logging.getLogger("thing")


class Counter:
    def __init__(self):
        self.n = 0
        self.lock = threading.Lock()

    def bad(self):
        log.error("adding")
        n = self.n
        self.n = n + 1

    def good(self):
        log.error("adding")
        with self.lock:
            self.n += 1


def two(f):
    threads = [threading.Thread(target=f) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class TestIt(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.before = sys.getswitchinterval()
        sys.setswitchinterval(sys.float_info.min)

    @classmethod
    def tearDownClass(cls):
        sys.setswitchinterval(cls.before)

    def test_good(self):
        c = Counter()
        with self.assertLogs("thing", "ERROR") as logs:
            two(c.good)
        self.assertEqual(len(logs.output), 2)
        self.assertEqual(c.n, 2)

    def test_good_root(self):
        c = Counter()
        with self.assertLogs() as logs:
            two(c.good)
        self.assertEqual(c.n, 2)

    def test_bad(self):
        c = Counter()
        with self.assertLogs("thing", "ERROR"):
            two(c.bad)
        self.assertEqual(c.n, 2)

    def test_none(self):
        c = Counter()
        with self.assertNoLogs("other", "ERROR"):
            two(c.good)

    def test_environ(self):
        self.assertNotIn("KCACHE_SEEN", os.environ)
        os.environ["KCACHE_SEEN"] = "1"
        c = Counter()
        two(c.good)
        del os.environ["KCACHE_SEEN"]
"""

QUICK = ExploreOptions(seconds=inf, executions=40, candidates=ExploreOptions(executions=20))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["test_good", "test_good_root", "test_none", "test_environ", "test_bad"])
def test_only_the_order_of_threads_makes_a_test_fail(tmp_path: Path, name: str) -> None:
    file = tmp_path / "test_settings.py"
    file.write_text(TESTS, encoding="utf-8")
    found = explore(BodyExplorationTarget(f"{file}:TestIt.{name}"), InterleavedProgram(), QUICK)
    assert not found.refused
    assert (found.finding is not None) == (name == "test_bad"), found.finding
    if found.finding is not None:
        assert found.finding.kind is FindingKind.FAILURE
        assert "1 != 2" in found.finding.summary


def test_what_an_execution_has_set_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCACHE_KEPT", "kept")
    settings = ProcessSettings()
    settings.restore()
    settings.keep()
    monkeypatch.setenv("KCACHE_KEPT", "changed")
    monkeypatch.setenv("KCACHE_SET", "set")
    settings.keep()
    settings.restore()
    assert (os.environ["KCACHE_KEPT"], "KCACHE_SET" in os.environ) == ("kept", False)


def test_the_switch_interval_of_virtual_threads_is_their_own() -> None:
    real = sys.getswitchinterval()
    settings = ProcessSettings()
    settings.setswitchinterval(sys.float_info.min)
    assert (settings.switch_interval, sys.getswitchinterval()) == (sys.float_info.min, real)
    with pytest.raises(ValueError, match="strictly positive"):
        settings.setswitchinterval(0)
    sys.setswitchinterval(real * 2)
    settings.restore()
    assert (settings.switch_interval, sys.getswitchinterval()) == (real, real)


PAUSED = """
import gc
import sys
import threading

LOCK = threading.Lock()


def pause():
    was = gc.isenabled()
    gc.disable()
    if was:
        gc.enable()


def pause_in_turn():
    with LOCK:
        pause()


def double():
    sys.setswitchinterval(sys.getswitchinterval() * 2)


def double_in_turn():
    with LOCK:
        double()


def twice(work):
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_collector():
    twice(pause)
    assert gc.isenabled()


def test_collector_in_turn():
    twice(pause_in_turn)
    assert gc.isenabled()


def test_interval():
    before = sys.getswitchinterval()
    twice(double)
    assert sys.getswitchinterval() > 3 * before


def test_interval_in_turn():
    before = sys.getswitchinterval()
    twice(double_in_turn)
    assert sys.getswitchinterval() > 3 * before
"""


@pytest.mark.parametrize("name", ["test_collector", "test_interval"])
def test_settings_that_all_threads_share_are_shared_state(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "paused.py").write_text(PAUSED, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    before = gc.isenabled(), sys.getswitchinterval()
    search, program = ExploreOptions(executions=300, seconds=inf), InterleavedProgram()
    racy = explore(BodyExplorationTarget(f"paused:{name}"), program, search)
    assert racy.finding is not None
    assert not racy.finding.unconfirmed
    in_turn = explore(BodyExplorationTarget(f"paused:{name}_in_turn"), program, search)
    assert (in_turn.finding, in_turn.coverage) == (None, Coverage.EXHAUSTED)
    assert (gc.isenabled(), sys.getswitchinterval()) == before
