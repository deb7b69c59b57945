"""What the explorer has not seen is ok only without it."""

from __future__ import annotations

from pathlib import Path

import pytest

import kcache
from kcache.testing import InconclusiveError, Status, run_conformance
from kcache_conformance.results.events import PhaseFinished, PhaseProgress, PhaseStarted, SuiteResult
from kcache_conformance.runs.suite import SuiteOptions, _Log, run_suite
from kcache_conformance.targets.target_types import target_type_named
from kcache_model.indexers.target import make_target

SEEN = """
import kcache
def new_indexer(key_func, indexers): return kcache.new_indexer(key_func, indexers)
"""
REFUSED = f"import greenlet\n{SEEN}"
ONCE = """
import sys
if hasattr(sys, "{mark}"):
    raise RuntimeError("a second time")
sys.{mark} = True
class Plain:
    def __init__(self, key_func, indexers): self._key_func, self._items = key_func, {{}}
    def add(self, obj): self._items[self._key_func(obj)] = obj
    update = add
    def delete(self, obj): self._items.pop(self._key_func(obj), None)
    def replace(self, objs, version=""): self._items = {{self._key_func(obj): obj for obj in objs}}
    def get(self, obj, default=None): return self._items.get(self._key_func(obj), default)
    def get_by_key(self, key, default=None): return self._items.get(key, default)
    def list(self): return [*self._items.values()]
    def list_keys(self): return [*self._items]
"""
UNSEEN = """
import sys
sys.path.append({folder!r})
from loaded_once import Plain
def new_indexer(key_func, indexers): return Plain(key_func, indexers)
new_indexer.kcache_unsupported = ["indexes"]
"""

PHASES = ("smoke", "explorer")


def checked(folder: Path, source: str, phases: tuple[str, ...] = PHASES) -> SuiteResult:
    (folder / "packages").mkdir()
    once = ONCE.format(mark=f"kcache_{folder.name}")
    (folder / "packages" / "loaded_once.py").write_text(once, encoding="utf-8")
    file = folder / "target.py"
    file.write_text(source.replace("{folder!r}", repr(str(folder / "packages"))), encoding="utf-8")
    return run_suite(f"{file}:new_indexer", SuiteOptions(phases=phases, budget_seconds=1.0))


@pytest.mark.parametrize(("source", "why"), [(REFUSED, "greenlet"), (UNSEEN, "loaded_once.Plain, is not instrumented")])
def test_what_the_explorer_has_not_seen_is_not_ok(source: str, why: str, tmp_path: Path) -> None:
    result = checked(tmp_path, source)
    assert result.findings == ()
    assert (result.status, result.verdict) == (Status.UNKNOWN, "ok, without the explorer")
    (reason,) = result.reasons
    assert why in reason
    assert "--without explorer" in reason


def test_what_it_has_seen_is_ok(tmp_path: Path) -> None:
    result = checked(tmp_path, SEEN)
    assert (result.status, result.verdict, result.reasons) == (Status.OK, "ok", ())


def test_what_nobody_wanted_to_be_explored_is_ok(tmp_path: Path) -> None:
    result = checked(tmp_path, REFUSED, ("smoke",))
    assert (result.status, result.verdict) == (Status.OK, "ok")


def test_a_factory_without_a_name_must_say_that_it_cannot_be_explored() -> None:
    with pytest.raises(InconclusiveError, match="cannot be imported by name"):
        run_conformance(lambda key_func, indexers: kcache.new_indexer(key_func, indexers), phases=PHASES, seconds=1)
    target = make_target(lambda key_func, indexers: kcache.new_indexer(key_func, indexers))
    assert run_suite(target, SuiteOptions(phases=("explorer",))).verdict == "unknown"


def test_more_than_the_explorer_is_missing() -> None:
    phases = (PhaseFinished("explorer", {}, refused="no"), PhaseFinished("stress", {}, inconclusive="no time"))
    result = SuiteResult(Status.UNKNOWN, (), phases, (), ("explorer: no", "stress: no time"), 0.0)
    assert result.verdict == "unknown"


@pytest.mark.parametrize(("refused", "verdict"), [("it saw nothing of it", "ok, without the explorer"), ("", "ok")])
def test_a_phase_that_is_ended_by_the_budget_keeps_what_it_was_refused(refused: str, verdict: str) -> None:
    """On a busy machine a phase may be ended before it has said so itself."""
    log = _Log(lambda _: None, target_type_named("indexer"), SuiteOptions(phases=("smoke", "explorer")))
    log(PhaseStarted("smoke", 1.0))
    log(PhaseFinished("smoke", {"programs": 1}))
    log(PhaseStarted("explorer", 1.0))
    log(PhaseProgress("explorer", 0.5, {"programs": 9, "executions": 90}, refused=refused))
    log.over()
    result = log.result(1.0, has_name=False)
    assert result.verdict == verdict
    assert any(refused in reason for reason in result.reasons) is bool(refused)
