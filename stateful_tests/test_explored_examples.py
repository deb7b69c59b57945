"""Programs that Hypothesis writes: legal ones, small where they fail, and no accusation of what is right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

import kcache
from kcache_conformance.indexers.concurrent_programs import concurrent_programs
from kcache_conformance.indexers.token_replay import replay_token
from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.targets.gallery import gallery
from kcache_conformance.verification.batch import Batch
from kcache_conformance.verification.explored_examples import Examples, explore_examples
from kcache_model.errors import TargetError
from kcache_model.finding import FindingKind
from kcache_model.indexers.codec import decode_program, encode_program
from kcache_model.indexers.items import Semantics
from kcache_model.indexers.operations import INDEX_OPERATIONS, OperationName
from kcache_model.indexers.program import Program
from kcache_model.indexers.target import INDEXES, Target, make_target
from kcache_model.progress import NoProgress
from kcache_stress.indexers.exploration import explored_indexer
from kcache_stress.indexers.program_tokens import PROGRAM_TOKENS
from kcache_stress.indexers.programs.footprints import some_calls_meet
from kcache_stress.target.explore import ExploreOptions
from kcache_stress.target.replay_answer import ReplayAnswer

REFERENCE = make_target(kcache.new_indexer, "reference")
PLAIN_STORE = make_target(kcache.new_indexer, "store", [INDEXES])
FOLDER = gallery()[0].path.parent


def only(*names: OperationName) -> Target:
    return make_target(kcache.new_indexer, "few", [name.value for name in OperationName if name not in names])


def spec(name: str) -> str:
    return f"{FOLDER / name}.py:new_indexer"


def examples(target: str, **fields: Any) -> Batch:
    """Enough for every test here; limits count, so that the same happens on a slow machine."""
    options = ExploreOptions(executions=500, minimise_seconds=10.0)
    defaults = {"suite_options": SuiteOptions(shape=(3, 2)), "seeds": (0, 200), "seconds": 60.0}
    return Batch(target, options, **{**defaults, **fields})


# The strategy


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "target",
    [REFERENCE, PLAIN_STORE, only(OperationName.REPLACE, OperationName.LIST), only(OperationName.ADD)],
    ids=["indexer", "store", "replace and list", "add"],
)
@given(data=st.data())
def test_programs_are_legal(target: Target, data: st.DataObject) -> None:
    semantics = data.draw(st.sampled_from(Semantics))
    program = data.draw(concurrent_programs(target, semantics))
    assert program.semantics is semantics
    assert 2 <= len(program.threads) <= 4
    assert all(1 <= len(thread) <= 4 for thread in program.threads)
    assert len(program.prefix) <= 3
    assert all(target.supports(operation.name) for operation in program.operations())
    assert some_calls_meet(program)
    stamps = [item.stamp for operation in program.operations() for item in operation.given]
    assert stamps == [f"v{number + 1}" for number in range(len(stamps))]
    assert decode_program(encode_program(program)) == program


@given(concurrent_programs(REFERENCE, Semantics.CLASSIC, threads=(3, 3), operations=(2, 3)))
def test_programs_have_the_shape_that_is_asked_for(program: Program) -> None:
    assert len(program.threads) == 3
    assert {len(thread) for thread in program.threads} <= {2, 3}


def simplest(wanted: Callable[[Program], bool], target: Target = REFERENCE) -> Program:
    return find(
        concurrent_programs(target, Semantics.CURRENT),
        wanted,
        settings=settings(max_examples=2_000, derandomize=True, database=None, phases=[Phase.generate, Phase.shrink]),
    )


def test_the_simplest_program_is_the_smallest() -> None:
    program = simplest(lambda _: True)
    assert program.prefix == ()
    assert [len(thread) for thread in program.threads] == [1, 1]


def test_every_operation_is_met_in_a_thread() -> None:
    met: set[OperationName] = set()

    @settings(max_examples=400)
    @given(concurrent_programs(REFERENCE, Semantics.CURRENT))
    def meet(program: Program) -> None:
        met.update(operation.name for thread in program.threads for operation in thread)

    meet()
    assert met == set(OperationName) - {OperationName.MUTATE}


@pytest.mark.parametrize("name", [OperationName.BY_INDEX, OperationName.TRANSACTION, OperationName.RESYNC])
def test_an_operation_shrinks_to_itself_and_one_that_it_meets(name: OperationName) -> None:
    program = simplest(lambda program: any(call.name is name for thread in program.threads for call in thread))
    assert program.prefix == ()
    assert [len(thread) for thread in program.threads] == [1, 1]


def test_indices_come_late_with_values_for_them() -> None:
    def is_late(program: Program) -> bool:
        return any(operation.name is OperationName.ADD_INDEXERS for operation in program.operations())

    def has_values(program: Program) -> bool:
        return any("zone" in item.values for operation in program.operations() for item in operation.written)

    assert len(simplest(lambda program: is_late(program) and has_values(program))) <= 3


def test_a_plain_store_has_objects_without_values() -> None:
    program = simplest(lambda program: len(program) > 4, PLAIN_STORE)
    assert program.indexes == ()
    assert not any(item.values for operation in program.operations() for item in operation.given)
    assert not any(operation.name in INDEX_OPERATIONS for operation in program.operations())


def test_a_target_whose_calls_cannot_meet_is_refused() -> None:
    with pytest.raises(TargetError, match="remove the calls that it supports from kcache_unsupported"):
        concurrent_programs(only(OperationName.LIST, OperationName.GET), Semantics.CLASSIC)


# Examples


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    ("name", "is_deadlock"),
    [
        ("lookup_in_two_steps", False),
        ("snapshot_without_lock", False),
        ("bucket_removed_late", False),
        ("delete_in_two_sections", False),
        ("cached_lookups", False),
        ("unlocked_list", False),
        ("lock_order_inversion", True),
        ("lost_wakeup", True),
    ],
)
def test_hypothesis_finds_a_concurrent_fault_and_makes_it_small(name: str, is_deadlock: bool) -> None:
    finding = Examples(explored_indexer(spec(name)), examples(spec(name))).smallest()
    assert finding is not None
    assert (finding.kind is FindingKind.DEADLOCK) == is_deadlock
    assert finding.program is not None
    assert sum(map(len, finding.program.threads)) <= 3
    assert len(finding.program) <= 4


def test_what_is_left_is_explained_and_can_be_repeated() -> None:
    tally = explore_examples(examples(spec("lookup_in_two_steps")))
    assert tally.finding is not None
    assert tally.finding.program is not None
    assert len(tally.finding.program) <= 3
    assert "1 preemption (no schedule with fewer fails); possible under the GIL." in tally.finding.detail
    assert replay_token(PROGRAM_TOKENS.decode(tally.finding.schedule), NoProgress()).answer is ReplayAnswer.REPRODUCED


@pytest.mark.nightly
def test_the_same_seed_finds_the_same() -> None:
    batch = examples(spec("snapshot_without_lock"), seeds=(7, 200), suite_options=SuiteOptions(shape=(4, 4)))
    once, again = (Examples(explored_indexer(batch.target), batch) for _ in range(2))
    assert once.smallest() == again.smallest()
    assert once.tally.programs == again.tally.programs


@pytest.mark.one_in(20)
@pytest.mark.parametrize("name", ["textbook", "copy_on_write", "sequence_lock", "lazy_index"])
def test_nothing_is_found_in_a_correct_design(name: str) -> None:
    tally = Examples(explored_indexer(spec(name)), examples(spec(name), seeds=(3, 30))).run()
    assert tally.finding is None
    assert 20 <= tally.programs <= 30
    assert tally.exhausted


TROUBLE = """
import os

