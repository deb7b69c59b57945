"""Replay tokens: findings as one word each, which can be pasted into a command line."""

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
    """What it takes to see a finding again.

    Attributes:
        target: name of the implementation.
        program: what was done.
        kind: what went wrong.
        schedule: who ran for how many steps; empty if the program has one thread, or ran on real ones.
        granularity: where threads were switched, where there is a schedule.
        fingerprint: of the instrumented sources, likewise.
        instrument: further packages that were instrumented.
        strict_errors: whether kcache's error types were asked for.
    """

    target: str
    program: P
    kind: FindingKind
    schedule: Schedule = ()
    granularity: Granularity = Granularity.FREE
    fingerprint: str = ""
    instrument: tuple[str, ...] = ()
    strict_errors: bool = False


@dataclass(frozen=True)
class TokenFormat(Generic[P]):
    """How the replay tokens of a target type are written: a prefix, and compressed JSON in URL-safe base 64.

    Attributes:
        prefix: how they begin.
        encode_program: a program as plain JSON.
        decode_program: its inverse. Raises FormatError, or what damaged data leads to.
    """

    prefix: str
    encode_program: Callable[[P], Any]
    decode_program: Callable[[Any], P]

    def encode(self, token: ReplayToken[P]) -> str:
        """The word for a token."""
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
        return pack(self.prefix, data)

    def decode(self, word: str) -> ReplayToken[P]:
        """The inverse of :meth:`encode`. Nothing but plain data is ever made of a word.

        Raises:
            FormatError: the word is none of these, damaged, or cut off.
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
            )
        except FormatError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise FormatError(f"the replay token does not hold a finding ({error!r}); copy all of it") from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text was expected, not {type(value).__name__}")
    return value
