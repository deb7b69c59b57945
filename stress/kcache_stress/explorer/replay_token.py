"""A counterexample as one word that can be pasted into a command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kcache_model.blob import pack, unpack
from kcache_model.codec import decode_program, encode_program
from kcache_model.errors import FormatError
from kcache_model.finding import FindingKind
from kcache_model.program import Program

from .granularity import Granularity
from .schedule import Schedule, from_numbers, to_numbers

PREFIX = "kx1."


@dataclass(frozen=True)
class Token:
    """What it takes to follow a schedule again.

    Attributes:
        target: name of the implementation.
        program: what its threads did.
        schedule: who ran for how many steps.
        granularity: where threads were switched.
        kind: what went wrong.
        fingerprint: of the instrumented sources.
        instrument: further packages that were instrumented.
        strict_errors: whether kcache's error types were asked for.
    """

    target: str
    program: Program
    schedule: Schedule
    granularity: Granularity
    kind: FindingKind
    fingerprint: str
    instrument: tuple[str, ...] = ()
    strict_errors: bool = False


def encode_token(token: Token) -> str:
    """``kx1.`` and compressed JSON in URL-safe base 64."""
    data: dict[str, Any] = {
        "t": token.target,
        "p": encode_program(token.program),
        "s": to_numbers(token.schedule),
        "g": token.granularity.value,
        "k": token.kind.value,
        "f": token.fingerprint,
    }
    if token.instrument:
        data["i"] = list(token.instrument)
    if token.strict_errors:
        data["e"] = 1
    return pack(PREFIX, data)


def decode_token(word: str) -> Token:
    """The inverse of :func:`encode_token`. Nothing but plain data is ever made of a token.

    Raises:
        FormatError: the word is none of ours, damaged, or cut off.
    """
    data = unpack(PREFIX, word, "word of the explorer")
    try:
        return _token(data)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise FormatError(f"the word does not hold a counterexample ({error!r}); copy all of it") from None


def _token(data: dict[str, Any]) -> Token:
    return Token(
        target=_text(data["t"]),
        program=decode_program(data["p"]),
        schedule=from_numbers(data["s"]),
        granularity=Granularity(data["g"]),
        kind=FindingKind(data["k"]),
        fingerprint=_text(data["f"]),
        instrument=tuple(map(_text, data.get("i", ()))),
        strict_errors=bool(data.get("e")),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text was expected, not {type(value).__name__}")
    return value
