"""A finding about a queue as one word that can be pasted into a command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kcache_model.blob import pack, unpack
from kcache_model.errors import FormatError
from kcache_model.finding import FindingKind
from kcache_model.queues.codec import decode_program, encode_program
from kcache_model.queues.program import QueueProgram
from kcache_stress.explorer.granularity import Granularity
from kcache_stress.explorer.schedule import Schedule, from_numbers, to_numbers

PREFIX = "kq1."


@dataclass(frozen=True)
class QueueToken:
    """What it takes to see a finding again.

    Attributes:
        target: name of the implementation.
        program: what was done; it says the kind of queue, too.
        kind: what went wrong.
        schedule: who ran for how many steps; empty if the program has one thread, or ran on real ones.
        fingerprint: of the instrumented sources, where there is a schedule.
        strict_errors: whether kcache's error types were asked for.
        granularity: where threads were switched.
        instrument: further packages that were instrumented.
    """

    target: str
    program: QueueProgram
    kind: FindingKind
    schedule: Schedule = ()
    fingerprint: str = ""
    strict_errors: bool = False
    granularity: Granularity = Granularity.FREE
    instrument: tuple[str, ...] = ()


def encode_token(token: QueueToken) -> str:
    """``kq1.`` and compressed JSON in URL-safe base 64."""
    data: dict[str, Any] = {"t": token.target, "p": encode_program(token.program), "k": token.kind.value}
    if token.schedule:
        data["s"] = to_numbers(token.schedule)
        data["g"] = token.granularity.value
        data["f"] = token.fingerprint
    if token.strict_errors:
        data["e"] = 1
    if token.instrument:
        data["i"] = list(token.instrument)
    return pack(PREFIX, data)


def decode_token(word: str) -> QueueToken:
    """The inverse of :func:`encode_token`. Nothing but plain data is ever made of a word.

    Raises:
        FormatError: the word is none of ours, damaged, or cut off.
    """
    data = unpack(PREFIX, word, "word of a queue")
    try:
        if not isinstance(data["t"], str):
            raise ValueError("bad target")
        return QueueToken(
            data["t"],
            decode_program(data["p"]),
            FindingKind(data["k"]),
            from_numbers(data.get("s", [])),
            str(data.get("f", "")),
            bool(data.get("e")),
            Granularity(data.get("g", Granularity.FREE.value)),
            tuple(map(str, data.get("i", ()))),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"the word does not hold a finding about a queue ({error!r}); copy all of it") from None
