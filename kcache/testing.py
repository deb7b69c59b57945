"""The harness as a library: compare your own code with a model in your own tests.

For an Indexer::

    from kcache.testing import run_conformance
    from mypackage import new_indexer  # new_indexer(key_func, indexers) -> Indexer


    def test_conformance():
        run_conformance(new_indexer, seconds=20)

For any class or test: :func:`interleaved`, :class:`Machine`.
"""

from __future__ import annotations

import functools
import sys
import unittest
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from math import inf
from typing import TYPE_CHECKING, Any, Final

from kcache import Semantics
from kcache.adapting import AdaptedFactory, adapt
from kcache.adapting_queues import AdaptedQueueFactory, adapt_queue
from kcache_conformance.errors import ConformanceError, InconclusiveError
from kcache_conformance.fuzzing.library import fuzz_index_func, fuzz_key_func, fuzzed
from kcache_conformance.fuzzing.report import FuzzError, FuzzReport
from kcache_conformance.fuzzing.rules import Rule
from kcache_conformance.informers.fake_server import FakeServer
from kcache_conformance.informers.reproducing import PrintingHandler, print_content, settle
from kcache_conformance.isolation import HarnessError
from kcache_conformance.phases.suite_options import DEFAULT_TYPE, MOST_FINDINGS, SuiteOptions, phase_ids
from kcache_conformance.report.capturing import captured
from kcache_conformance.report.finding_text import print_finding
from kcache_conformance.results.events import SuiteResult
from kcache_conformance.runs.replays import replay_in_child
from kcache_conformance.runs.stored_replays import short_command
from kcache_conformance.runs.suite import run_suite
from kcache_conformance.targets.class_names import class_type_name
from kcache_conformance.targets.target_type import TargetType
from kcache_conformance.targets.target_types import target_type_named, trusted_type_of_token
from kcache_model.call_program import Cancelled
from kcache_model.errors import FormatError, TargetError
from kcache_model.finding import Finding, FindingKind
from kcache_model.history import Call
from kcache_model.indexers.check import check_linearizable
from kcache_model.indexers.program import History, Program
from kcache_model.indexers.target import Factory, Target
from kcache_model.interleaved_program import LoopContract, Timeouts
from kcache_model.linearizability import SearchBudget
from kcache_model.rules import Contract
from kcache_model.verdict import Status, Verdict
from kcache_stress.interleaved.parametrization import positions
from kcache_stress.interleaved.running import clock, io, is_controlled, run
from kcache_stress.loading import importable_spec
from kcache_stress.target.replay_answer import ReplayAnswer

if TYPE_CHECKING:
    from kcache_conformance.classes.machine import Machine, invariant, rule
    from kcache_conformance.classes.machine_of import machine_of

__all__ = [
    "PHASES",
    "AdaptedFactory",
    "AdaptedQueueFactory",
    "Call",
    "ConformanceError",
    "Factory",
    "FakeServer",
    "Finding",
    "FindingKind",
    "FuzzError",
    "FuzzReport",
    "HarnessError",
    "History",
    "InconclusiveError",
    "Machine",
    "PrintingHandler",
    "Program",
    "Rule",
    "SearchBudget",
    "Status",
    "SuiteResult",
    "Target",
    "TargetError",
    "Verdict",
    "adapt",
    "adapt_queue",
    "check_linearizable",
    "clock",
    "fuzz_index_func",
    "fuzz_key_func",
    "fuzzed",
    "in_threads",
    "interleaved",
    "invariant",
    "io",
    "machine_of",
    "print_content",
    "replay",
    "rule",
    "run",
    "run_conformance",
    "settle",
    "stress",
]


PHASES: Final = tuple(target_type_named(DEFAULT_TYPE).phases)
"""The names of the phases of a run on an Indexer, in order."""


