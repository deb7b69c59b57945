"""A read decides between alternatives: those that it rules out are given up, or kept apart if still of use."""

from __future__ import annotations

from .configuration import Alternative, Configuration
from .reads import Read, ValuesRead


def decided(configuration: Configuration, read: Read) -> list[Configuration]:
    """Configurations that together stand for ``configuration``, with nothing left open that ``read`` depends on.

    For each key, the alternatives that the read allows are parted from those that it forbids. The latter are dropped
    where the former do as well. The configuration itself may be changed and returned.
    """
    parts = [configuration]
    for key in [*read.scope(configuration.alternatives)]:
        alternatives = configuration.alternatives[key]
        allowed = tuple([each for each in alternatives if read.allows(key, each[0])])
        if not allowed or len(allowed) == len(alternatives):
            continue
        forbidden = tuple([each for each in alternatives if not read.allows(key, each[0])])
        others: list[Configuration] = []
        if _are_needed(configuration, read, key, allowed, forbidden):
            others = [_restricted(part.copy(), {key: forbidden}) for part in parts]
        for part in parts:
            part.restrict(key, allowed)
        parts += others
    if isinstance(read, ValuesRead):
        for value in read.values:
            parts = [decided_part for part in parts for decided_part in _with_supplier(part, read, value)]
    return parts


def _restricted(configuration: Configuration, choices: dict[str, tuple[Alternative, ...]]) -> Configuration:
    for key, alternatives in choices.items():
        configuration.restrict(key, alternatives)
    return configuration


def _are_needed(
    configuration: Configuration,
    read: Read,
    key: str,
    allowed: tuple[Alternative, ...],
    forbidden: tuple[Alternative, ...],
) -> bool:
    """Whether the forbidden alternatives may serve another open read first, and an open write may then help this one.

    Otherwise the allowed ones explain whatever the forbidden ones do: this read is linearized at once, and the
    write after it leads to the same contents.
    """
    if not any(
        (version := write.at(key)) is not None and read.allows(key, version) for write in configuration.open_writes()
    ):
        return False
    return any(
        other is not read
        and any(other.allows(key, version) for version, _ in forbidden)
        and (isinstance(other, ValuesRead) or not all(other.allows(key, version) for version, _ in allowed))
        for other in configuration.unsatisfied
    )


def _with_supplier(configuration: Configuration, read: ValuesRead, value: str) -> list[Configuration]:
    """One configuration for each undecided key that may supply ``value``; and one for no key, if a write may do so."""
    if not configuration.alternatives or configuration.surely_has(read.index, value):
        return [configuration]
    term = (read.index, value)
    supplying: dict[str, tuple[Alternative, ...]] = {}
    lacking: dict[str, tuple[Alternative, ...]] = {}
    for key, alternatives in configuration.alternatives.items():
        with_value = tuple([each for each in alternatives if term in each[0].terms])
        if with_value:
            supplying[key] = with_value
            lacking[key] = tuple([each for each in alternatives if term not in each[0].terms])
    if not supplying:
        return [configuration]
    parts = [_restricted(configuration.copy(), {key: with_value}) for key, with_value in supplying.items()]
    if any(write.supplies(read.index, value) for write in configuration.open_writes()):
        parts.append(_restricted(configuration, lacking))
    return parts
