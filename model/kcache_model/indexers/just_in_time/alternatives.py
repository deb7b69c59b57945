"""Decision of a read between alternatives: those that it excludes are dropped, or kept apart if still needed."""

from __future__ import annotations

from .configuration import Alternative, Configuration
from .reads import Read, ValuesRead


def decided(configuration: Configuration, read: Read) -> list[Configuration]:
    """Return configurations that together represent ``configuration``; none leaves open what ``read`` depends on.

    For each key, the alternatives that the read allows are separated from those that it forbids. The forbidden
    alternatives are dropped if they are not needed. The configuration itself may be changed and returned.
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
    """Whether the forbidden alternatives may first satisfy another open read, and an open write may then satisfy this.

    Otherwise the allowed alternatives explain everything that the forbidden ones explain: this read is linearized at
    once, and the write after it leads to the same contents.
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
    """Return one configuration for each undecided key that may supply ``value``.

    If an open write may supply the value, too, add a configuration in which no undecided key supplies it. If nothing
    has to be decided, return the configuration unchanged.
    """
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
