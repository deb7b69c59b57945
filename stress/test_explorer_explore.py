"""From a program to a finding and back: exploring, minimising, words, replays, batches, certificates."""

from __future__ import annotations

import itertools
import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import kcache
from kcache_conformance.indexers.token_replay import replay_token
from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.report.interleaving import interleaving_text
from kcache_conformance.targets.gallery import gallery
from kcache_conformance.verification.batch import Batch, Tally, decode_batch, decode_tally, encode_batch, run_batch
from kcache_conformance.verification.spread import spread
from kcache_conformance.verification.verify import verify
from kcache_model.anomaly import Anomaly
from kcache_model.bound import parse_bound
from kcache_model.errors import FormatError, TargetError
from kcache_model.finding import Finding, FindingKind
from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item, Semantics
from kcache_model.indexers.operations import OperationName, WriteKind
from kcache_model.indexers.program import Program
from kcache_model.progress import NoProgress
from kcache_model.verdict import Status
from kcache_stress.engine.counterexample import replayed
from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.granularity import REWRITTEN, Granularity
from kcache_stress.engine.search import search
from kcache_stress.engine.strategy import Coverage
from kcache_stress.indexers.exploration import explored_indexer
from kcache_stress.indexers.program_tokens import PROGRAM_TOKENS
from kcache_stress.indexers.programs.random_programs import explorer_program
from kcache_stress.strategies import registry
from kcache_stress.strategies.partial_order_sampling import PartialOrderSampling
from kcache_stress.strategies.registry import AUTO, NAMES, OPCODES
from kcache_stress.target.explore import ExploreOptions, explore
from kcache_stress.target.replay_answer import ReplayAnswer
from kcache_stress.target.replay_token import ReplayToken

FOLDER = gallery()[0].path.parent
QUICK = ExploreOptions(executions=300, minimise_seconds=0.5)


def spec(name: str) -> str:
    return f"{FOLDER / name}.py:new_indexer"


def item(key: str, stamp: str, value: str) -> Item:
    return Item(key, stamp, {"node": (value,)})


MOVE = Program(
    ("node",),
    (op.add(item("a", "v1", "n1")),),
    ((op.update(item("a", "v2", "n2")),), (op.by_index("node", "n1"),)),
)
"""One thread moves an object while the other looks where it was."""


def first_finding(name: str, options: ExploreOptions = QUICK, programs: int = 300) -> tuple[Finding, Program]:
    subject = explored_indexer(spec(name), granularity=options.granularity)
    for seed in range(programs):
        program = explorer_program(seed, subject.target, Semantics.CLASSIC)
        finding = explore(subject, program, options).finding
        if finding is not None:
            return finding, program
    raise AssertionError(f"nothing was found in {name}")


def test_a_finding_is_small_explained_and_repeatable() -> None:
    finding, _ = first_finding("lookup_in_two_steps", replace(QUICK, minimise_seconds=60.0))
    assert finding.kind is FindingKind.NONLINEARIZABLE
    assert finding.program is not None
    assert len(finding.program) <= 3
    assert finding.anomaly is Anomaly.GHOST_INDEX_VALUE
    assert finding.summary.startswith("ghost index value: by_index(node, n1) returned [v2], but v2 is under")
    assert finding.core
    assert "1 preemption (no schedule with fewer fails); possible under the GIL." in finding.detail
    assert finding.interleaving is not None
    assert "lookup_in_two_steps.py" in interleaving_text(finding.interleaving)
    found = replay_token(PROGRAM_TOKENS.decode(finding.schedule), NoProgress())
    assert found.answer is ReplayAnswer.REPRODUCED
    assert found.note == "the same schedule still fails"


COUNTING = """
from textbook import TextbookIndexer


class Counting(TextbookIndexer):
    def __init__(self, key_func, indexers, semantics="classic"):
        super().__init__(key_func, indexers, semantics)
        self._adds = 0

    def add(self, obj):
        super().add(obj)
        {count}

    def list_keys(self):
        keys = super().list_keys()
        return keys if self._adds >= len(keys) else []


def new_indexer(key_func, indexers, semantics="classic"):
    return Counting(key_func, indexers, semantics)
"""


