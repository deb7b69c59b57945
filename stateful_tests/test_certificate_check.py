"""Certificates with choice trees: a true one holds; one with a branch, a program or a dependence less is refused."""

import copy
import json
from math import inf
from pathlib import Path

import pytest

from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.verification.certificate_check import check_certificate
from kcache_conformance.verification.choice_tree_files import read_programs
from kcache_conformance.verification.choice_tree_rules import ForgedTreeError, check_tree
from kcache_conformance.verification.verify import verify
from kcache_model.bound import Bound
from kcache_model.errors import FormatError
from kcache_model.verdict import Status

STOCK = """
import threading

class Stock:
    def __init__(self):
        self._lock = threading.Lock()
        self._count = 2

    def put(self) -> int:
        with self._lock:
            self._count += 1
            return self._count

    def take(self) -> bool:
        with self._lock:
            if self._count == 0:
                return False
            self._count -= 1
            return True

    def try_take(self) -> bool:
        if not self._lock.acquire(blocking=False):
            return False
        try:
            return self._count > 0
        finally:
            self._lock.release()

    def peek(self) -> int:
        return self._count
"""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """The choice trees of all programs of two threads with one call."""
    folder = tmp_path_factory.mktemp("stock")
    (folder / "stock.py").write_text(STOCK)
    file = folder / "stock.trees"
    target = f"{folder / 'stock.py'}:Stock"
    options = SuiteOptions(kind=f"class={target}", phases=("explorer",), budget_seconds=inf)
    result = verify(target, Bound(2, 1), options, certificate=file)
    assert result.tally.finding is None
    assert result.status is Status.OK, result.missing
    return file


@pytest.fixture(scope="module")
def programs(certificate):
    return list(read_programs(certificate))


def test_a_true_certificate_holds(certificate):
    checked = check_certificate(certificate)
    assert (checked.refused, checked.unchecked) == ("", {})
    assert checked.programs > 20
    assert checked.executions == checked.replayed > checked.programs


def full_runs(tree):
    runs = []
    for execution in tree["executions"]:
        runs.append([*(runs[-1][: execution["from"]] if runs else []), *execution["events"]])
    return runs


def without(tree, number):
    """The tree as a careful forger would write it: one execution less, and no later one mentions its branch."""
    forged, runs = copy.deepcopy(tree), full_runs(tree)
    gone, branch = runs.pop(number), tree["executions"][number]["from"]
    del forged["executions"][number]
    for index, (execution, run) in enumerate(zip(forged["executions"], runs, strict=True)):
        before = runs[index - 1] if index else []
        common = 0
        while common < min(len(run), len(before)) and run[common] == before[common]:
            common += 1
        execution["from"], execution["events"] = common, run[common:]
        if index >= number and run[:branch] == gone[:branch] and common >= branch:
            execution["asleep"].pop(str(gone[branch][0]), None)
    return forged


def test_a_tree_without_one_of_its_branches_is_refused(programs):
    refused = 0
    for _, tree in programs:
        check_tree(tree, 2)
        for number in range(1, len(tree["executions"])):
            with pytest.raises(ForgedTreeError):
                check_tree(without(tree, number), 2)
            refused += 1
    assert refused > 30


def test_a_tree_that_ends_too_early_is_refused(programs):
    tree = copy.deepcopy(max((tree for _, tree in programs), key=lambda tree: len(tree["executions"])))
    cut = tree["executions"][-1]
    cut["end"], cut["enabled"] = "redundant", [0, 1]
    with pytest.raises(ForgedTreeError, match=r"can go on|tried already"):
        check_tree(tree, 2)


def forged(certificate, change):
    lines = certificate.read_text().splitlines()
    head, entries = lines[0], [json.loads(line) for line in lines[1:]]
    entries = change(entries)
    file = certificate.with_name(f"{change.__name__}.trees")
    file.write_text("\n".join([head, *map(json.dumps, entries)]) + "\n")
    return file


def longest(entries):
    return max(entries, key=lambda entry: len(entry["tree"]["executions"]))


def a_program_less(entries):
    return entries[:-1]


def another_program(entries):
    return [*entries[:3], entries[4], entries[3], *entries[5:]]


def a_dependence_less(entries):
    """The last event with a place that is written touches nothing, and the executions that show the other order go."""
    tree = longest(entries)["tree"]
    execution = tree["executions"][0]
    event = next(event for event in reversed(execution["events"]) if len(event) == 2 and event[1] and event[1][0] < 0)
    event[1] = []
    del tree["executions"][1:]
    return entries


def threads_that_are_not_equal(entries):
    entry = next(entry for entry in entries if len({json.dumps(one) for one in entry["program"]["threads"]}) > 1)
    entry["tree"]["equal"] = [[0, 1]]
    return entries


def another_value(entries):
    longest(entries)["tree"]["executions"][0]["end"] = "deadlock"
    return entries


@pytest.mark.parametrize(
    "change", [a_program_less, another_program, a_dependence_less, threads_that_are_not_equal, another_value]
)
def test_a_forged_certificate_is_refused(certificate, change):
    assert check_certificate(forged(certificate, change)).refused


def test_a_header_that_promises_more_executions_is_refused(certificate):
    """Otherwise a forger could decide that hardly any execution runs again."""
    head, *lines = certificate.read_text().splitlines()
    file = certificate.with_name("header.trees")
    file.write_text("\n".join([json.dumps({**json.loads(head), "executions": 10**12}), *lines]) + "\n")
    assert "its first line says 1000000000000" in check_certificate(file).refused


def test_a_certificate_of_code_that_has_changed_is_refused(certificate, tmp_path):
    code = Path(certificate.parent / "stock.py")
    try:
        code.write_text(
            STOCK.replace(
                "            self._count += 1\n",
                "            count = self._count\n            self._count = count + 1\n",
            )
        )
        assert check_certificate(certificate).refused == ""  # the same accesses
        code.write_text(
            STOCK.replace(
                "        with self._lock:\n            self._count += 1",
                "        if True:\n            self._count += 1",
            )
        )
        assert "does something else" in check_certificate(certificate).refused
    finally:
        code.write_text(STOCK)


@pytest.mark.parametrize("text", ["", "{}", '{"schema": "kcache/choice-trees/1"}', "[1]"])
def test_a_file_that_is_no_certificate(tmp_path, text):
    file = tmp_path / "some.trees"
    file.write_text(text)
    with pytest.raises(FormatError, match="is no file of kcache verify --certificate"):
        check_certificate(file)