def run_conformance(
    target: str | Factory,
    *,
    type: str = DEFAULT_TYPE,
    semantics: Semantics | str = Semantics.CLASSIC,
    strict_errors: bool = False,
    contract: Contract | str = Contract.CLIENT_GO,
    strict: bool = False,
    seed: int = 0,
    seconds: float | None = None,
    programs: int | None = None,
    patience_seconds: float = 3.0,
    phases: Iterable[str] = (),
    unsupported: Iterable[str] | None = None,
    instrument: Iterable[str] = (),
    most_findings: int = MOST_FINDINGS,
    shape: tuple[int, int] | None = None,
    parameters: Mapping[str, int] | None = None,
    data_races: bool = False,
    timeouts: str | None = None,
    cancel: int | None = None,
    cancelled: str | None = None,
    loop: str | None = None,
) -> SuiteResult:
    """Check an implementation; return only if there is no violation.

    If a child process can import the factory, it runs there, where it may hang or crash. Any other factory (a lambda, a
    local function) runs in a thread of this process.

    Args:
        target: ``"package.module:factory"``, ``"path/to/file.py:factory"``, or the factory itself.
        type: the type of the target, a value of ``kcache check --type``.
        semantics: ``"classic"`` or ``"current"``; for Indexers only.
        strict_errors: require kcache's error types; otherwise any error is accepted where an error is required.
        contract: the rules whose breach is a violation: ``"client-go"``, or ``"strict"``, which adds the further
            guarantees of kcache's reference implementation. Breaches of other rules are advice.
        strict: select the strict contract.
        seed: seed of everything random.
        seconds: time limit for all phases together; by default 30, or none if ``programs`` is set. Phases that end by
            themselves always run to their end.
        programs: the number of programs that each random phase runs: then the result does not depend on the machine.
        patience_seconds: the time that one call may take before it counts as hung.
        phases: the phases of the type to run, for Indexers a selection of :data:`PHASES`; empty for all.
        unsupported: operations that the implementation does not offer; by default the value of the factory's attribute
            ``kcache_unsupported``.
        instrument: further packages that the explorer instruments beside the implementation's own; they can also be
            named in ``kcache_instrument``, of the factory or of its module.
        most_findings: the run ends after this many violations.
        shape: the maximum number of threads of a program and of calls per thread; for types with a vocabulary.
        parameters: for tests: parameter -> position of its value in the list that the test is parametrized with.
        data_races: let the explorer report data races as well: as advice, or as violations under the strict contract.
        timeouts: for tests: see :func:`interleaved`; by default, what the test declares.
        cancel: for tests: see :func:`interleaved`; by default, what the test declares. For classes with async methods:
            the number of calls that are cancelled in one execution, by default one.
        cancelled: ``"any"``, for tests: see :func:`interleaved`. ``"strict"``, for classes: a call that is cancelled
            must have had no effect.
        loop: for tests: see :func:`interleaved`; by default, what the test declares.

    Returns:
        The result of the run; its findings are advice.

    Raises:
        ConformanceError: a violation was found.
        InconclusiveError: a phase could not be completed; the message has the reasons.
        TargetError: the target cannot be used, or there is no such type; the message says what to do.
        HarnessError: kcache itself failed.
    """
    __tracebackhide__ = True  # pytest shows the message, not this function
    target_type = target_type_named(type)
    known = target_type.phases
    options = SuiteOptions(
        semantics=Semantics(semantics),
        strict_errors=strict_errors,
        contract=Contract.STRICT if strict else Contract(contract),
        seed=seed,
        budget_seconds=_seconds(seconds, programs, 30.0),
        programs=programs,
        patience_seconds=patience_seconds,
        phases=phase_ids(phases, known),
        kind=type,
        instrument=tuple(instrument),
        most_findings=most_findings,
        shape=shape,
        parameters=parameters or {},
        data_races=data_races,
        timeouts=None if timeouts is None else Timeouts(timeouts),
        cancel=cancel,
        cancelled=None if cancelled is None else Cancelled(cancelled),
        loop=None if loop is None else LoopContract(loop),
    )
    unknown = set(options.phases) - set(known)
    if unknown:
        raise ValueError(f"unknown phases {', '.join(sorted(unknown))}; known are: {', '.join(known)}")
    chosen, name = _resolve(target_type, target, unsupported)
    result = run_suite(chosen, options)
    texts = [_text(finding, name) for finding in result.findings]
    if result.status is Status.VIOLATION:
        raise ConformanceError("\n\n".join(text.strip("\n") for text in texts), result)
    if result.status is not Status.OK:
        raise InconclusiveError("\n".join((*result.reasons, *texts)))
    return result


def _seconds(seconds: float | None, programs: int | None, usual: float) -> float:
    """Return the time limit in seconds: ``seconds`` if set; else infinity if ``programs`` is set, else ``usual``."""
    if seconds is not None:
        return seconds
    return usual if programs is None else inf