@pytest.mark.parametrize(
    ("count", "label"),
    [
        ("self._adds += 1", "possible only in free-threaded Python"),
        ("self._adds = sum([self._adds, 1])", "possible under the GIL"),
    ],
)
def test_a_failure_says_which_interpreters_can_run_into_it(tmp_path: Path, count: str, label: str) -> None:
    (tmp_path / "textbook.py").write_text((FOLDER / "textbook.py").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "counting.py").write_text(COUNTING.format(count=count), encoding="utf-8")
    program = Program((), (), ((op.add(Item("a", "v1")),), (op.add(Item("b", "v2")),)))
    finding = explore(explored_indexer(f"{tmp_path / 'counting.py'}:new_indexer"), program, QUICK).finding
    assert finding is not None
    assert label in finding.detail


def granularity_of(strategy: str) -> Granularity:
    return Granularity.OPCODES if strategy is OPCODES else Granularity.FREE


@pytest.mark.one_in(2)
@pytest.mark.parametrize("strategy", [name for name in NAMES if name != "naive"])
def test_every_strategy_finds_a_plain_fault(strategy: str) -> None:
    options = ExploreOptions(strategy, granularity_of(strategy), executions=3000, minimise_seconds=0.2)
    subject = explored_indexer(spec("lookup_in_two_steps"), granularity=options.granularity)
    assert explore(subject, MOVE, options).finding is not None


@pytest.mark.parametrize("strategy", NAMES)
def test_no_strategy_accuses_a_correct_design(strategy: str) -> None:
    options = ExploreOptions(strategy, granularity_of(strategy), executions=500)
    explored = explore(explored_indexer(spec("textbook"), granularity=options.granularity), MOVE, options)
    assert explored.finding is None
    complete = {AUTO, "dpor", "naive", "bounded"}
    assert (explored.coverage is Coverage.EXHAUSTED) == (strategy in complete)


def test_what_was_cut_short_is_never_called_exhausted() -> None:
    subject = explored_indexer(spec("read_write_lock"))
    assert explore(subject, MOVE, ExploreOptions("dpor", executions=3)).coverage is Coverage.BUDGET_SPENT
    bounded = ExploreOptions("bounded", preemptions=1)
    assert explore(subject, MOVE, bounded).coverage is Coverage.BOUND_REACHED


@pytest.mark.parametrize("granularity", REWRITTEN)
def test_granularities(granularity: Granularity) -> None:
    options = ExploreOptions(granularity=granularity, minimise_seconds=0.2)
    assert (
        explore(explored_indexer(spec("lookup_in_two_steps"), granularity=granularity), MOVE, options).finding
        is not None
    )
    correct = explore(explored_indexer(spec("sequence_lock"), granularity=granularity), MOVE, options)
    assert correct.is_exhausted


@pytest.mark.nightly
def test_many_failing_schedules_replay(effort: Callable[[int, int], int]) -> None:
    """Many different schedules of each target, each run again in a sandbox of its own kind."""
    schedules, reproduced = effort(2, 20), 0
    for name in ("lookup_in_two_steps", "unlocked_list", "torn_sequence_lock", "snapshot_without_lock", "lost_wakeup"):
        for schedule, subject, program, kind in failing_schedules(name, schedules):
            runner = subject.runner(program)
            _, problem, followed = replayed(runner, subject.judge(program, runner), schedule)
            runner.clean_up()
            assert problem is not None
            assert (problem.kind, followed) == (kind, True)
            reproduced += 1
    assert reproduced == 5 * schedules


def failing_schedules(name: str, count: int) -> Iterator[tuple]:
    from kcache_stress.engine.schedule import schedule_of
    from kcache_stress.engine.search import SearchLimits

    subject = explored_indexer(spec(name))
    fresh = explored_indexer(spec(name))
    found = 0
    for seed in itertools.count():
        program = explorer_program(seed, subject.target, Semantics.CLASSIC)
        runner = subject.runner(program)
        judge = subject.judge(program, runner)
        result = search(runner, PartialOrderSampling(seed), judge, SearchLimits(executions=30))
        if result.problem is None or result.execution is None:
            continue
        yield schedule_of(result.execution.trace, Granularity.FREE), fresh, program, result.problem.kind
        found += 1
        if found == count:
            return


