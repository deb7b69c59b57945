"""Replay tokens: each one encodes a finding as one word that can be pasted into a command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kcache_model.blob import pack, unpack
from kcache_model.errors import FormatError
from kcache_model.finding import FindingKind

from ..engine.granularity import Granularity
from ..engine.schedule import Schedule, from_numbers, to_numbers

P = TypeVar("P")


@dataclass(frozen=True)
class ReplayToken(Generic[P]):
    """Data needed to reproduce a finding.

    Attributes:
        target: name of the implementation.
        program: the calls of the threads.
        kind: the kind of the failure.
        schedule: which thread ran for how many steps; empty if the program has one thread or ran on real threads.
        granularity: the points at which threads were switched; meaningful only if there is a schedule.
        fingerprint: the fingerprint of the instrumented sources; empty if there is no schedule.
        instrument: further packages that were instrumented.
        strict_errors: whether kcache's error types were required.
        is_strict: whether the target was judged by the strict contract.
    """

    target: str
    program: P
    kind: FindingKind
    schedule: Schedule = ()
    granularity: Granularity = Granularity.FREE
    fingerprint: str = ""
    instrument: tuple[str, ...] = ()
    strict_errors: bool = False
    is_strict: bool = False


@dataclass(frozen=True)
class TokenFormat(Generic[P]):
    """Text format of the replay tokens of a target type: a prefix, and compressed JSON in URL-safe base 64.

    Attributes:
        prefix: the beginning of each token.
        encode_program: converts a program to plain JSON data.
        decode_program: the inverse of ``encode_program``. If the data is damaged, it raises a FormatError, KeyError,
            TypeError, AttributeError or ValueError.
    """

    prefix: str
    encode_program: Callable[[P], Any]
    decode_program: Callable[[Any], P]

    def encode(self, token: ReplayToken[P]) -> str:
        """Return a token as one word."""
        data: dict[str, Any] = {
            "t": token.target,
            "p": self.encode_program(token.program),
            "k": token.kind.value,
        }
        if token.schedule:
            data["s"] = to_numbers(token.schedule)
            data["g"] = token.granularity.value
            data["f"] = token.fingerprint
        if token.instrument:
            data["i"] = list(token.instrument)
        if token.strict_errors:
            data["e"] = 1
        if token.is_strict:
            data["c"] = 1
        return pack(self.prefix, data)

    def decode(self, word: str) -> ReplayToken[P]:
        """Return the token of a word; the inverse of :meth:`encode`. A word can only contain plain data, never code.

        Raises:
            FormatError: the word is not a token of this format, is damaged, or is incomplete.
        """
        data = unpack(self.prefix, word, "replay token")
        try:
            return ReplayToken(
                target=_text(data["t"]),
                program=self.decode_program(data["p"]),
                kind=FindingKind(data["k"]),
                schedule=from_numbers(data.get("s", [])),
                granularity=Granularity(data.get("g", Granularity.FREE.value)),
                fingerprint=_text(data.get("f", "")),
                instrument=tuple(map(_text, data.get("i", ()))),
                strict_errors=bool(data.get("e")),
                is_strict=bool(data.get("c")),
            )
        except FormatError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise FormatError(f"the replay token does not hold a finding ({error!r}); copy all of it") from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text was expected, not {type(value).__name__}")
    return value
