"""Library modules that prevent a proof are instrumented, and the search is repeated. Its failures are not reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcache_model.interleaved_program import InterleavedProgram
from kcache_stress.engine.strategy import Coverage
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.modules.private_packages import can_be_instrumented
from kcache_stress.target.explore import Explored, ExploreOptions, explore

HEAD = """
import collections, difflib, secrets, statistics, string, threading, typing, uuid

def two(work):
    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()

def outcomes(work):
    found, lock = [], threading.Lock()
    def run(i):
        value = work(i)
        with lock:
            found.append(value)
    two(run)
    return found

Point = collections.namedtuple("Point", "x y")

@typing.runtime_checkable
class Closes(typing.Protocol):
    def close(self): ...

class File:
    def close(self): ...
"""
RIGHT = {
    "namedtuple": "assert sorted(outcomes(lambda i: Point(1, 2)._replace(x=i))) == [(0, 2), (1, 2)]",
    "protocol": "assert outcomes(lambda i: isinstance(File(), Closes)) == [True, True]",
    "two modules": "assert outcomes(lambda i: statistics.mean([1, 2, 3])) == [2, 2]",
    "random bytes": "assert len(set(outcomes(lambda i: secrets.token_hex(4)))) == 2",
    "random ids": "assert len(set(outcomes(lambda i: uuid.uuid4()))) == 2",
    "template": "assert sorted(outcomes(lambda i: string.Template('$a').substitute(a=i))) == ['0', '1']",
}
SHARED = """
    matcher = difflib.SequenceMatcher()
    def work(i):
        matcher.set_seqs("ab" * i, "ab" * i)
        return matcher.ratio()
    assert outcomes(work) == [1.0, 1.0]
"""
LOCKED = """
    matcher, held = difflib.SequenceMatcher(), threading.Lock()
    def work(i):
        with held:
            matcher.set_seqs("ab" * i, "ab" * i)
            return matcher.ratio()
    assert outcomes(work) == [1.0, 1.0]
"""
COPIED = """
    loader = type(uuid.__spec__.loader).__name__
    outcomes(lambda i: uuid.UUID(int=i).hex)
    assert loader == "SourceFileLoader"
"""


def explored(folder: Path, body: str, *, widens: bool = True) -> Explored:
    file = folder / "test_library.py"
    file.write_text(f"{HEAD}\ndef test_it():\n    {body.strip()}\n", encoding="utf-8")
    options = ExploreOptions("dpor", seconds=120.0, executions=3_000, widens=widens)
    return explore(BodyExplorationTarget(f"{file}:test_it"), InterleavedProgram(), options)


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_what_uses_the_library_is_proved(body: str, tmp_path: Path) -> None:
    found = explored(tmp_path, body)
    assert (found.finding, found.coverage, found.note) == (None, Coverage.EXHAUSTED, "")
    assert found.audited.executions >= 60


def test_it_was_no_proof_without(tmp_path: Path) -> None:
    found = explored(tmp_path, RIGHT["template"], widens=False)
    assert (found.finding, found.coverage) == (None, Coverage.NO_PROOF)
    assert "string.Template" in found.note


def test_an_object_of_the_library_that_is_shared(tmp_path: Path) -> None:
    found = explored(tmp_path, SHARED)
    assert found.finding is not None
    assert explored(tmp_path, LOCKED).finding is None


def test_what_fails_with_copies_alone_is_neither_accused_nor_proved(tmp_path: Path) -> None:
    found = explored(tmp_path, COPIED)
    assert (found.finding, found.coverage) == (None, Coverage.NO_PROOF)


@pytest.mark.parametrize(
    ("module", "can_be"),
    [
        ("uuid", True),
        ("collections", True),
        ("os", False),  # all code shares its environment
        ("threading", False),  # it is virtual
        ("math", False),  # it is in C
        ("pytest", False),
    ],
)
def test_modules_that_can_be_instrumented(module: str, can_be: bool) -> None:
    assert can_be_instrumented(module) is can_be