def test_a_token_survives_the_round_trip() -> None:
    token = ReplayToken(
        "a.b:c", MOVE, FindingKind.DEADLOCK, ((0, 3), (1, 7)), Granularity.GIL, "12345678", ("x",), True
    )
    assert PROGRAM_TOKENS.decode(PROGRAM_TOKENS.encode(token)) == token


def test_damaged_tokens_are_refused() -> None:
    token = ReplayToken("a.b:c", MOVE, FindingKind.DEADLOCK, ((0, 3), (1, 7)), Granularity.FREE, "12345678")
    word = PROGRAM_TOKENS.encode(token)
    rng = random.Random(1)
    refused = 0
    for _ in range(300):
        position = rng.randrange(4, len(word))
        damaged = word[:position] + rng.choice("abcXYZ019-_!") + word[position + 1 :]
        try:
            same = PROGRAM_TOKENS.decode(damaged) == token
        except FormatError:
            refused += 1
        else:
            assert same
    assert refused > 250
    for cut in (word[:4], word[:20], word[:-3], "kx1.", "kx2." + word[4:], word.replace("kx1", "kc1")):
        with pytest.raises(FormatError):
            PROGRAM_TOKENS.decode(cut)


def test_a_fixed_target_is_told_from_a_changed_one(tmp_path: Path) -> None:
    target = tmp_path / "target.py"
    source = (FOLDER / "lookup_in_two_steps.py").read_text(encoding="utf-8")
    (tmp_path / "textbook.py").write_text((FOLDER / "textbook.py").read_text(encoding="utf-8"), encoding="utf-8")
    target.write_text(source, encoding="utf-8")
    subject = explored_indexer(f"{target}:new_indexer")
    finding = explore(subject, MOVE, QUICK).finding
    assert finding is not None
    token = PROGRAM_TOKENS.decode(finding.schedule)
    target.write_text("# a comment on top\n" + source, encoding="utf-8")
    moved = replay_token(token, NoProgress())
    assert moved.answer is ReplayAnswer.REPRODUCED
    assert "the sources have changed since" in moved.note
    target.write_text("from textbook import new_indexer\n", encoding="utf-8")
    fixed = replay_token(token, NoProgress())
    assert fixed.answer is ReplayAnswer.FIXED
    assert fixed.note.startswith("it does not fail any more: no interleaving of its program fails")
    assert fixed.note.endswith("; its schedule no longer applies")


def test_a_batch_is_plain_data() -> None:
    batch = Batch(spec("textbook"), QUICK, SuiteOptions(semantics=Semantics.CURRENT, instrument=("x",)), (MOVE,))
    assert decode_batch(encode_batch(batch)) == batch


@pytest.mark.nightly
def test_batches_run_in_any_executor() -> None:
    batches = [Batch(spec("textbook"), QUICK, programs=(MOVE,) * 3), Batch(spec("textbook"), QUICK, seeds=(0, 5))]
    here, complete = spread(iter(batches), jobs=2)
    assert complete
    assert (here.programs, here.exhausted, here.finding) == (8, 8, None)
    with ProcessPoolExecutor(1) as processes:
        there, complete = spread(iter(batches), executor=processes)
    assert complete
    assert (there.programs, there.executions) == (here.programs, here.executions)


@pytest.mark.nightly
def test_the_first_finding_ends_the_work() -> None:
    endless = (Batch(spec("lookup_in_two_steps"), QUICK, seeds=(seed, 20)) for seed in itertools.count(0, 20))
    tally, complete = spread(endless, jobs=1)
    assert not complete
    assert tally.finding is not None


