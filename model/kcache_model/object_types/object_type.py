"""An object type: all that kcache knows of the objects that targets of a type make, as data."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, Protocol, TypeAlias

from ..call_program import CallProgram
from ..codec import Codec
from ..outcomes import WAITS, Outcome
from .specification import Specification
from .vocabulary import Vocabulary

ReadBack: TypeAlias = Generator[Any, Outcome, None]
"""The operations that read back what is left when the threads have ended: each may depend on what those before gave."""

Remarks: TypeAlias = Mapping[tuple[int, int], str]
"""(thread, position) -> what is to be said of that call; see :mod:`kcache_model.history` for special threads."""

Load: TypeAlias = Callable[[str], ModuleType]
"""A module by its name; under the explorer, its private copy."""


class Driver(Protocol):
    """One object under test.

    Attributes:
        made: the object.
    """

    made: Any

    def call(self, operation: Any, thread: int = ..., /) -> Outcome:
        """Make one call. Exceptions that are none of its outcomes pass through.

        Args:
            operation: the call.
            thread: who calls: 0 for the first thread; by default whoever calls before and after the threads.
        """
        ...


class MakeDriver(Protocol):
    """Makes the object of a program, and what it needs."""

    def __call__(
        self, factory: Any, program: Any, /, *, load: Load, passing: tuple[type[BaseException], ...]
    ) -> Driver:
        """A new object; what ``factory`` raises passes through, as do exceptions of ``passing`` in calls."""
        ...


class ObjectTarget(Protocol):
    """A factory with its name and what it says of itself."""

    @property
    def name(self) -> str:
        """How reports call it."""
        ...

    @property
    def factory(self) -> Any:
        """Makes a new object."""
        ...

    @property
    def unsupported(self) -> frozenset[str]:
        """What it does not offer."""
        ...

    def allows_call(self, operation: Any) -> bool:
        """Whether it offers everything that a call needs."""
        ...


OBJECT_TOKENS: Final = "ko1."
"""How the replay tokens of object types begin; their name follows."""


@dataclass(frozen=True)
class RecordedProgram:
    """A program with what somebody else's implementation gave.

    Attributes:
        id: names the recording.
        title: what it is about.
        program: the operations, all in the prefix.
        outcomes: what each gave.
    """

    id: str
    title: str
    program: Any
    outcomes: tuple[Outcome, ...]


def _nothing(_: Any) -> Sequence[Any]:
    return ()


@dataclass(frozen=True, kw_only=True)
class ObjectType:
    """A type of targets that make objects.

    Attributes:
        name: what ``--type`` takes.
        summary: what such an object is, in a few words.
        called: what an object is called in texts.
        reference: the name of a correct target.
        specification: of the object of a program.
        driver: makes objects and calls.
        make_target: a target of a factory and its name; tries it out. Raises TargetError.
        stand_in: a target by name and what it does not offer, for who only asks that: it makes nothing.
        vocabulary: what can be called.
        ways: programs without calls, one for each way to make an object of a target.
        usual_ways: those that most programs begin with.
        smoke: the operations of the smoke test, in order; what would wait is left out.
        read_back: what is called when the threads of a program have ended.
        litmus_tests: small concurrent programs around what is known to go wrong, for a target.
        recorded: programs with recorded outcomes, for a target.
        has_recordings: whether there are any.
        unblock: an operation after which no call waits; ``None`` if there is none, or none waits.
        exact_errors: whether it counts which error a call gives, also where nobody asks for strict errors.
        owns: whether a program is one of this type, where several types share a prefix of tokens.
        is_valid: whether an object can be made as a program says; smaller programs are asked.
        completed: a program with the calls that end what its calls have begun: a ``with`` block.
        simpler: the next simpler variants of an operation.
        simpler_ways: the next simpler variants of how the object of a program is made.
        codec: how programs are written.
        script: a program as Python code: program, name of the target, remarks.
        old_prefix: how its replay tokens begin, where that is not made of its name.
        instrument: packages that its driver needs to be instrumented, beside the target's own.
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

    @property
    def token_prefix(self) -> str:
        """How its replay tokens begin."""
        return self.old_prefix or f"{OBJECT_TOKENS}{self.name}."

    def noted(self, program: Any) -> str:
        """A program for a journal, to be read where a call never returned."""
        return json.dumps(self.codec.encode_program(program))

    def reading_back(
        self, target: ObjectTarget, program: CallProgram[Any], answer: Callable[[Any], Outcome]
    ) -> list[tuple[Any, Outcome]]:
        """What is read back, and what it gave: ``answer`` says that; what the target does not offer is left out."""
        found: list[tuple[Any, Outcome]] = []
        reads = self.read_back(program)
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

    def make(
        self,
        target: Any,
        program: CallProgram[Any],
        *,
        load: Load = importlib.import_module,
        factory: Any = None,
        passing: tuple[type[BaseException], ...] = (),
    ) -> Driver:
        """The new object of a program, by default of the target's own factory."""
        return self.driver(target.factory if factory is None else factory, program, load=load, passing=passing)
