"""Explainer: builds the argument why no order explains a history."""

from __future__ import annotations

import functools
from collections.abc import Collection
from dataclasses import dataclass

from ...anomaly import Anomaly
from ...history import Call
from ..just_in_time.contents import Term, Time, Version
from ..just_in_time.reads import Impossible, Read
from ..just_in_time.translation import Translator
from ..just_in_time.writes import Write
from ..operations import OperationName
from ..program import History
from .argument import Naming, TooLong, argument
from .classification import classify
from .facts import Writes, facts_of, shows
from .refutation import refuted_by_fewest
from .wrong_outcome import wrong_outcome


@dataclass(frozen=True)
class Explanation:
    """The explanation why no order explains a history.

    Attributes:
        anomaly: the class of the anomaly.
        argument: the argument, as one sentence or a few; empty if it would be too long to read.
        calls: the calls that the argument names, in the order of their invocations. They are already impossible
            together with the invocations and responses of all other writes.
    """

    anomaly: Anomaly
    argument: str
    calls: tuple[Call, ...]


class Explainer:
    """Explanations why a history is impossible. The constructor takes O(calls).

    Args:
        history: the calls.
        strict_errors: require kcache's error types.

    Raises:
        Unsuitable: the just-in-time checker cannot judge the history.
    """

    def __init__(self, history: History, *, strict_errors: bool = False) -> None:
        translator = Translator(tuple(sorted(set(history.indexes))), history.semantics, strict_errors=strict_errors)
        calls = list(enumerate(history.calls))
        calls.sort(key=lambda positioned: positioned[1].invoked)
        begun = translator.translate(calls, 0, len(calls)).begun if calls else ()
        self._history = history
        self._strict_errors = strict_errors
        self._writes = Writes(call for call in begun if isinstance(call, Write))
        self._reads = {call.position: call for call in begun if isinstance(call, Read)}

    def explain(self, accused: Collection[int], seconds: float = 1.0) -> Explanation | None:
        """Return the explanation why the results of some calls are impossible; ``None`` if none was found in time.

        Args:
            accused: the positions of the calls.
            seconds: limit of wall-clock time for the search for a small set of facts.
        """
        reads = sorted([self._reads[at] for at in accused if at in self._reads], key=lambda read: -read.returned)
        for read in reads:
            if isinstance(read, Impossible):
                call = self._history.calls[read.position]
                anomaly, text = wrong_outcome(
                    self._history, call, self._writes.versions, strict_errors=self._strict_errors
                )
                return Explanation(anomaly, text, (call,))
        facts = [fact for read in reads for fact in facts_of(read, self._writes)]
        result = refuted_by_fewest(facts, self._writes, seconds)
        if result is None:
            return None
        few, refutation = result
        end = max(fact.read.returned for fact in few)
        was_shown = functools.partial(self._was_shown, end)
        anomaly = classify(few, refutation, self._writes, was_shown, self._terms)
        naming = Naming(self._history)
        try:
            text = argument(refutation, naming, self._writes)
        except TooLong:
            return Explanation(anomaly, "", ())
        named = sorted([self._history.calls[at] for at in naming.named], key=lambda call: call.invoked)
        return Explanation(anomaly, f"{text}; so no order explains it", tuple(named))

    def _was_shown(self, end: Time, version: Version) -> bool:
        """Whether a read that returned by ``end`` showed ``version``.

        It returned the version; or it began after the write was invoked, and returned the key or an index value of it.
        """
        return any(
            version in read.versions or (read.invoked > version.written and shows(read, version))
            for read in self._reads.values()
            if read.returned <= end
        )

    def _terms(self, read: Read) -> tuple[Term, ...]:
        operation = self._history.calls[read.position].operation
        index = operation.index
        if index is None:
            return ()
        if operation.name is OperationName.INDEX and operation.item is not None:
            return tuple([(index, value) for value in operation.item.values.get(index) or ()])
        return ((index, operation.value or ""),)