@pytest.mark.waits
@pytest.mark.parametrize(
    ("name", "kind"), [("import os\nos._exit(3)", FindingKind.CRASH), ("while True: pass", FindingKind.HANG)]
)
def test_a_target_that_ends_or_freezes_its_process(tmp_path: Path, name: str, kind: FindingKind) -> None:
    body = name.replace("\n", "\n        ")
    (tmp_path / "bad.py").write_text(
        "import kcache\n\n\nclass Bad(kcache.Cache):\n    def list(self):\n"
        f"        {body}\n\n\ndef new_indexer(key_func, indexers):\n    return Bad(key_func, indexers)\n",
        encoding="utf-8",
    )
    program = Program((), (), ((op.add(Item("a", "v1")),), (op.list_objects(),)))
    batch = Batch(
        f"{tmp_path / 'bad.py'}:new_indexer", QUICK, SuiteOptions(patience_seconds=1.0), (program,), seconds=5.0
    )
    data = run_batch(encode_batch(batch))
    assert decode_tally(data).programs == 0
    assert data["findings"][0]["kind"] == kind.value
    assert data["findings"][0]["program"]


@pytest.mark.nightly
def test_a_certificate() -> None:
    """By default that of the command must do."""
    certificate = verify(spec("textbook"), parse_bound("2x1"), jobs=2)
    assert certificate.status is Status.OK
    assert certificate.tally.programs == certificate.programs > 800


@pytest.mark.nightly
def test_verification_prints_only_what_it_has_done() -> None:
    cut = verify(spec("textbook"), parse_bound("2x1"), SuiteOptions(budget_seconds=0.0))
    assert cut.status is Status.UNKNOWN
    faulty = verify(spec("lookup_in_two_steps"), parse_bound("2x1"))
    assert faulty.status is Status.VIOLATION


def test_an_enumeration_that_came_to_its_end_is_complete_whatever_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def drained(batches: Iterable[Batch], **_: object) -> tuple[Tally, bool]:
        programs = sum(len(batch.programs) for batch in batches)
        return Tally(programs=programs, exhausted=programs), True

    module = sys.modules[verify.__module__]
    monkeypatch.setattr(module, "spread", drained)
    monkeypatch.setattr(module, "_COUNTING_SHARE", 0.0)
    whole = verify(spec("textbook"), parse_bound("2x1"), SuiteOptions(budget_seconds=3_600.0))
    assert whole.status is Status.OK
    assert whole.programs == whole.tally.programs > 800
    cut = verify(spec("textbook"), parse_bound("2x1"), SuiteOptions(budget_seconds=0.0))
    assert (cut.status, cut.programs) == (Status.UNKNOWN, None)


EVALUATES = """
from textbook import TextbookIndexer


class Evaluating(TextbookIndexer):
    def list(self):
        eval("1")
        return super().list()


def new_indexer(key_func, indexers, semantics="classic"):
    return Evaluating(key_func, indexers, semantics)
"""


def test_what_gives_no_proof_is_said_where_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "textbook.py").write_text(Path(spec("textbook").rpartition(":")[0]).read_text())
    (tmp_path / "evaluates.py").write_text(EVALUATES, encoding="utf-8")
    target = f"{tmp_path / 'evaluates.py'}:new_indexer"
    unused = Program(("node",), (), ((op.list_keys(),), (op.list_keys(),)))
    used = Program(("node",), (), ((op.list_objects(),), (op.list_keys(),)))
    batch = Batch(target, ExploreOptions(), programs=(unused, used))
    tally = decode_tally(run_batch(encode_batch(batch)))
    assert (tally.programs, tally.exhausted, tally.finding) == (2, 1, None)
    assert tally.note.startswith("evaluates.py:7: eval() of a text: what it does cannot be seen")


PATIENT = """
import time

from textbook import TextbookIndexer


class Patient(TextbookIndexer):
    ready = False

    def list(self):
        end = time.monotonic() + 5.0
        while {waiting}:
            pass
        return super().list()

    def never(self):
        self.ready = True


def new_indexer(key_func, indexers, semantics="classic"):
    return Patient(key_func, indexers, semantics)
"""