import kcache


class Troubled(kcache.Cache):
    def list(self):
        {body}


def new_indexer(key_func, indexers):
    return Troubled(key_func, kcache.new_thread_safe_store(indexers))
"""

PASSING = """
import pathlib
import textbook

ASKED = pathlib.Path(__file__).with_suffix(".asked")
ASKED.touch()


class Passing(textbook.TextbookIndexer):
    def list(self):
        with ASKED.open("a") as file:
            file.write("x")
        return super().list() if ASKED.stat().st_size != 5 else [None]


def new_indexer(key_func, indexers, semantics="classic"):
    return Passing(key_func, indexers, semantics)
"""


@pytest.mark.waits
@pytest.mark.parametrize(
    ("body", "kind"), [("os._exit(3)", FindingKind.CRASH), ("while True: pass", FindingKind.HANG)], ids=["end", "hang"]
)
def test_a_target_that_ends_or_freezes_its_process(tmp_path: Path, body: str, kind: FindingKind) -> None:
    (tmp_path / "troubled.py").write_text(TROUBLE.format(body=body), encoding="utf-8")
    tally = explore_examples(
        examples(
            f"{tmp_path / 'troubled.py'}:new_indexer", suite_options=SuiteOptions(patience_seconds=0.5, shape=(3, 2))
        )
    )
    assert tally.finding is not None
    assert tally.finding.kind is kind
    assert tally.finding.program is not None
    assert not tally.finding.program.is_sequential
    assert tally.finding.phase == "explorer"


def test_what_fails_once_and_then_passes_is_reported_as_it_was_seen(tmp_path: Path) -> None:
    (tmp_path / "textbook.py").write_text((FOLDER / "textbook.py").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "passing.py").write_text(PASSING, encoding="utf-8")
    tally = explore_examples(examples(f"{tmp_path / 'passing.py'}:new_indexer"))
    assert tally.finding is not None
    assert tally.finding.kind is FindingKind.INVARIANT
    told = tally.finding.detail or tally.finding.summary
    assert "explored the same program again and found nothing" in told or "does not do the same each time" in told


@pytest.mark.nightly
def test_time_that_is_over_makes_nothing_right() -> None:
    target = spec("lookup_in_two_steps")
    none = explore_examples(examples(target, seconds=0.0))
    assert (none.programs, none.finding) == (0, None)
    unshrunk = Batch(target, ExploreOptions(minimise_seconds=0.0), seeds=(0, 200), seconds=60.0)
    assert Examples(explored_indexer(target), unshrunk).run().finding is not None


def test_what_cannot_be_scheduled_is_said(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text("import greenlet\nfrom kcache import new_indexer\n", encoding="utf-8")
    assert "greenlet" in explore_examples(examples(f"{tmp_path / 'loop.py'}:new_indexer")).refused
