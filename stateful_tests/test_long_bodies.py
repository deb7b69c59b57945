"""Findings of long test bodies: the story is about the code under test, and each thing has one name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from kcache_conformance.interleaved import as_target_type
from kcache_conformance.phases.explorer_phase import Search
from kcache_conformance.phases.phase import PhaseContext, PhaseOutcome
from kcache_conformance.phases.suite_options import SuiteOptions, decode_options, encode_options
from kcache_conformance.report.capturing import captured
from kcache_conformance.report.finding_text import print_finding
from kcache_conformance.report.interleaving import interleaving_text
from kcache_conformance.report.story import story_sentences
from kcache_model.finding import Finding
from kcache_model.interleaved_program import InterleavedProgram
from kcache_model.interleaving import Interleaving, InterleavingEvent, Switch, decode_interleaving, encode_interleaving
from kcache_stress.engine.counterexample import Counterexample, counterexample, smallest
from kcache_stress.engine.search import SearchLimits, search
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.strategies.random_walk import RandomWalk
from kcache_stress.target.explore import ExploreOptions, explore

RETRYING = """
class Retrying:
    def __init__(self, attempts):
        self.attempts = attempts
        self.statistics = {}

    def __call__(self, work):
        self.statistics.clear()
        self.statistics["idle_for"] = 0
        for attempt in range(self.attempts):
            if work(attempt):
                return attempt
            self.statistics["idle_for"] += 12.3
        return None
"""

BODIES = """
import threading
import retrying