@pytest.mark.parametrize(("waiting", "kind"), [("time.monotonic() < end", None), ("not self.ready", "livelock")])
def test_waiting_for_the_clock_comes_to_an_end_and_waiting_for_nobody_does_not(
    tmp_path: Path, waiting: str, kind: str | None
) -> None:
    (tmp_path / "textbook.py").write_text((FOLDER / "textbook.py").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "patient.py").write_text(PATIENT.format(waiting=waiting), encoding="utf-8")
    program = Program((), (), ((op.add(Item("a", "v1")),), (op.list_objects(),)))
    explored = explore(
        explored_indexer(f"{tmp_path / 'patient.py'}:new_indexer"), program, ExploreOptions(executions=50)
    )
    assert (explored.finding and explored.finding.kind.value) == kind


HALF = Program(
    ("node",),
    (),
    (
        (op.transaction((WriteKind.ADD, item("a", "v1", "n1")), (WriteKind.ADD, item("b", "v2", "n1"))),),
        (op.list_objects(),),
    ),
)
"""One thread writes two objects in a transaction while the other lists them."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("safeguard", "without", "is_faulty"),
    [
        ("", "", False),
        ("        try:\n            self._writes += 1\n", "        try:\n", True),
        ("if self._writes == writes:", "if True:", True),
        ("if not self._lock.locked():", "if True:", True),
    ],
    ids=["as it is", "a transaction that is not counted", "no second look at the count", "no look at the lock"],
)
def test_each_safeguard_of_the_references_lock_free_reads_is_needed(
    tmp_path: Path, safeguard: str, without: str, is_faulty: bool
) -> None:
    package = tmp_path / "copied"
    package.mkdir()
    for file in Path(kcache.__file__).parent.glob("*.py"):
        if file.name.startswith(("test_", "testing", "pytest_plugin", "conftest", "__main__")):
            continue
        source = file.read_text(encoding="utf-8")
        source = re.sub(r"from \.(errors|interfaces|transaction|keys) import", r"from kcache.\1 import", source)
        if file.name == "thread_safe_store.py" and safeguard:
            assert safeguard in source
            source = source.replace(safeguard, without)
        (package / file.name).write_text(source, encoding="utf-8")
    (tmp_path / "target.py").write_text("from copied import new_indexer\n", encoding="utf-8")
    explored = explore(explored_indexer(f"{tmp_path / 'target.py'}:new_indexer"), HALF, QUICK)
    assert (explored.finding is not None) == is_faulty
    assert explored.is_exhausted != is_faulty


def test_a_line_in_the_registry_makes_a_strategy_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "STRATEGIES", {**registry.STRATEGIES, "lazy": lambda _: Dpor()})
    assert explore(explored_indexer(spec("textbook")), MOVE, ExploreOptions("lazy")).is_exhausted
    assert "lazy" not in registry.sampling_names(ExploreOptions())
    with pytest.raises(TargetError, match="unknown strategy lzy; known are auto, dpor"):
        explore(explored_indexer(spec("textbook")), MOVE, ExploreOptions("lzy"))


LIVE_KEYS = """
import threading

class LiveKeys:
    def __init__(self, key_func):
        self._lock = threading.Lock()
        self._keys = []
        self._key_func = key_func

    def add(self, obj):
        with self._lock:
            self._keys.append(self._key_func(obj))

    def list_keys(self):
        with self._lock:
            return self._keys

def new_indexer(key_func, indexers):
    return LiveKeys(key_func)

new_indexer.kcache_unsupported = {unsupported!r}
"""


@pytest.mark.parametrize(("declared", "is_accused"), [((), True), (("live_results",), False)])
def test_a_list_that_stays_the_targets_is_not_changed(
    declared: tuple[str, ...], is_accused: bool, tmp_path: Path
) -> None:
    """Not in later executions either, which know what the list shows."""
    others = {name.value for name in OperationName} - {"add", "list_keys"}
    text = LIVE_KEYS.format(unsupported=sorted((*others, *declared)))
    (tmp_path / "live_keys.py").write_text(text, encoding="utf-8")
    subject = explored_indexer(f"{tmp_path / 'live_keys.py'}:new_indexer")
    program = Program((), (op.add(item("a", "v1", "n1")),), ((op.list_keys(),), (op.list_keys(),)))
    found = explore(subject, program, QUICK).finding
    assert (found is not None) == is_accused, found
