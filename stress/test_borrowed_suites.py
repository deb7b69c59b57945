"""Suites written by others give the same on instrumented modules: CPython's own, and those of some packages."""

import importlib.util
from itertools import chain

import pytest

from kcache_stress.explorer.granularity import REWRITTEN
from stress.borrowed_suites.comparison import OTHERS, PACKAGES, QUICK, UNAVOIDABLE, Comparison, Suite

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


LOOKING = """
import sys, unittest
class Tests(unittest.TestCase):
    def test_what_is_the_same(self):
        self.assertIn("self", sys._getframe().f_code.co_names + sys._getframe().f_code.co_varnames)
    def test_what_is_not(self):
        self.assertNotIn("_kc_call", sys._getframe().f_code.co_names)
"""


def test_a_difference_is_told(tmp_path, monkeypatch):
    (tmp_path / "looking_suite.py").write_text(LOOKING)
    monkeypatch.syspath_prepend(tmp_path)
    comparison = Comparison(Suite("looking_suite", ("looking_suite",)), tmp_path)
    (found,) = comparison.differences("free")
    assert (found.test, found.plain) == ("looking_suite.Tests.test_what_is_not", ("passed",))
    assert found.instrumented == ("failed: AssertionError",)
    assert comparison.differences("plain") == []