def interleaved(
    test: Callable[[], Any] | None = None,
    *,
    instrument: str | Iterable[str] = (),
    seconds: float = 10.0,
    seed: int = 0,
    exhaustive: bool = False,
    data_races: bool = False,
    timeouts: str = "usual",
    cancel: int = 0,
    cancelled: str = "usual",
    loop: str = "asyncio",
    patience_seconds: float = 3.0,
) -> Any:
    """Decorate a test so that its threads run in every interleaving: threads of :func:`run` and of ``threading``.

    An ``async`` test runs in an event loop, under every schedule that asyncio's loop can have: its timers, and what
    :func:`io` stands for, may come before each iteration.

    The test is called many times, in a child process, with its modules instrumented; each call has to create new
    objects. The test fails on the first interleaving in which a check fails, an exception escapes, or no thread can
    continue. The decorator works with and without arguments, on functions and methods, also of ``unittest.TestCase``.

    Args:
        test: the test; its parameters are those of ``pytest.mark.parametrize`` and fixtures. Each execution gets new
            fixtures.
        instrument: further packages to instrument, like ``--instrument``. The module itself and the Python modules that
            it imports are instrumented anyway. If parts of a package are named, only these parts are instrumented.
        seconds: time limit of the search. If it ends before, it is exhaustive, unless the result says ``no proof``.
        seed: seed of the random executions at the beginning.
        exhaustive: fail if the search does not end in time, or proves nothing.
        data_races: fail on a data race as well: two conflicting accesses without a happens-before order.
        timeouts: when a wait with a timeout may end although something else can go on: ``"patient"`` means never, if
            the timeout is 50 ms or more; ``"any-time"`` means at any moment; ``"usual"`` is patient for threads, and
            any-time for the timers of an event loop.
        cancel: number of cancellations in one execution of an async test: each task that the test itself makes is
            cancelled at each of its awaits, unless the test fails without that task.
        cancelled: ``"any"`` if tasks that packages make for themselves are cancelled, too.
        loop: the order in which ready callbacks of an event loop run: that of ``"asyncio"``, or any order
            (``"any-loop"``), also of timers (``"ideal"``).
        patience_seconds: the time that one execution may take without an event that the explorer sees.

    Raises:
        ConformanceError: raised by the test: it fails in an interleaving.
        InconclusiveError: raised by the test: it cannot be explored, or ``exhaustive`` is set and there is no proof.
        TargetError: raised by the test: it has other parameters, or cannot be imported by name.
    """
    declares = {
        "timeouts": Timeouts(timeouts),
        "cancellations": cancel,
        "cancelled": Cancelled(cancelled),
        "loop": LoopContract(loop),
    }

    def decorated(body: Any) -> Any:
        @functools.wraps(body)
        def explored(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            if is_controlled():
                return body(*args, **kwargs)
            itself: Any = explored
            marked = (explored, *map(type, args[:1]), sys.modules.get(body.__module__))
            result = run_conformance(
                itself,
                type="test",
                seed=seed,
                seconds=seconds,
                patience_seconds=patience_seconds,
                parameters=positions(kwargs, marked),
                data_races=data_races,
                strict=data_races,
                most_findings=MOST_FINDINGS if data_races else 1,
            )
            proofs = [phase for phase in result.phases if phase.counts.get("exhausted")]
            if exhaustive and not proofs:
                why = next((phase.no_proof for phase in result.phases if phase.no_proof), "allow more seconds")
                raise InconclusiveError(f"not every order of its threads was run: {why}")
            return None

        packages = (instrument,) if isinstance(instrument, str) else tuple(instrument)
        vars(explored).update(kcache_instrument=packages, kcache_interleaved=True, kcache_declares=declares)
        return explored

    return decorated if test is None else decorated(test)


def in_threads(
    machine: type[Any],
    *,
    threads: int = 2,
    calls: int = 2,
    seconds: float | None = None,
    programs: int | None = None,
    seed: int = 0,
) -> type[unittest.TestCase]:
    """Return a test case that runs the rules of a :class:`Machine`, or the methods of a class, in virtual threads.

    Random programs of the calls are explored, each in all interleavings if the time allows it. The results must be
    linearizable: possible if the calls run one at a time, in some order. Failing programs are minimised.

    Args:
        machine: a machine, or any class whose constructor needs no arguments; at the top level of a module.
        threads: the maximum number of threads of a program.
        calls: the maximum number of calls per thread.
        seconds: time limit; by default 10, or none if ``programs`` is set.
        programs: the number of programs to explore: then the result does not depend on the machine.
        seed: seed of everything random.
    """
    return _test_case(machine, "explorer", seconds, programs, seed, (threads, calls))


def stress(
    machine: type[Any], *, seconds: float | None = None, programs: int | None = None, seed: int = 0
) -> type[unittest.TestCase]:
    """Return a test case that runs the rules of a :class:`Machine`, or the methods of a class, in real threads.

    Args:
        machine: as for :func:`in_threads`.
        seconds: time limit; by default 10, or none if ``programs`` is set.
        programs: the number of programs to run.
        seed: seed of everything random.
    """
    return _test_case(machine, "stress", seconds, programs, seed, None)


def _test_case(
    machine: type[Any],
    phase: str,
    seconds: float | None,
    programs: int | None,
    seed: int,
    shape: tuple[int, int] | None,
) -> type[unittest.TestCase]:
    def run_test(self: unittest.TestCase) -> None:  # noqa: ARG001
        spec = importable_spec(machine)
        if spec is None:
            raise TargetError(f"{machine.__qualname__} cannot be imported by name: define it at the top of a module")
        run_conformance(
            spec,
            type=class_type_name(spec),
            phases=(phase,),
            seconds=_seconds(seconds, programs, 10.0),
            programs=programs,
            seed=seed,
            shape=shape,
            most_findings=1,
        )

    return type(f"{machine.__name__}{phase.capitalize()}", (unittest.TestCase,), {f"test_{phase}": run_test})


def __getattr__(name: str) -> Any:
    """Import the names that need Hypothesis at their first access, so that the others work without it."""
    if name in ("Machine", "rule", "invariant"):
        return getattr(import_module("kcache_conformance.classes.machine"), name)
    if name == "machine_of":
        return import_module("kcache_conformance.classes.machine_of").machine_of
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def replay(word: str, *, patience_seconds: float = 3.0, trust: bool = False) -> None:
    """Follow the schedule of a counterexample again; return only if the failure is fixed.

    Args:
        word: the replay token that was printed: ``kx1.`` (or ``kq1.``, ``ki1.``, ``kf1.``, ``kt1.``, ``ko1.``) and
            some hundred characters.
        patience_seconds: the time that one execution may take.
        trust: run the target even if it is neither in the current folder nor named in the configuration.

    Raises:
        ConformanceError: the failure still occurs.
        InconclusiveError: the schedule no longer fails, but not all other schedules could be tried; or real threads
            did not fail again; or the failure still occurs, but is not confirmed.
        FormatError: the token is damaged, or is no replay token.
        TargetError: the target no longer exists.
    """
    __tracebackhide__ = True
    target_type = trusted_type_of_token(word, is_trusted=trust)
    if target_type is None:
        raise FormatError(
            f"not a replay token: {word[:20]!r}; a token begins with kx1., kq1., ki1., kf1., kt1. or ko1."
        )
    outcome = replay_in_child(target_type, word, patience_seconds=patience_seconds)
    if outcome.finding is not None:
        text = _text(outcome.finding, target_type.tokens.decode(word).target)
        if outcome.status is not Status.VIOLATION:
            raise InconclusiveError(text)
        raise ConformanceError(text, SuiteResult(Status.VIOLATION, (outcome.finding,), (), (), (), 0.0))
    if outcome.answer in (ReplayAnswer.CHANGED, ReplayAnswer.UNKNOWN):
        raise InconclusiveError(outcome.note)


def _resolve(
    target_type: TargetType, target: str | Factory, unsupported: Iterable[str] | None
) -> tuple[str | Target | Factory, str]:
    if isinstance(target, str) and unsupported is None:
        return target, target
    name = str(getattr(target, "__qualname__", target))
    if unsupported is None:
        spec = importable_spec(target)
        return spec or target, spec or name
    if isinstance(target, str) or target_type.declared is None:
        raise ValueError("declare what is unsupported on the factory: factory.kcache_unsupported = [...]")
    return target_type.declared(target, unsupported), name


def _text(finding: Finding, target: str) -> str:
    return captured(lambda console: print_finding(console, finding, target, command_of=short_command))
