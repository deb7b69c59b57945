"""Program of an interleaved test: the test body defines the threads; the program holds parameters and hash seed."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from .call_program import HASH_SEEDS, CallProgram, Cancelled
from .decoding import is_integer
from .errors import FormatError

_FIELDS: Final = frozenset(
    {"hash_seed", "parameters", "path", "usual", "divisor", "timeouts", "cancel", "cancelled", "loop"}
)


class Timeouts(enum.StrEnum):
    """The contract about waits with a timeout: when they may end although another thread can go on."""

    USUAL = "usual"
    """A wait of a thread of 50 ms or more never ends early: the other threads are not that slow. A timer of an event
    loop may be due at any iteration, because a callback may be slow."""
    PATIENT = "patient"
    """A wait of 50 ms or more never ends early, in event loops neither."""
    ANY_TIME = "any-time"
    """Each wait may end at any moment: the other threads may be slow, or the machine busy."""


class LoopContract(enum.StrEnum):
    """The contract about event loops: in which order callbacks run. Each one allows all that those above it allow."""

    ASYNCIO = "asyncio"
    """In the order in which they became ready."""
    ANY_LOOP = "any-loop"
    """In any order of those that are ready, as in trio, which shuffles them."""
    IDEAL = "ideal"
    """In any order, and each wait may take any time: code that needs no loop's promises at all."""


LOOP_CONTRACTS: Final[Mapping[LoopContract, str]] = {
    LoopContract.ASYNCIO: "callbacks run in the order in which they became ready, as in asyncio",
    LoopContract.ANY_LOOP: "callbacks that are ready may run in any order",
    LoopContract.IDEAL: "callbacks may run in any order, and timers may be late by any time",
}
"""Contract -> the assumption of a proof about event loops."""


def cancelled_text(number: int, what: str, cancelled: Cancelled = Cancelled.USUAL) -> str:
    """Return the assumption of a proof about cancellations from outside: ``no task is cancelled from outside``.

    Args:
        number: the number of cancellations in one execution.
        what: what is cancelled: ``task`` or ``call``.
        cancelled: which of them are cancelled, and what may come of it.
    """
    if not number:
        return f"no {what} is cancelled from outside"
    effect = ", which then must have no effect" if cancelled is Cancelled.STRICT else ""
    which = ", of the test or of a package," if cancelled is Cancelled.ANY else ""
    are = f"{what}{which} is" if number == 1 else f"{what}s{which} are"
    return f"at most {number} {are} cancelled from outside{effect}"


@dataclass(frozen=True)
class InterleavedProgram(CallProgram[Any]):
    """The one program of a test.

    Attributes:
        hash_seed: ``PYTHONHASHSEED`` of the process that runs the test.
        parameters: name of each parameter of the test -> position of its value in the list of parametrized values.
        import_path: the recorded import path of the process that ran the test; empty if the usual path is used.
        usual: exceptions, each with its place, that end threads in passing runs. Only other exceptions are failures.
        divisor: the number by which the counts in the test are divided; 1 leaves the test as it is written.
        timeouts: when waits with a timeout may end; ``None`` for what the test declares.
        cancellations: number of cancellations of tasks in one execution; ``None`` for what the test declares.
        cancelled: which tasks are cancelled; ``None`` for what the test declares.
        loop: the order in which ready callbacks of an event loop run; ``None`` for what the test declares.
    """

    prefix: tuple[Any, ...] = ()
    threads: tuple[tuple[Any, ...], ...] = ()
    hash_seed: int = 0
    parameters: Mapping[str, int] = field(default_factory=dict, hash=False)
    import_path: tuple[str, ...] = ()
    usual: tuple[str, ...] = ()
    divisor: int = 1
    timeouts: Timeouts | None = None
    cancellations: int | None = None
    cancelled: Cancelled | None = None
    loop: LoopContract | None = None

    def with_hash_seed(self, seed: int) -> InterleavedProgram:
        """Return this program for a process with another hash seed."""
        return replace(self, hash_seed=seed)


def encode_program(program: InterleavedProgram) -> dict[str, Any]:
    """Return the program as plain JSON."""
    data = {
        "hash_seed": program.hash_seed,
        "parameters": dict(program.parameters),
        "path": list(program.import_path),
        "usual": list(program.usual),
        "divisor": program.divisor if program.divisor > 1 else 0,
    }
    set_by_the_user = {
        "timeouts": program.timeouts,
        "cancel": program.cancellations,
        "cancelled": program.cancelled,
        "loop": program.loop,
    }
    return {name: value for name, value in data.items() if value} | {
        name: value for name, value in set_by_the_user.items() if value is not None
    }


def decode_program(data: Any) -> InterleavedProgram:
    """Return the program that :func:`encode_program` encoded.

    Raises:
        FormatError: ``data`` has unknown fields or malformed values.
    """
    is_known = isinstance(data, dict) and not data.keys() - _FIELDS
    known: dict[str, Any] = data if is_known else {"hash_seed": None}
    seed, parameters = known.get("hash_seed", 0), known.get("parameters", {})
    path, usual, divisor = known.get("path", []), known.get("usual", []), known.get("divisor", 1)
    timeouts, cancellations, cancelled = known.get("timeouts"), known.get("cancel"), known.get("cancelled")
    loop = known.get("loop")
    is_named = isinstance(parameters, dict) and all(map(is_integer, parameters.values()))
    are_texts = all(isinstance(some, list) and all(isinstance(one, str) for one in some) for some in (path, usual))
    are_numbers = is_integer(seed) and 0 <= seed < HASH_SEEDS and is_integer(divisor) and divisor > 0
    are_numbers = are_numbers and (cancellations is None or (is_integer(cancellations) and cancellations >= 0))
    are_contracts = timeouts in [None, *Timeouts] and loop in [None, *LoopContract]
    are_contracts = are_contracts and cancelled in [None, *Cancelled]
    if not (are_numbers and is_named and are_texts and are_contracts):
        raise FormatError(
            "the program of a test holds only a hash seed, the positions of its parameters, an import path, the usual "
            "ends of its threads, a divisor of its counts, a number of cancellations, and contracts about timeouts, "
            "cancellations and loops"
        )
    return InterleavedProgram(
        hash_seed=seed,
        parameters=parameters,
        import_path=tuple(path),
        usual=tuple(usual),
        divisor=divisor,
        timeouts=None if timeouts is None else Timeouts(timeouts),
        cancellations=cancellations,
        cancelled=None if cancelled is None else Cancelled(cancelled),
        loop=None if loop is None else LoopContract(loop),
    )
