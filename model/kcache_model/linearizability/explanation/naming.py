"""Names of calls, versions and facts in an argument."""

from __future__ import annotations

from ...history import FINAL_THREAD, PREFIX_THREAD, Call, History
from ...render import brief_text, name_text, outcome_text
from ..just_in_time.reads import Get, KeysRead, ValuesRead
from .clauses import Event
from .facts import Fact, FactKind

_MOST_OBJECTS = 4

_ALONE = {PREFIX_THREAD: " (before the threads)", FINAL_THREAD: " (after the threads)"}


class Naming:
    """Names the calls of one argument: with the thread where they are first named, and wherever that is needed.

    Attributes:
        named: the positions of the calls that have been named, in that order.
    """

    def __init__(self, history: History) -> None:
        self._calls = history.calls
        self.named: dict[int, None] = {}

    def call(self, event: Event) -> str:
        """``update(a@v7)``, of thread 2 if that was not said yet."""
        position = event.position
        call = self._calls[position]
        text = _text(call)
        known = position in self.named
        self.named[position] = None
        alike = [other for other in self.named if other != position and self._same_text(other, text)]
        if known and not alike:
            return text
        if any(self._calls[other].thread == call.thread for other in alike):
            text += f" -> {outcome_text(call.outcome)}"
        return text + _thread_text(call)

    def _same_text(self, position: int, text: str) -> bool:
        return _text(self._calls[position]) == text


def said(fact: Fact) -> str:
    """What the read said: ``returned v1``."""
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
    """The call; of many objects, only how many they are."""
    operation = call.operation
    if len(operation.items) > _MOST_OBJECTS:
        return f"replace({len(operation.items)} objects)"
    if len(operation.entries) > _MOST_OBJECTS:
        return f"transaction({len(operation.entries)} writes)"
    return brief_text(operation)


def _thread_text(call: Call) -> str:
    return _ALONE.get(call.thread, f" of thread {call.thread + 1}")
