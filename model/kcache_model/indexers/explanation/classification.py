"""Class of the anomaly that a refutation shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...anomaly import Anomaly
from ..just_in_time.contents import ABSENT, Term, Version
from ..just_in_time.reads import Read
from ..just_in_time.writes import Replace, WideWrite, Write
from .clauses import Clause, under_way
from .facts import Fact, FactKind, Writes, put_by
from .refutation import Refutation

WasShown = Callable[[Version], bool]

Terms = Callable[[Read], tuple[Term, ...]]
"""Read -> the index values that it looks up; empty if it does not look in an index."""


def classify(
    facts: Sequence[Fact], refutation: Refutation, writes: Writes, was_shown: WasShown, terms: Terms
) -> Anomaly:
    """Return the class of the anomaly.

    Args:
        facts: a smallest set of facts that no order explains.
        refutation: the refutation of these facts.
        writes: all writes.
        was_shown: whether some read had already shown a version.
        terms: returns the index values that a read looks up.
    """
    clause = _culprit(next(refutation.leaves()))
    write = clause.write
    if write is not None and _is_shown_in_part(write, clause, facts):
        if isinstance(write, Replace):
            return Anomaly.TORN_REPLACE
        if isinstance(write, WideWrite) or len({terms(fact.read) for fact in facts}) > 1:
            return Anomaly.HALF_APPLIED_WRITE
    match clause.fact.kind:
        case FactKind.RETURNED:
            return _overwritten(clause, was_shown, terms(clause.fact.read))
        case FactKind.LACKED:
            partial = _removed_in_part(clause) if len(facts) > 1 else None
            return partial or _lacking(clause, writes, was_shown)
        case _:
            return _nothing_there(clause.fact, writes, terms(clause.fact.read))


def _culprit(leaf: Refutation) -> Clause:
    """Return the clause that contradicts a read.

    If the clause of the leaf only says that the source of a read came before the read, return the clause of the first
    deduced step that forbids this order instead.
    """
    clause = leaf.clause
    if clause.is_source:
        ((source, read),) = clause.options[0].edges
        for edge in leaf.order.path(read, source):
            reason = leaf.order.reasons[edge]
            if reason is not None:
                return reason
    return clause


def _is_shown_in_part(write: Write, clause: Clause, facts: Sequence[Fact]) -> bool:
    """Whether another fact shows the effect of ``write``, and ``write`` had not returned before the read began."""
    if write.returned < clause.fact.read.invoked:
        return False
    return any(_shows(fact, write) for fact in facts if fact is not clause.fact)


def _shows(fact: Fact, write: Write) -> bool:
    if fact.kind is FactKind.RETURNED:
        return fact.version in write.versions()
    return fact.kind is FactKind.LACKED and fact.key is not None and write.at(fact.key) is ABSENT


def _removed_in_part(clause: Clause) -> Anomaly | None:
    """The class if the clause involves a write of several keys that had not returned before the read began.

    Such a write may have removed the missing object, but the other facts show that it had not taken effect. ``None`` if
    there is no such write.
    """
    for write in [write for option in clause.options[1:] for edge in option.edges for write in edge]:
        if isinstance(write, WideWrite) and write.returned >= clause.fact.read.invoked:
            return Anomaly.TORN_REPLACE if isinstance(write, Replace) else Anomaly.HALF_APPLIED_WRITE
    return None


def _overwritten(clause: Clause, was_shown: WasShown, terms: tuple[Term, ...]) -> Anomaly:
    assert clause.write is not None
    assert clause.key is not None
    new = put_by(clause.write, clause.key)
    if terms and not any(term in new.terms for term in terms):
        return Anomaly.GHOST_INDEX_VALUE
    if new is ABSENT:
        return Anomaly.RESURRECTED_OBJECT
    return Anomaly.STALE_READ if was_shown(new) else Anomaly.LOST_UPDATE


def _lacking(clause: Clause, writes: Writes, was_shown: WasShown) -> Anomaly:
    assert clause.write is not None
    assert clause.key is not None
    meanwhile = under_way(clause.fact, writes)
    if any(isinstance(write, Replace) for write in meanwhile):
        return Anomaly.TORN_REPLACE
    if meanwhile:
        return Anomaly.HALF_APPLIED_WRITE
    version = put_by(clause.write, clause.key)
    return Anomaly.VANISHED_OBJECT if was_shown(version) else Anomaly.LOST_UPDATE


def _nothing_there(fact: Fact, writes: Writes, terms: tuple[Term, ...]) -> Anomaly:
    keys = writes.keys if fact.key is None else [fact.key]
    ever = any(
        fact.allows(put_by(write, key))
        for key in keys
        for write in writes.of_key(key)
        if write.invoked <= fact.read.returned
    )
    if not ever:
        return Anomaly.PHANTOM
    return Anomaly.GHOST_INDEX_VALUE if terms else Anomaly.RESURRECTED_OBJECT
