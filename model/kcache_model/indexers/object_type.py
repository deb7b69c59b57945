"""Indexers as an object type: their driver, their specification, their reads, and how their histories are decided.

Whoever prints a finding needs the type, too: what only a run needs is imported in the run.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kcache import Indexer

from ..finding import Finding
from ..history import Call
from ..linearizability.budget import SearchBudget
from ..object_types.checking import CallsVerdict
from ..object_types.object_type import Load, ObjectType, Repeat
from ..outcomes import Outcome
from ..render import outcome_text
from .codec import INDEXERS
from .eviction import model_of
from .indexer_model import State
from .items import Semantics
from .operations import Operation
from .program import History, Program
from .reads import final_reads
from .restrictions import restricted_program
from .simpler import simpler_operations, simpler_programs
from .target import INDEXES, Factory, Target, make_target
from .vocabulary import ALL_INDEXES

if TYPE_CHECKING:
    from ..progress import ProgressListener
    from ..rules import BrokenRule
    from .driver import Driver
    from .step_checks import IndexerChecks

_BUDGET: Final = SearchBudget(seconds=600.0, steps=200_000)
"""The limit of steps comes first, so that no verdict depends on the machine. The limit of time is a safeguard."""


class IndexerSpecification:
    """The specification of the Indexer of a program, see :func:`.eviction.model_of`."""

    def __init__(self, program: Program) -> None:
        self._model = model_of(program)

    never_waits: Final = True

    def initial(self, program: Program) -> State:
        """Return the state of a new Indexer with the indices of a program."""
        return self._model.initial(program.indexes)

    def effects(self, state: State, operation: Operation) -> Sequence[tuple[State, Outcome]]:
        """Return the possible effects of a call: pairs of the next state and the outcome."""
        return self._model.effects(state, operation)

    def respond(self, state: State, operation: Operation, observed: Outcome | None) -> tuple[State, Outcome]:
        """Return the effect with the outcome ``observed``, if there is one; see :meth:`.EvictingModel.respond`."""
        return self._model.respond(state, operation, observed)


def _driver(
    factory: Factory,
    program: Program,
    /,
    *,
    load: Load = importlib.import_module,
    passing: tuple[type[BaseException], ...] = (),
    target: Target,
) -> Driver:
    from .driver import Driver

    del load
    own = target if factory is target.factory else replace(target, factory=factory)
    return Driver(own, program.indexes, program.semantics, passing=passing)


def _decide(program: Program, calls: Sequence[Call[Any]], /, *, strict_errors: bool) -> CallsVerdict:
    from .check import check_linearizable

    history = History(program.indexes, tuple(calls), program.semantics, program.may_evict)
    verdict = check_linearizable(history, strict_errors=strict_errors, budget=_BUDGET)
    core = {id(call) for call in verdict.core}
    shown = (call for call in calls if call.thread >= 0 or id(call) in core or (core and call.operation.is_write))
    return CallsVerdict(verdict.status, verdict.reason, shown=tuple(shown), core=verdict.core, anomaly=verdict.anomaly)


def _excerpt(program: Program, calls: Sequence[Call], core: Sequence[Call]) -> tuple[Program, Sequence[Call]]:
    from .excerpt import excerpt

    return excerpt(program, calls, core)


def _broken_rules(driver: Driver, target: Target) -> Sequence[BrokenRule]:
    from .aftermath import broken_afterwards

    return broken_afterwards(driver, target)


def _step_checks(driver: Driver, target: Target, program: Program, watch: ProgressListener) -> IndexerChecks:
    from .step_checks import IndexerChecks

    return IndexerChecks(driver, target, program, watch)


def _index_function_fails(operation: Operation) -> bool:
    return operation.is_write and any(None in item.values.values() for item in operation.given)


def _rule_of_outcome(program: Program, expected: Outcome, observed: Outcome) -> str:
    from .outcome_rules import rule_of_outcome

    return rule_of_outcome(program, expected, observed)


def _as_judged(target: Target, program: Program, is_strict: bool) -> Target:
    from .probing import probe

    return probe(replace(target, is_strict=is_strict, semantics=program.semantics), program.semantics)


def _diagnose(finding: Finding, target: Target, repeat: Repeat) -> Finding:
    from .diagnosis import diagnosed

    return diagnosed(finding, target, repeat)


def _make_target(factory: Any, name: str) -> Target:
    from .probing import probe

    return probe(make_target(factory, name), Semantics.CLASSIC)


def _never_made(*_: object) -> Indexer[Any]:
    raise AssertionError("only asked what it supports")


def _for_target(program: Program, target: Target) -> Program:
    indexes = () if INDEXES in target.unsupported else program.indexes
    return replace(restricted_program(program, target), indexes=indexes)


def _usual_ways(target: Target) -> Sequence[Program]:
    return (Program(() if INDEXES in target.unsupported else ALL_INDEXES[:2], semantics=target.semantics),)


def _ways(target: Target) -> Sequence[Program]:
    names = () if INDEXES in target.unsupported else ALL_INDEXES
    chosen = (some for count in range(len(names) + 1) for some in itertools.combinations(names, count))
    return tuple(Program(some, semantics=target.semantics) for some in chosen)


INDEXER_OBJECTS: Final = ObjectType(
    name="indexer",
    summary="a store with indices",
    called="indexer",
    reference="kcache:new_indexer",
    specification=IndexerSpecification,
    driver=_driver,
    make_target=_make_target,
    stand_in=lambda spec, unsupported: Target(spec, _never_made, unsupported),
    vocabulary=(),
    ways=_ways,
    usual_ways=_usual_ways,
    smoke=(),
    read_back=lambda program: final_reads(program, Target("", _never_made)),
    read_back_of=final_reads,
    simpler=simpler_operations,
    simpler_ways=simpler_programs,
    codec=INDEXERS,
    script=lambda _program, _target, _remarks: "",
    old_prefix="kx1.",
    broken_rules=_broken_rules,
    for_target=_for_target,
    decide=_decide,
    excerpt=_excerpt,
    step_checks=_step_checks,
    rule_of_outcome=_rule_of_outcome,
    has_own_thread=_index_function_fails,
    calls_directly=True,
    as_judged=_as_judged,
    diagnose=_diagnose,
    call_text=lambda operation: str(operation.name),
    outcome_text=outcome_text,
    confirms_seen=False,
)
"""Its programs come from generators of their own, not from a vocabulary of independent calls."""
