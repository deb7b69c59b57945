"""A refutation as sentences: each step of the order with its reason, and the observation that contradicts it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...history import FINAL_THREAD, PREFIX_THREAD, Call
from ...render import brief_text, name_text, outcome_text
from ..just_in_time.contents import ABSENT, Event
from ..just_in_time.reads import Get, KeysRead, ObjectsRead, ValuesRead
from ..just_in_time.writes import Write
from ..program import History
from .clauses import Clause, Edge, Option, last_explaining_write, under_way
from .facts import Fact, FactKind, Writes, put_by
from .precedence import Precedence
from .refutation import Refutation

_MOST_LEAVES: Final = 3
_MOST_STEPS: Final = 14
_MOST_CHARACTERS: Final = 1_000
_MOST_REASONS: Final = 4


_MOST_OBJECTS: Final = 4

_ALONE: Final = {PREFIX_THREAD: " (before the threads)", FINAL_THREAD: " (after the threads)"}


class Naming:
    """Names for the calls of one argument. A name includes the thread at first use, and if it is else ambiguous.

    Attributes:
        named: the positions of the calls that have been named, in the order of first use.
    """

    def __init__(self, history: History) -> None:
        self._calls = history.calls
        self.named: dict[int, None] = {}

    def call(self, event: Event) -> str:
        """The name of a call: ``update(a@v7)``, or ``update(a@v7) of thread 2`` at first use."""
        position = event.position
        call = self._calls[position]
        text = _text(call)
        known = position in self.named
        self.named[position] = None
        alike = [other for other in self.named if other != position and _text(self._calls[other]) == text]
        if known and not alike:
            return text
        if any(self._calls[other].thread == call.thread for other in alike):
            text += f" -> {outcome_text(call.outcome)}"
        return text + _ALONE.get(call.thread, f" of thread {call.thread + 1}")


def said(fact: Fact) -> str:
    """The fact as a predicate of the read: ``returned v1``."""
    match fact.kind:
        case FactKind.RETURNED:
            return f"returned {name_text(fact.version.stamp)}"
        case FactKind.HAD_KEY:
            return f"returned the key {name_text(fact.key or '')}"
        case FactKind.HAD_VALUE:
            return f"returned the value {name_text(fact.term[1])}"
        case FactKind.LACKED:
            key = name_text(fact.key or "")
            match fact.read:
                case Get():
                    return f"found no object under key {key}"
                case KeysRead():
                    return f"did not return the key {key}"
                case ValuesRead():
                    return f"did not return the values of key {key}"
                case _:
                    return f"did not return the object of key {key}"


def _text(call: Call) -> str:
    """Text of the call; if it has many objects, only their number."""
    operation = call.operation
    if len(operation.items) > _MOST_OBJECTS:
        return f"replace({len(operation.items)} objects)"
    if len(operation.entries) > _MOST_OBJECTS:
        return f"transaction({len(operation.entries)} writes)"
    return brief_text(operation)


class TooLong(Exception):
    """The argument is too long to be read."""


def argument(refutation: Refutation, naming: Naming, writes: Writes) -> str:
    """Return the refutation in words.

    Raises:
        TooLong: it has too many cases, steps, reasons or characters.
    """
    if sum(1 for _ in refutation.leaves()) > _MOST_LEAVES:
        raise TooLong
    text = _Teller(naming, writes).text(refutation)
    if len(text) > _MOST_CHARACTERS:
        raise TooLong
    return text


class _Teller:
    def __init__(self, naming: Naming, writes: Writes) -> None:
        self._name = naming.call
        self._writes = writes
        self._known: set[Edge] = set()
        self._steps = 0

    def text(self, refutation: Refutation) -> str:
        if not refutation.cases:
            return self._contradiction(refutation.order, refutation.clause)
        parts = []
        clause = refutation.clause
        for option, case in refutation.cases:
            known = self._known.copy()
            self._known.update(option.edges)
            parts.append(f"if {self._supposition(clause, option)}, then {self.text(case)}")
            self._known = known
        supposed = [option for option, _ in refutation.cases]
        others = self._exclusions(refutation.order, [option for option in clause.options if option not in supposed])
        return f"{'; or else '.join(parts)}; there is no other possibility{_in_brackets(others)}"

    def _supposition(self, clause: Clause, option: Option) -> str:
        if option.key is not None:
            ((source, read),) = option.edges
            explained = f"{self._name(read)} {said(clause.fact)} because of"
            return f"{explained} the object that {self._name(source)} put under key {name_text(option.key)}"
        return " and ".join(f"{self._name(first)} came before {self._name(second)}" for first, second in option.edges)

    def _contradiction(self, order: Precedence, clause: Clause) -> str:
        fact, write = clause.fact, clause.write
        claim = f"{self._name(fact.read)} {said(fact)}"
        if write is None:
            return f"{claim}, but {self._unexplained(order, clause)}"
        if fact.kind is FactKind.LACKED:
            claim = f"{claim}, but {self._name(write)} had put it there{self._by_then(order, write, fact.read)}"
            removers = [self._not_between(order, option, write) for option in clause.options[1:]]
            rest = f" in between: {_listed(removers)}" if removers else ""
            return f"{claim}; nothing removed it{rest}{self._meanwhile(fact)}"
        ((first, second),) = clause.options[0].edges
        if clause.is_source:
            return f"{claim}, but came before {self._name(first)}: {self._why(order, second, first)}"
        only = "" if fact.kind is FactKind.RETURNED else self._only(order, clause, second)
        gone = f"but {self._name(write)} had {_what_it_did(clause)} it{self._by_then(order, write, fact.read)}"
        after = f"it came after {self._name(second)}{self._as(order, second, write)}"
        again = "nothing wrote it again" if fact.kind is FactKind.RETURNED else "nothing put it back"
        return f"{claim}{only}, {gone}; {after}; {again}"

    def _only(self, order: Precedence, clause: Clause, source: Event) -> str:
        """Explain why only the write ``source`` can be the source of the read."""
        others = [option for option in clause.peers if option.edges[0][0] is not source]
        return f", which only {self._name(source)} can explain{_in_brackets(self._exclusions(order, others))}"

    def _exclusions(self, order: Precedence, options: Sequence[Option]) -> list[str]:
        """Explain why each option is impossible; options that are not forbidden by the order are left out."""
        exclusions = []
        for option in options:
            for first, second in option.edges:
                if order.forbids((first, second)):
                    exclusions.append(f"not {self._name(first)}, as {self._why(order, second, first)}")
                    break
        return exclusions

    def _meanwhile(self, fact: Fact) -> str:
        writes = under_way(fact, self._writes)
        if not writes:
            return ""
        was = "was" if len(writes) == 1 else "were"
        return f"; {' and '.join(map(self._name, writes[:_MOST_REASONS]))} {was} under way"

    def _by_then(self, order: Precedence, write: Event, read: Event) -> str:
        if order.is_real_time(write, read):
            return f" and had returned before {self._name(read)} began"
        return f" before: {self._why(order, write, read)}"

    def _as(self, order: Precedence, first: Event, second: Event) -> str:
        if order.is_real_time(first, second):
            return ", which had returned before it began"
        return f", as {self._why(order, first, second)}"

    def _unexplained(self, order: Precedence, clause: Clause) -> str:
        fact = clause.fact
        reasons = []
        for option in clause.options:
            first, second = next(edge for edge in option.edges if order.forbids(edge))
            reasons.append(f"{self._name(first)} came later, as {self._why(order, second, first)}")
        if reasons:
            return f"there was no such object: {_listed(reasons)}"
        gone = last_explaining_write(fact, self._writes)
        if gone is None:
            return "no write that had begun before put it there"
        write, remover = gone
        return (
            f"{self._name(remover)} had returned before {self._name(fact.read)} began, and came after "
            f"{self._name(write)}, the last write that put it there"
        )

    def _not_between(self, order: Precedence, option: Option, write: Write) -> str:
        """Explain why the remover of ``option`` did not come between ``write`` and the read."""
        for first, second in option.edges:
            if order.forbids((first, second)):
                remover = second if first is write else first
                side = "before" if first is write else "after"
                return f"{self._name(remover)} came {side} that: {self._why(order, second, first)}"
        raise TooLong

    def _why(self, order: Precedence, first: Event, second: Event, before: int | None = None) -> str:
        """Explain why ``first`` took effect before ``second``, with the steps before number ``before`` only."""
        return ", and ".join(self._step(order, edge) for edge in order.path(first, second, before))

    def _step(self, order: Precedence, edge: Edge) -> str:
        first, second = edge
        reason = order.reasons[edge]
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise TooLong
        if reason is None:
            return f"{self._name(first)} had returned before {self._name(second)} began"
        if edge in self._known:
            return f"{self._name(first)} came before {self._name(second)}"
        self._known.add(edge)
        return self._deduced(order, edge, reason)

    def _deduced(self, order: Precedence, edge: Edge, clause: Clause) -> str:
        fact = clause.fact
        first, second = edge
        read = self._name(fact.read)
        if len(clause.options) == 1 and not clause.options[0].clauses and second is fact.read:
            return f"{read} {said(fact)}, which {self._name(first)} wrote"
        number = order.number(edge)
        others = [option for option in clause.options if edge not in option.edges]
        because = [self._excluded(order, option, number) for option in others if option.edges]
        as_ = f" (as {_listed(because)})" if because else ""
        earlier = "it" if first is fact.read else self._name(first)
        return f"{read} {said(fact)}, so {earlier} came before {self._name(second)}{as_}"

    def _excluded(self, order: Precedence, option: Option, number: int) -> str:
        """Explain why another option was already impossible when the step of ``number`` was deduced."""
        for first, second in option.edges:
            if first is second:
                continue
            try:
                return self._why(order, second, first, number)
            except KeyError:
                continue
        raise TooLong


def _what_it_did(clause: Clause) -> str:
    """The effect of the write on the version that the read returned: ``removed``, ``replaced`` or ``moved``."""
    assert clause.write is not None
    assert clause.key is not None
    version, read = put_by(clause.write, clause.key), clause.fact.read
    if version is ABSENT:
        return "removed"
    return "replaced" if not isinstance(read, ObjectsRead) or read.selection.takes(version) else "moved"


def _listed(reasons: Sequence[str]) -> str:
    """Join the reasons.

    Raises:
        TooLong: there are too many reasons.
    """
    if len(reasons) > _MOST_REASONS:
        raise TooLong
    return "; ".join(reasons)


def _in_brackets(reasons: Sequence[str]) -> str:
    return f" ({_listed(reasons)})" if reasons else ""
