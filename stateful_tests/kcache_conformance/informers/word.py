"""A finding about an informer as one word that can be pasted into a command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from kcache_model.blob import pack, unpack
from kcache_model.errors import FormatError
from kcache_model.finding import FindingKind
from kcache_model.informers.program import InformerProgram
from kcache_stress.explorer.granularity import Granularity
from kcache_stress.explorer.schedule import Schedule, from_numbers, to_numbers

PREFIX: Final = "ki1."


@dataclass(frozen=True)
class InformerToken:
    """What it takes to see a finding again.

    Attributes:
        target: name of the implementation.
        program: what happened.
        kind: what went wrong.
        schedule: who ran for how many steps; empty if it was found with real threads.
        granularity: where threads were switched.
        fingerprint: of the instrumented sources, where there is a schedule.
        instrument: further packages that were instrumented.
    """

    target: str
    program: InformerProgram
    kind: FindingKind
    schedule: Schedule = ()
    granularity: Granularity = Granularity.SYNC
    fingerprint: str = ""
    instrument: tuple[str, ...] = ()


def encode_token(token: InformerToken) -> str:
    """``ki1.`` and compressed JSON in URL-safe base 64."""
    data: dict[str, Any] = {"t": token.target, "p": token.program.encode(), "k": token.kind.value}
    if token.schedule:
        data["s"] = to_numbers(token.schedule)
        data["g"] = token.granularity.value
        data["f"] = token.fingerprint
    if token.instrument:
        data["i"] = list(token.instrument)
    return pack(PREFIX, data)


def decode_token(word: str) -> InformerToken:
    """The inverse of :func:`encode_token`. Nothing but plain data is ever made of a word.

    Raises:
        FormatError: the word is none of ours, damaged, or cut off.
    """
    data = unpack(PREFIX, word, "word of an informer")
    try:
        if not isinstance(data["t"], str):
            raise ValueError("bad target")
        return InformerToken(
            data["t"],
            InformerProgram.decode(data["p"]),
            FindingKind(data["k"]),
            from_numbers(data.get("s", [])),
            Granularity(data.get("g", Granularity.SYNC.value)),
            str(data.get("f", "")),
            tuple(map(str, data.get("i", ()))),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise FormatError(f"the word does not hold a finding about an informer ({error!r}); copy all of it") from None
