"""Programs engine: it checks that an index in a client-go-like cache stays correct under random writes."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..evidence import Engine, Evidence
from ..judging.outcome import answer_of
from ..judging.violation import InputClass, Violation
from ..objects.fuzzed_object import FuzzedObject
from ..rules import Kind, Rule

_STEPS = 12
_KEYS = ("a", "b", "c")


@dataclass(frozen=True)
class Step:
    """One write: ``fuzzed_object`` under ``key``; if it is ``None``, a deletion."""

    key: str
    fuzzed_object: FuzzedObject | None

    def text(self) -> str:
        """Return the step as text, for reports."""
        return f"delete {self.key}" if self.fuzzed_object is None else f"put {self.key}"


@dataclass
class _ClientGoIndex:
    """One index that works as in client-go: a write calls the function again for the old object."""

    function: Callable[[Any], Any]
    objects: dict[str, Any] = field(default_factory=dict)
    entries: dict[str, set[str]] = field(default_factory=dict)

    def values(self, obj: Any) -> frozenset[str] | None:
        return answer_of(self.function, Kind.INDEX, obj)[0].meaning[0]

    def write(self, key: str, obj: Any | None) -> None:
        old = self.objects.pop(key, None)
        if old is not None:
            for value in self.values(old) or ():
                self.entries.get(value, set()).discard(key)
        if obj is not None:
            self.objects[key] = obj
            for value in self.values(obj) or ():
                self.entries.setdefault(value, set()).add(key)

    def fault(self) -> str | None:
        """Return the first fault of the index, compared with the function's current values; ``None`` if correct."""
        wanted = {key: self.values(obj) or frozenset() for key, obj in self.objects.items()}
        for value, keys in sorted(self.entries.items()):
            for key in sorted(keys):
                if key not in wanted:
                    return f"the index still has key {key} under {value!r}, but the object is deleted"
                if value not in wanted[key]:
                    now = sorted(wanted[key])
                    return f"the index has key {key} under {value!r}, but its object's values are {now!r}"
        for key, values in wanted.items():
            for value in sorted(values):
                if key not in self.entries.get(value, ()):
                    return f"the index lacks key {key} under {value!r}, one of its object's values"
        return None


def run_programs(
    function: Callable[[Any], Any],
    fuzzed_objects: Sequence[FuzzedObject],
    *,
    seconds: float,
    seed: int,
    on_call: Callable[[FuzzedObject], None] = lambda _: None,
) -> tuple[Evidence | None, int]:
    """Run random programs; return evidence of the first that leaves a wrong index, and the number of programs."""
    if not fuzzed_objects:
        return None, 0
    chance, end = random.Random(seed), time.monotonic() + seconds
    for number in itertools.count(1):
        program = [
            Step(chance.choice(_KEYS), chance.choice(fuzzed_objects) if chance.random() < 0.7 else None)
            for _ in range(_STEPS)
        ]
        on_call(program[0].fuzzed_object or fuzzed_objects[0])
        fault = _fault(function, program)
        if fault is not None:
            program = _fewest(function, program)
            minimal_fault = _fault(function, program) or fault
            steps = ", ".join(step.text() for step in program)
            return Evidence(
                Violation(Rule.CONSISTENT, minimal_fault),
                InputClass.VALID,
                Engine.PROGRAMS,
                tuple(step.fuzzed_object for step in program if step.fuzzed_object is not None),
                f"after: {steps}",
                {"keys": [step.key for step in program], "puts": [step.fuzzed_object is not None for step in program]},
            ), number
        if time.monotonic() > end:
            return None, number
    raise AssertionError


def replay_program(
    function: Callable[[Any], Any], keys: Sequence[str], puts: Sequence[bool], fuzzed_objects: Sequence[FuzzedObject]
) -> str | None:
    """Run the program of some evidence again; return the fault of the index, or ``None``."""
    objects = iter(fuzzed_objects)
    program = [Step(key, next(objects) if is_put else None) for key, is_put in zip(keys, puts, strict=True)]
    return _fault(function, program)


def _fault(function: Callable[[Any], Any], program: Sequence[Step]) -> str | None:
    index = _ClientGoIndex(function)
    for step in program:
        index.write(step.key, None if step.fuzzed_object is None else step.fuzzed_object.fresh())
        fault = index.fault()
        if fault is not None:
            return fault
    return None


def _fewest(function: Callable[[Any], Any], program: list[Step]) -> list[Step]:
    position = 0
    while position < len(program):
        shorter = program[:position] + program[position + 1 :]
        if shorter and _fault(function, shorter) is not None:
            program = shorter
        else:
            position += 1
    return program
