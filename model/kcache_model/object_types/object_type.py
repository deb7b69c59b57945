"""Object type: everything that kcache knows about the objects that the targets of a type create, as data."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from ..call_program import CallProgram
from ..codec import Codec
from ..finding import Finding
from ..history import Call
from ..linearizability.budget import SearchBudget
from ..outcomes import WAITS, Outcome
from ..progress import ProgressListener
from ..rules import BrokenRule
from .checking import CallsVerdict, check_calls
from .specification import Specification
from .step_checks import StepChecks
from .vocabulary import Vocabulary

ReadBack: TypeAlias = Sequence[Any] | Generator[Any, Outcome, None]
"""Operations that read the final state when the threads have ended; a generator if they depend on earlier outcomes."""

Remarks: TypeAlias = Mapping[tuple[int, int], str]
"""(thread, position) -> the remark on that call; see :mod:`kcache_model.history` for special threads."""

Repeat: TypeAlias = Callable[[Any, Any], Finding | None]
"""A function that runs a program on a target and returns the finding, if it fails."""

Load: TypeAlias = Callable[[str], ModuleType]
"""A function that returns a module by its name; under the explorer, it returns the private copy of the module."""


class PreparedCall(NamedTuple):
    """A prepared call: only the call itself remains to be run between the two readings of the clock."""

    operation: Any
    function: Callable[..., object]
    arguments: tuple[object, ...]


class Driver(Protocol):
    """The driver of one object under test.

    Attributes:
        made: the object.
    """

    made: Any

    def call(self, operation: Any, thread: int = ..., /) -> Outcome:
        """Call the object once. Exceptions that are not outcomes of the call pass through.

        Args:
            operation: the call.
            thread: the calling thread: 0 for the first thread; by default the caller before and after the threads.
        """
        ...


class PreparingDriver(Driver, Protocol):
    """A driver that prepares calls: stress tests then make one call right after another, and read the outcomes later.

    Attributes:
        passing: types of exceptions that are no outcomes of calls.
    """

    passing: tuple[type[BaseException], ...]

    def prepare(self, operation: Any, /) -> PreparedCall:
        """Look up the method and build the arguments of a call."""
        ...

    def outcome(self, prepared: Any, result: object, /) -> Outcome:
        """Return the outcome of a prepared call that returned ``result``."""
        ...

    def outcome_of_error(self, error: BaseException, /) -> Outcome:
        """Return the outcome of a call that raised."""
        ...


class MakeDriver(Protocol):
    """A function that creates the object of a program and its driver."""

    def __call__(
        self, factory: Any, program: Any, /, *, load: Load, passing: tuple[type[BaseException], ...], target: Any
    ) -> Driver:
        """Create a driver with a new object; exceptions of the types ``passing`` pass through, also in calls.

        ``target`` has the declarations of the target; its own factory may belong to other copies of the modules.

        Raises:
            TargetError: ``factory`` raised another exception; some drivers let that exception pass through instead.
        """
        ...


class ObjectTarget(Protocol):
    """A factory with its name and the features that its objects lack."""

    @property
    def name(self) -> str:
        """The name of the factory in reports."""
        ...

    @property
    def factory(self) -> Any:
        """The factory of new objects."""
        ...

    @property
    def unsupported(self) -> frozenset[str]:
        """The names of the features that its objects do not offer."""
        ...

    def allows_call(self, operation: Any) -> bool:
        """Whether its objects offer everything that a call needs."""
        ...


class Decide(Protocol):
    """A function that decides whether some order of the calls of a program explains their outcomes."""

    def __call__(self, program: Any, calls: Sequence[Call[Any]], /, *, strict_errors: bool) -> CallsVerdict:
        """Return the verdict on the calls."""
        ...


OBJECT_TOKENS: Final = "ko1."
"""The beginning of the replay tokens of object types; the name of the type follows."""


@dataclass(frozen=True)
class RecordedProgram:
    """A program with the outcomes that another implementation gave.

    Attributes:
        id: the identifier of the recording.
        title: the subject of the recording.
        program: the operations, all in the prefix.
        outcomes: the outcome of each operation.
    """

    id: str
    title: str
    program: Any
    outcomes: tuple[Outcome, ...]


def _nothing(_: Any) -> Sequence[Any]:
    return ()


def _whole(program: Any, calls: Sequence[Call[Any]], _core: Sequence[Call[Any]]) -> tuple[Any, Sequence[Call[Any]]]:
    return program, calls


@dataclass(frozen=True, kw_only=True)
class ObjectType:
    """A type of targets that create objects.

    Attributes:
        name: the value of ``--type``.
        summary: a description of an object of this type, in a few words.
        called: the noun for an object in texts.
        reference: the name of a correct target.
        specification: the specification of the object of a program.
        driver: creates the object of a program with its driver.
        make_target: creates a target of a factory and its name, and tries the factory out. Raises TargetError.
        stand_in: creates a target of a name and the unsupported features, which only answers queries about them: its
            factory must not be called.
        vocabulary: the operations that programs may call.
        ways: programs without calls, one for each configuration with which a target creates objects.
        usual_ways: the ``ways`` that most programs begin with.
        smoke: the operations of the smoke test, in order; operations that would wait are left out.
        read_back: the operations that read the final state when the threads of a program have ended.
        litmus_tests: small concurrent programs, for a target, that provoke known faults.
        recorded: programs with recorded outcomes, for a target.
        has_recordings: whether ``recorded`` has any.
        unblock: an operation after which no call waits; ``None`` if there is none, or if no call ever waits.
        exact_errors: whether the type of the error of a call is always compared, even without strict errors.
        owns: whether a program is one of this type, if several types share a prefix of tokens.
        is_valid: whether a program is well-formed; the minimiser skips smaller programs that are not.
        completed: a program with added calls that end the ``with`` blocks that its calls have begun.
        simpler: the next simpler variants of an operation.
        simpler_ways: variants of a program with the next simpler configurations of its object.
        codec: encodes and decodes programs.
        script: a program as Python code: program, name of the target, remarks.
        old_prefix: the beginning of its replay tokens, if it does not consist of the name.
        instrument: packages that must be instrumented for its driver, in addition to the package of the target.
        read_back_of: like ``read_back``, if the operations depend on the declarations of the target, too.
        broken_rules: the invariants that an object breaks when the threads have ended.
        for_target: a program as it runs on a target, with what the declarations of the target allow.
        decide: checks a history of a program; by default the search of :func:`.checking.check_calls`.
        excerpt: the part of a long program that may repeat a failure, and the calls to show: program, calls, core.
        step_checks: creates the checks around each call of a sequential run: driver, target, program, listener;
            ``None`` if outcomes are all that is checked.
        rule_of_outcome: the id of the rule that the last call of a program of one thread breaks: program, expected and
            observed outcome; empty for the rule of the kind of the finding.
        has_own_thread: whether a thread of its own makes a call of a sequential run: the next call then finds a lock
            that this one has kept, even a reentrant one.
        calls_directly: whether sequential runs make the calls in their own thread, without watching for hangs.
        as_judged: the target that a program is judged on: target, program, whether the contract is the strict one.
        diagnose: a finding with a more precise rule, from further runs of programs on targets.
        call_text: the text of a call in the sentence that accuses it.
        outcome_text: the text of an outcome.
        confirms_seen: whether real threads try to confirm a finding even if the explorer observed all code.
    """

    name: str
    summary: str
    called: str
    reference: str
    specification: Callable[[Any], Specification[Any, Any]]
    driver: MakeDriver
    make_target: Callable[[Any, str], Any]
    stand_in: Callable[[str, frozenset[str]], Any]
    vocabulary: Vocabulary
    ways: Callable[[Any], Sequence[Any]]
    usual_ways: Callable[[Any], Sequence[Any]]
    smoke: tuple[Any, ...]
    read_back: Callable[[Any], ReadBack]
    codec: Codec
    script: Callable[[Any, str, Remarks], str]
    litmus_tests: Callable[[Any], Iterable[Any]] = _nothing
    recorded: Callable[[Any], Sequence[RecordedProgram]] = _nothing
    has_recordings: bool = False
    unblock: Any = None
    exact_errors: bool = False
    owns: Callable[[Any], bool] = lambda _: True
    is_valid: Callable[[Any], bool] = lambda _: True
    completed: Callable[[Any], Any] = lambda program: program
    simpler: Callable[[Any], Iterable[Any]] = _nothing
    simpler_ways: Callable[[Any], Iterable[Any]] = _nothing
    old_prefix: str = ""
    instrument: tuple[str, ...] = ()
    read_back_of: Callable[[Any, Any], ReadBack] | None = None
    broken_rules: Callable[[Any, Any], Sequence[BrokenRule]] = lambda _driver, _target: ()
    for_target: Callable[[Any, Any], Any] = lambda program, _: program
    decide: Decide | None = None
    excerpt: Callable[[Any, Sequence[Call[Any]], Sequence[Call[Any]]], tuple[Any, Sequence[Call[Any]]]] = _whole
    step_checks: Callable[[Any, Any, Any, ProgressListener], StepChecks] | None = None
    rule_of_outcome: Callable[[Any, Outcome, Outcome], str] = lambda _program, _expected, _observed: ""
    has_own_thread: Callable[[Any], bool] = lambda _: False
    calls_directly: bool = False
    as_judged: Callable[[Any, Any, bool], Any] = lambda target, _program, _is_strict: target
    diagnose: Callable[[Finding, Any, Repeat], Finding] = lambda finding, _target, _repeat: finding
    call_text: Callable[[Any], str] = str
    outcome_text: Callable[[Outcome], str] = str
    confirms_seen: bool = True

    @property
    def token_prefix(self) -> str:
        """The beginning of its replay tokens."""
        return self.old_prefix or f"{OBJECT_TOKENS}{self.name}."

    def judged(
        self,
        program: Any,
        calls: Sequence[Call[Any]],
        *,
        strict_errors: bool,
        budget: SearchBudget | None = None,
        created: int | None = None,
    ) -> CallsVerdict:
        """The verdict on the calls of a program, by ``decide`` or else by :func:`.checking.check_calls`."""
        exact = strict_errors or self.exact_errors
        if self.decide is not None:
            return self.decide(program, calls, strict_errors=exact)
        specification = self.specification(program)
        initial = specification.initial(program)
        return check_calls(specification, initial, calls, strict_errors=exact, budget=budget, created=created)

    def noted(self, program: Any) -> str:
        """A program as JSON text for a journal, which is read if a call never returned."""
        return json.dumps(self.codec.encode_program(program))

    def reads_for(self, target: ObjectTarget, program: CallProgram[Any]) -> ReadBack:
        """The operations of ``read_back``; if they are a sequence, without those that the target does not offer."""
        reads = self.read_back(program) if self.read_back_of is None else self.read_back_of(program, target)
        return tuple(filter(target.allows_call, reads)) if isinstance(reads, Sequence) else reads

    def reading_back(
        self, target: ObjectTarget, program: CallProgram[Any], answer: Callable[[Any], Outcome]
    ) -> list[tuple[Any, Outcome]]:
        """The operations of ``read_back`` with their outcomes.

        ``answer`` returns the outcome of an operation. Operations that the target does not offer are left out.
        """
        reads = self.reads_for(target, program)
        if isinstance(reads, Sequence):
            return [(operation, answer(operation)) for operation in reads]
        found: list[tuple[Any, Outcome]] = []
        try:
            operation = next(reads)
            while True:
                if target.allows_call(operation):
                    found.append((operation, answer(operation)))
                    operation = reads.send(found[-1][1])
                else:
                    operation = reads.send(WAITS)
        except StopIteration:
            return found

    @property
    def is_on_loop(self) -> bool:
        """Whether the driver makes the calls in an event loop."""
        return bool(getattr(getattr(self.driver, "func", self.driver), "is_on_loop", False))

    def make(
        self,
        target: Any,
        program: CallProgram[Any],
        *,
        load: Load = importlib.import_module,
        factory: Any = None,
        passing: tuple[type[BaseException], ...] = (),
    ) -> Driver:
        """Create the driver of a new object for a program, by default with the target's own factory."""
        own = target.factory if factory is None else factory
        return self.driver(own, program, load=load, passing=passing, target=target)
