"""Code that waits in C, for a file lock here, stands still under the explorer: real threads decide whether it hangs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from math import inf
from pathlib import Path

import pytest

from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.runs.suite import run_suite
from kcache_model.finding import FindingKind
from kcache_model.verdict import Status

pytest.importorskip("fcntl")

STORE = """
import contextlib
import fcntl
import os
import tempfile

import kcache


class Store:
    def __init__(self, inner):
        self._inner, (number, self._path) = inner, tempfile.mkstemp(dir=os.path.dirname(__file__))
        os.close(number)
        self._written = 0

    def __getattr__(self, name):
        return getattr(self._inner, name)

    @contextlib.contextmanager
    def _locked(self):
        with open(self._path) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def add(self, obj):
        with self._locked():
            self._written += 1
            self._inner.add(obj)
            if AGAIN:
                with self._locked():
                    pass

    update = add


def new_indexer(key_func, indexers):
    return Store(kcache.new_indexer(key_func, indexers))
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that is gone afterwards: there is a file for each object."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.mark.waits
@pytest.mark.parametrize("hangs", [False, True])
def test_a_wait_in_c_is_no_hang_unless_real_threads_hang(hangs: bool, folder: Path) -> None:
    target = folder / "locked_by_file.py"
    target.write_text(f"AGAIN = {hangs}\n{STORE}", encoding="utf-8")
    options = SuiteOptions(phases=("explorer",), budget_seconds=inf, programs=5, patience_seconds=1.0, most_findings=1)
    result = run_suite(f"{target}:new_indexer", options)
    assert result.status is (Status.VIOLATION if hangs else Status.UNKNOWN)
    assert [finding.kind for finding in result.findings] == ([FindingKind.HANG] if hangs else [])
    assert hangs or "returned when it was repeated alone" in result.reasons[0]