def retries_in_two_threads():
    settings, log, errors = {}, [], []
    for name in ("attempts", "wait", "stop"):
        settings[name] = 2
        log.append(name)
    retry = retrying.Retrying(settings["attempts"])
    retry.statistics["made"] = True

    def run(good):
        try:
            log.append("begins")
            retry(lambda attempt: attempt == good)
            log.append("ends")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(good,)) for good in (1, 0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.append("done")
    assert not errors, errors


class Account:
    def __init__(self):
        self.lock = threading.Lock()


def transfers_both_ways():
    one, other = Account(), Account()

    def move(source, target):
        with source.lock:
            with target.lock:
                pass

    threads = [
        threading.Thread(target=move, args=(one, other), name="payer"),
        threading.Thread(target=move, args=(other, one)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Ledger:
    def __init__(self):
        self.lock = threading.Lock()
        self.log = []
        self.total = 0

    def note(self, what):
        with self.lock:
            self.log.append(what)

    def pay(self, amount):
        for step in range(3):
            self.note(step)
        total = self.total
        for step in range(4):
            self.note(step)
        self.total = total + amount
        self.note("paid")


def pays_between_notes():
    ledger = Ledger()
    threads = [threading.Thread(target=ledger.pay, args=(amount,)) for amount in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.total == 3
"""


@pytest.fixture
def finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Finding]:
    (tmp_path / "retrying.py").write_text(RETRYING, encoding="utf-8")
    bodies = tmp_path / "long_bodies.py"
    bodies.write_text(BODIES, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def found(name: str) -> Finding:
        exploration_target = BodyExplorationTarget(f"{bodies.name}:{name}", instrument=("retrying",))
        explored = explore(exploration_target, InterleavedProgram(), ExploreOptions(seconds=60.0, executions=2_000))
        assert explored.finding is not None
        return explored.finding

    return found


def text_of(finding: Finding) -> str:
    return captured(lambda console: print_finding(console, finding, "long_bodies.py:name"))


def line_of(text: str) -> str:
    return f"retrying.py:{RETRYING[: RETRYING.index(text)].count(chr(10)) + 1}"


def test_the_story_is_about_the_code_under_test(finding: Callable[[str], Finding]) -> None:
    told = finding("retries_in_two_threads").interleaving
    assert told is not None
    first, then = story_sentences(told)
    read, cleared = line_of('self.statistics["idle_for"] +='), line_of("self.statistics.clear()")
    assert re.match(r"Thread [23] .*\bretrying\.py:\d+\.$", first)
    assert f"['idle_for'] (there was nothing) at {read}" in then
    assert then.endswith(f" at {cleared}.")
    assert story_sentences(decode_interleaving(encode_interleaving(told))) == (first, then)


def test_the_interleaving_begins_where_the_second_thread_begins(finding: Callable[[str], Finding]) -> None:
    told = finding("retries_in_two_threads").interleaving
    assert told is not None
    rows = interleaving_text(told).splitlines()
    first = next(row for row in rows if "long_bodies.py:" in row)
    assert "thread.start()" in first
    assert any("start thread 2" in row for row in rows)
    assert "settings" not in "".join(rows)
    assert "settings" in interleaving_text(told, is_whole=True)


def test_sums_of_fractions_are_shown_as_they_are_written(finding: Callable[[str], Finding]) -> None:
    told = finding("retries_in_two_threads").interleaving
    assert told is not None
    assert "000000" not in interleaving_text(told, is_whole=True)


def test_each_thing_has_one_name(finding: Callable[[str], Finding]) -> None:
    found = finding("transfers_both_ways")
    text = text_of(found)
    for unknown in ("_ThreadHandle", "Thread#", "module#", "lock A", "lock B"):
        assert unknown not in text
    locks = set(re.findall(r"Account#\d\.lock", text))
    assert locks == set(re.findall(r"Account#\d\.lock", found.summary))
    assert len(locks) == 2
    assert "thread 2 (payer)" in text


def test_the_summary_comes_first_and_the_token_last(finding: Callable[[str], Finding]) -> None:
    text = text_of(finding("retries_in_two_threads"))
    parts = ("FAILURE", "the test fails:", "In short:", "The interleaving:", "Smallest example:", "Details:")
    places = [text.index(part) for part in (*parts, "Run it again:")]
    assert places == sorted(places)
    assert text.rstrip().splitlines()[-1].lstrip().startswith("kcache replay ")


def test_what_the_failure_names_is_explained_and_not_the_log_beside_it(finding: Callable[[str], Finding]) -> None:
    found = finding("pays_between_notes")
    first, then = story_sentences(found.interleaving)
    assert re.search(r"read Ledger#1\.total \(it was 0\)", first)
    assert re.search(r"before it wrote Ledger#1\.total = \d .* wrote Ledger#1\.total = \d", then)
    assert found.detail.startswith("1 preemption (no schedule with fewer fails)")


def test_a_long_schedule_is_made_small_step_by_step(finding: Callable[[str], Finding]) -> None:
    del finding  # it has written the bodies
    exploration_target = BodyExplorationTarget("long_bodies.py:pays_between_notes")
    with exploration_target.open_runner(InterleavedProgram()) as (runner, judge):
        samples = (search(runner, RandomWalk(seed), judge, SearchLimits(1)) for seed in range(200))
        long = (counterexample(runner, judge, result) for result in samples if result.problem is not None)
        first = next(one for one in long if isinstance(one, Counterexample) and one.preemptions > 5)
        assert smallest(runner, judge, first).preemptions == 1


def test_shrinking_has_seconds_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    options = decode_options(encode_options(SuiteOptions(kind="test", shrink_seconds=10.0)))
    asked: list[Search] = []

    def phase(context: PhaseContext, searches: Callable[[str], Iterator[Search]], called: str) -> PhaseOutcome:
        asked.extend(searches(called))
        return PhaseOutcome({})

    monkeypatch.setattr(as_target_type, "explorer_phase", phase)
    monkeypatch.setattr(as_target_type, "BodyExplorationTarget", lambda *_: None)
    context = SimpleNamespace(seconds=2.0, seed=0, options=options)
    as_target_type._explorer(context)  # type: ignore[arg-type]
    assert [(one.options.seconds, one.options.whole_seconds) for one in asked] == [(2.0, 12.0)]


def event(thread: int, kind: str, subject: str, **more: object) -> InterleavingEvent:
    fields = {"step": 1, "slot": "", "value": "0", "after": "1", "where": "a.py:1", "code": "", "function": ""}
    touched = {"reads" if kind == "read" else "writes": (hash(subject),)}
    return InterleavingEvent(
        **{**fields, **touched, "held": (), "switch": None, "wakes": (), "shared": True, **more},  # type: ignore[arg-type]
        thread=thread,
        kind=kind,
        subject=subject,
    )


@pytest.mark.parametrize(("is_joined", "sentences"), [(True, 0), (False, 2)])
def test_starting_and_joining_a_thread_is_no_race(is_joined: bool, sentences: int) -> None:
    events = (
        event(0, "read", "a"),
        event(0, "spawn", "thread 2"),
        event(1, "write", "a", switch=Switch(0, True, False, (), "", None)),
        *([event(0, "join", "thread 2")] if is_joined else []),
        event(0, "write", "a"),
    )
    told = Interleaving(2, {}, events, (), (), (), (), (), True)
    assert len(story_sentences(told)) == sentences
