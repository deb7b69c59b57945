"""A lock that a call keeps for ever is told: who waits for it, where, and which call kept it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from kcache_conformance.report.interleaving import interleaving_text
from kcache_model.finding import Finding
from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item
from kcache_model.indexers.program import Program
from kcache_stress.indexers.exploration import explored_indexer
from kcache_stress.target.explore import ExploreOptions, explore

SOURCE = """
    import threading
    from kcache import new_indexer as new

    class Right:
        make = staticmethod(threading.RLock)

        def __init__(self, key_func, indexers):
            self._inner, self._lock = new(key_func, indexers), self.make()

        def __getattr__(self, name):
            call = getattr(self._inner, name)
            def locked(*arguments):
                with self._lock:
                    return call(*arguments)
            return locked

    class Kept(Right):
        def add(self, obj):
            self._lock.acquire()
            self._inner.add(obj)
            self._lock.release()

    class KeptPlain(Kept):
        make = staticmethod(threading.Lock)

    class Told(Right):
        def list(self):
            told = threading.Condition(self._lock)
            with told:
                told.wait()
    """
FAILS = op.add(Item("a", "v1", {"node": None}))
IN_A_THREAD = Program(("node",), (), ((FAILS,), (op.list_objects(),)))
BEFORE = Program(("node",), (FAILS,), ((op.list_objects(),), (op.list_keys(),)))


def found(folder: Path, kind: str, program: Program, **options: float) -> Finding | None:
    (folder / "keeper.py").write_text(textwrap.dedent(SOURCE), encoding="utf-8")
    subject = explored_indexer(f"{folder / 'keeper.py'}:{kind}")
    return explore(subject, program, ExploreOptions(executions=200, **options)).finding


@pytest.mark.parametrize("program", [IN_A_THREAD, BEFORE])
def test_one_that_is_given_back_is_no_fault(tmp_path: Path, program: Program) -> None:
    assert found(tmp_path, "Right", program) is None


def test_before_and_after_the_threads_the_lock_and_the_call_that_kept_it_are_told(tmp_path: Path) -> None:
    alone = Program(("node",), (FAILS, op.list_objects()), ((op.list_keys(),),))
    finding = found(tmp_path, "KeptPlain", alone, minimise_seconds=0.0)
    assert finding is not None
    assert "in locked, waits for indexer._lock, held by a call outside the threads" in finding.summary
    assert finding.summary.endswith("; add(a@v1) raised an error before, and seems to have kept the lock")
    finding = found(tmp_path, "Kept", Program(("node",), (), ((FAILS,),)), minimise_seconds=0.0)
    assert finding is not None
    assert "waits for indexer._lock, held by thread 1; add(a@v1) raised an error before" in finding.summary


def test_no_thread_has_the_number_nought(tmp_path: Path) -> None:
    finding = found(tmp_path, "Kept", BEFORE, minimise_seconds=0.0)
    assert finding is not None
    assert finding.interleaving is not None
    assert finding.summary.endswith("held by a call outside the threads")
    assert "waits for indexer._lock, held by a call outside the threads" in interleaving_text(finding.interleaving)


def test_who_waits_to_be_told_waits_for_no_lock(tmp_path: Path) -> None:
    alone = Program(("node",), (op.list_objects(),), ((op.list_keys(),),))
    finding = found(tmp_path, "Told", alone, minimise_seconds=0.0)
    assert finding is not None
    assert finding.summary.endswith("in list, waits for a notification that never comes")
