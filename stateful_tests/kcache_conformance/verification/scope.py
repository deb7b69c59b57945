"""The programs of a bound, split into batches; programs of earlier runs are skipped."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice
from typing import Any, Final

from kcache_model.errors import FormatError
from kcache_stress.interruption import is_interrupted

from ..results.exploration_outcomes import Part, Ranges, Tally
from ..targets.target_types import target_type_named
from .batch import Batch
from .parts import as_ranges, first_of, joined, remaining_items, size_of

_BATCH_PROGRAMS: Final = 600
_FEWEST_PROGRAMS: Final = 50
_BATCHES_PER_JOB: Final = 2
_LONGEST_BATCH_SECONDS: Final = 3600.0
_SIGNED_EVERY: Final = 16


class Scope:
    """An enumeration of programs, with the positions of the explored ones.

    Args:
        template: a batch without programs.
        programs: all programs of the bound, in the same order each time.
        deadline: when the enumeration ends early, on the clock of ``time.monotonic``.
        part: the work of earlier runs, and the number of programs, if it is known.
        jobs: the number of processes that share the programs.
    """

    def __init__(self, template: Batch, programs: Iterator[Any], deadline: float, part: Part, jobs: int) -> None:
        self._template, self._programs, self._deadline, self._part = template, programs, deadline, part
        self._encode = target_type_named(template.type).codec.encode_program
        self._dealt: dict[int, Ranges] = {}
        self._explored = list(part.explored)
        self._count, self._digest, self._signature = 0, hashlib.sha256(), part.signature
        self._total = part.programs
        share = _BATCH_PROGRAMS if self._total is None or jobs == 1 else self._total // (jobs * _BATCHES_PER_JOB)
        self._batch_programs = min(max(share, _FEWEST_PROGRAMS), _BATCH_PROGRAMS)

    def batches(self) -> Iterator[Batch]:
        """Yield batches of the remaining programs.

        Raises:
            FormatError: the programs differ from the programs of earlier runs.
        """
        remaining = remaining_items(self._enumerated(), self._part.explored)
        for number in count():
            some = tuple(islice(remaining, self._batch_programs))
            if not some:
                break
            self._dealt[number] = as_ranges(position for position, _ in some)
            seconds = min(self._deadline - time.monotonic(), _LONGEST_BATCH_SECONDS)
            yield replace(self._template, programs=tuple(program for _, program in some), seconds=seconds)
        if time.monotonic() <= self._deadline and not is_interrupted():  # neither has ended them
            self._compare()
            self._total = self._count

    def note(self, number: int, tally: Tally) -> None:
        """Record the tally of a batch: its first programs were explored, in their order."""
        self._explored += first_of(self._dealt.pop(number), tally.programs)

    def reached(self) -> Part:
        """Return the work of all runs."""
        signed = max(self._signature, (self._count, self._digest.hexdigest()))
        explored, total = joined(self._explored), self._total
        if size_of(explored) == total and self._count < self._signature[0]:
            total = None  # nothing is left, but that these are the programs of earlier runs nobody has seen
        return replace(self._part, explored=explored, programs=total, signature=signed)

    def _enumerated(self) -> Iterator[Any]:
        for program in self._programs:
            self._compare()
            if self._count % _SIGNED_EVERY == 0:  # all would take a third of the time in which they are made
                self._digest.update(json.dumps(self._encode(program), sort_keys=True).encode())
            self._count += 1
            yield program

    def _compare(self) -> None:
        """Raise an error if the programs differ from the programs that the signature covers."""
        size, digest = self._signature
        if self._count == size and digest != self._digest.hexdigest():
            raise FormatError(
                "the programs of the bound differ from the programs of the earlier runs: their generator was changed, "
                "or its order varies; start again without --resume"
            )
