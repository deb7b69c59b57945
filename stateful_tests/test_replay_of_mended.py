"""Replay of a finding about a test that was mended since: what it does now is explored for as long as one asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcache_conformance.interleaved.as_target_type import TEST
from kcache_model.interleaved_program import InterleavedProgram
from kcache_model.progress import NoProgress
from kcache_stress.interleaved.body_exploration import TOKENS, BodyExplorationTarget
from kcache_stress.target.explore import ExploreOptions, explore
from kcache_stress.target.replay_answer import ReplayAnswer

QUICK = ExploreOptions(candidates=ExploreOptions(executions=20))  # whether a GIL allows the failure is not asked

RACY = """
import threading
from kcache import testing as kt


class Counter:
    def __init__(self):
        self.count = 0
        self.lock = threading.Lock()

    def add(self):
        self.count = self.count + 1


def adds():
    counter = Counter()

    def work():
        for _ in range(STEPS):
            counter.add()

    kt.run(work, work, work)
    assert counter.count == 3 * STEPS
"""
MENDED = RACY.replace("        self.count = self", "        with self.lock:\n            self.count = self")
ELSEWHERE = RACY.replace("self.count = self.count + 1", "found = self.count\n        self.count = found + 1")


BY_A_FILE = RACY.replace("def work():", "def work():\n        import pathlib").replace(
    "counter.add()", "counter.add() if pathlib.Path(__file__ + '.racy').exists() else counter.add_locked()"
)


def test_a_failure_that_the_same_sources_do_not_show_again_is_neither_fixed_nor_changed(tmp_path: Path) -> None:
    file = tmp_path / "adding.py"
    locked = "    def add_locked(self):\n        with self.lock:\n            self.count = self.count + 1\n"
    text = BY_A_FILE.replace("STEPS", "12").replace("\n\ndef adds", f"\n{locked}\n\ndef adds", 1)
    file.write_text(text, encoding="utf-8")
    switch = Path(f"{file}.racy")
    switch.touch()
    finding = explore(BodyExplorationTarget(f"{file}:adds"), InterleavedProgram(), QUICK).finding
    assert finding is not None
    switch.unlink()
    found = TEST.replay(TOKENS.decode(finding.schedule), NoProgress(), 0.5)
    assert (found.answer, found.finding) == (ReplayAnswer.UNKNOWN, None)
    assert "the sources have not changed" in found.note


@pytest.mark.parametrize(
    ("steps", "now", "answer", "says"),
    [
        (12, MENDED, ReplayAnswer.CHANGED, "; not all were tried: increase --budget to try more"),
        (1, MENDED, ReplayAnswer.FIXED, "it does not fail any more: no interleaving of its program fails"),
        (12, ELSEWHERE, ReplayAnswer.REPRODUCED, "fail"),
    ],
)
def test_what_a_mended_test_does_now_is_searched(
    steps: int, now: str, answer: ReplayAnswer, says: str, tmp_path: Path
) -> None:
    file = tmp_path / "adding.py"
    file.write_text(RACY.replace("STEPS", str(steps)), encoding="utf-8")
    finding = explore(BodyExplorationTarget(f"{file}:adds"), InterleavedProgram(), QUICK).finding
    assert finding is not None
    token = TOKENS.decode(finding.schedule)
    file.write_text(now.replace("STEPS", str(steps)), encoding="utf-8")
    found = TEST.replay(token, NoProgress(), 1.0)
    assert (found.answer, found.finding is None) == (answer, answer is not ReplayAnswer.REPRODUCED)
    assert says in found.note
