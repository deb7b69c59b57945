"""Methods that need the lock of their class: what goes wrong where threads call them directly is advice."""

from __future__ import annotations

import sys
import textwrap
import threading
from math import inf
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest

from kcache_conformance.classes.called_under_lock import methods_called_under_lock
from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.phases.symptoms import with_severity
from kcache_conformance.runs.suite import run_suite
from kcache_conformance.targets.class_names import class_type_name
from kcache_model.finding import Finding, FindingKind
from kcache_model.object_types.plain import MethodCall, ObjectProgram
from kcache_model.verdict import Status


class Base:
    def __init__(self) -> None:
        self.guard = threading.RLock()
        self.state_lock = threading.Lock()
        self.items: list[int] = []

    def add(self, item: int) -> None:
        with self.guard:
            self.put(item)
            self.safely(item)
            self._private(item)

    def put(self, item: int) -> None:
        self.items.append(item)

    def safely(self, item: int) -> None:
        with self.guard:
            self.items.append(item)

    def _private(self, item: int) -> None:
        self.items.append(item)

    def outside(self) -> int:
        with open("x"):
            return self.size()

    def size(self) -> int:
        return len(self.items)


class Derived(Base):
    def refresh(self) -> None:
        """Read everything again. The lock must be held."""

    def clear(self) -> None:
        """Remove everything; callers must hold the lock of the store."""

    def locked(self) -> bool:
        """Whether the lock is taken; nobody needs it for this."""
        return True

    def trim(self) -> None:
        with self.state_lock:
            self.drop()

    def drop(self) -> None:
        self.items.pop()


def test_methods_are_found_by_what_the_class_does_and_says() -> None:
    assert methods_called_under_lock(Base) == {"put"}
    assert methods_called_under_lock(Derived) == {"put", "refresh", "clear", "drop"}
    assert methods_called_under_lock(dict) == frozenset()


REQUIRED = [
    "The lock must be held.",
    "Callers must hold the lock of the store.",
    "Called with self._lock held.",
    "Only while the lock is held.",
    "Assumes that the store's lock is held.",
    "To be called holding the lock.",
    "With the store lock held, remove everything.",
]
NOT_REQUIRED = [
    "The caller must not hold the lock: it is taken here.",
    "The lock must never be held here.",
    "Book the seat with the first held back for a guest.",
    "Return whether the lock is held by the caller now.",
    "May be called without holding the lock.",
]


@pytest.mark.parametrize(("sentence", "is_required"), [(one, one in REQUIRED) for one in (*REQUIRED, *NOT_REQUIRED)])
def test_what_a_sentence_says_of_the_lock(sentence: str, is_required: bool, tmp_path: Path) -> None:
    file = tmp_path / "documented.py"
    file.write_text(f'class Documented:\n    def work(self):\n        """{sentence}"""\n')
    names: dict[str, Any] = {"__name__": "documented"}
    exec(compile(file.read_text(), str(file), "exec"), names)
    kind = names["Documented"]
    kind.__module__ = "documented"
    module = ModuleType("documented")
    module.__file__ = str(file)
    with mock.patch.dict(sys.modules, documented=module):
        assert methods_called_under_lock(kind) == ({"work"} if is_required else set())


STORE = """
    import threading

    class Buffer:
        def __init__(self):
            self.lock, self.count = threading.Lock(), 0

        def add(self) -> int:
            with self.lock:
                return self.advance()

        def advance(self) -> int:
            count = self.count
            self.count = count + 1
            return self.count

    class Unlocked(Buffer):
        def take(self) -> int:
            count = self.count
            self.count = count - 1
            return self.count
    """


def found_in(tmp_path: Path, name: str) -> list[Finding]:
    file = tmp_path / "buffers.py"
    file.write_text(textwrap.dedent(STORE))
    kind = class_type_name(f"{file}:{name}")
    options = SuiteOptions(kind=kind, phases=("explorer",), budget_seconds=inf, programs=12, most_findings=1)
    return list(run_suite(f"{file}:{name}", options).findings)


def test_misuse_of_such_a_method_is_advice_with_the_reason(tmp_path: Path) -> None:
    findings = found_in(tmp_path, "Buffer")
    assert findings
    assert {finding.status for finding in findings} == {Status.OK}
    assert all(finding.advice.startswith("advance() needs a lock") for finding in findings)


def test_a_method_that_forgets_the_lock_is_wrong(tmp_path: Path) -> None:
    wrong = [finding for finding in found_in(tmp_path, "Unlocked") if finding.status is Status.VIOLATION]
    assert wrong
    assert all("take" in finding.program.names()[0] + finding.program.names()[-1] for finding in wrong)


def test_nothing_is_made_of_calls_that_are_left_out_but_that_one_alone_stands_still() -> None:
    against = {"ask": "is left out: it never returned in one thread"}
    alone, two = ((MethodCall("ask"),),), ((MethodCall("ask"),), (MethodCall("size"),))

    def status(kind: FindingKind, threads: tuple[tuple[MethodCall, ...], ...]) -> Status:
        finding = Finding(kind, "explorer", "it goes wrong", ObjectProgram(threads=threads))
        return with_severity(finding, {}, SuiteOptions(), against).status

    assert status(FindingKind.NONLINEARIZABLE, alone) is Status.OK
    assert status(FindingKind.NONLINEARIZABLE, two) is Status.OK
    assert status(FindingKind.DEADLOCK, two) is Status.OK
    assert status(FindingKind.DEADLOCK, alone) is Status.VIOLATION


METER = """
import threading


class Meter:
    def __init__(self):
        self._lock = threading.Lock()
        self._count = 0

    def add(self):
        with self._lock:
            self._count += 1
            self._count += 1

    @property
    def {name}(self):
        return self._count
"""


@pytest.mark.parametrize(
    ("name", "status"), [("n_waiting", Status.OK), ("has_pending_writers", Status.OK), ("amount", Status.VIOLATION)]
)
def test_what_only_describes_an_object_may_be_out_of_date(name: str, status: Status, tmp_path: Path) -> None:
    (tmp_path / "meter.py").write_text(METER.format(name=name), encoding="utf-8")
    spec = f"{tmp_path / 'meter.py'}:Meter"
    options = SuiteOptions(kind=class_type_name(spec), phases=("explorer",), programs=10, budget_seconds=600.0)
    result = run_suite(spec, options)
    assert result.status is status
    assert {finding.is_advice for finding in result.findings} == {status is Status.OK}
