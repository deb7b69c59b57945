"""Verification of whole classes: what only some of many programs come to counts, and what others left does not."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kcache_conformance.objects.patient_caller import PatientCaller
from kcache_conformance.report.certificate import encode_certificate
from kcache_conformance.results.exploration_outcomes import Certificate
from kcache_conformance.targets.class_names import class_type_name
from kcache_conformance.verification.verify import WITHOUT_LIMIT, verify
from kcache_model.bound import parse_bound
from kcache_model.finding import FindingKind
from kcache_model.outcomes import Outcome
from kcache_model.verdict import Status

OTHERS = """
    def alpha(self):
        return self._n

    def beta(self):
        self._n = 4
"""
"""Methods that have nothing to do with the rest: the first programs are theirs alone."""

TAGGED = """
from typing import Protocol, runtime_checkable


@runtime_checkable
class HasTag(Protocol):
    tag: int


class Thing:
    pass


class Tagged:
    def __init__(self):
        self._thing = Thing()
        self._thing.tag = 1
        self._n = 0
{others}
    def blink(self):
        try:
            del self._thing.tag
        except AttributeError:
            return
        self._thing.tag = 1

    def is_tagged(self):
        return isinstance(self._thing, {kind})
"""
RULED = """
def one():
    return 1


def two():
    return 2


rule = one


class Ruled:
    def __init__(self):
        self._n = 0
{others}
    def swap(self):
        global rule
        {old} = rule
        rule = two
        rule = {restored}

    def use(self):
        return {used}
"""


def verified(text: str, name: str, folder: Path, bound: str = "2x1") -> Certificate:
    file = folder / f"{name.lower()}.py"
    file.write_text(text, encoding="utf-8")
    target = f"{file}:{name}"
    return verify(target, parse_bound(bound), replace(WITHOUT_LIMIT, kind=class_type_name(target)))


@pytest.mark.parametrize(("kind", "status"), [("HasTag", Status.VIOLATION), ("Thing", Status.OK)])
def test_code_that_cannot_be_seen_is_met_although_earlier_programs_had_none(
    kind: str, status: Status, tmp_path: Path
) -> None:
    assert verified(TAGGED.format(others=OTHERS, kind=kind), "Tagged", tmp_path).status is status


def test_what_other_programs_left_is_no_wrong_result_of_one_thread(tmp_path: Path) -> None:
    racy = verified(RULED.format(others=OTHERS, old="old", restored="old", used="rule()"), "Ruled", tmp_path)
    assert racy.tally.finding is not None
    assert racy.tally.finding.kind is FindingKind.NONLINEARIZABLE
    (tmp_path / "blind").mkdir()
    blind = RULED.format(others=OTHERS, old="old", restored="old", used="1 if rule() else 2")
    assert verified(blind, "Ruled", tmp_path / "blind").tally.finding is None


BOUNDED = """
import threading


class Bounded:
    def __init__(self):
        self._items = []
        self._changed = threading.Condition()

    def put(self, item: int):
        with self._changed:
            while self._items:
                self._changed.wait()
            {inside}
        {outside}
        with self._changed:
            self._changed.notify_all()

    def get(self):
        with self._changed:
            while not self._items:
                self._changed.wait()
            self._changed.notify_all()
            return self._items.pop()
"""


@pytest.mark.parametrize(
    ("inside", "outside", "status"),
    [("pass", "self._items.append(item)", Status.VIOLATION), ("self._items.append(item)", "pass", Status.OK)],
)
def test_calls_that_wait_are_verified_without_a_real_wait(
    inside: str, outside: str, status: Status, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[bool] = []
    call = PatientCaller.call

    def counted(*given: Any) -> tuple[Outcome, str]:
        outcome = call(*given)
        waits.append(outcome[0].waits)
        return outcome

    monkeypatch.setattr(PatientCaller, "call", counted)
    text = BOUNDED.format(inside=inside, outside=outside)
    assert verified(text, "Bounded", tmp_path, "2x2").status is status
    assert not any(waits)


GROUPS = """
import threading


class Groups:
    def __init__(self):
        self._lock, self._items = threading.Lock(), []

    def put(self, item: int):
        with self._lock:
            self._items.append(item)

    def take(self):
        with self._lock:
            if len(self._items) < SIZE:
                raise LookupError("too few")
            taken, self._items = self._items[:SIZE], self._items[SIZE:]
            return taken
"""


@pytest.mark.parametrize(("size", "called"), [(2, ("put", "take")), (4, ("put",))])
def test_a_method_that_never_returned_is_not_verified(size: int, called: tuple[str, ...], tmp_path: Path) -> None:
    certificate = verified(GROUPS.replace("SIZE", str(size)), "Groups", tmp_path)
    assert certificate.methods.called == called
    assert certificate.status is (Status.OK if "take" in called else Status.UNKNOWN)
    assert ("--leave-out take" in certificate.missing) == ("take" not in called)
    data = encode_certificate(certificate)
    assert data["methods"]["called"] == list(called)
    schema = resources.files("kcache_model").joinpath("schemas", "certificate.schema.json").read_text(encoding="utf-8")
    Draft202012Validator(json.loads(schema)).validate(data)
