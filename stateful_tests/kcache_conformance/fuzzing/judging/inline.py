"""Judges what a function does with one object, within this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..objects.codec import NotPlainError, encode
from ..objects.specimen import Specimen, difference
from ..rules import Kind, Rule
from .breach import Breach
from .identity import IdentityRules
from .outcome import Answer, answer_of

_MARK = "kcache: put here by whoever got the list"
_MORE_CALLS = 8
_FAN_OUT_BASE = 64
_FAN_OUT_PER_SIZE = 4


@dataclass(frozen=True)
class Inline:
    """The rules that one process can check with one object.

    Attributes:
        function: what is fuzzed.
        kind: index or key function.
        most_values: how many values an object may have; ``None`` for a number in proportion to its size.
    """

    function: Callable[[Any], Any]
    kind: Kind
    most_values: int | None = None

    def answer(self, specimen: Specimen) -> Answer:
        """What the function gives for a new copy."""
        return answer_of(self.function, self.kind, specimen.fresh())[0]

    def breaches(self, specimen: Specimen) -> list[Breach]:
        """Every rule that the object shows to be broken. Calls the function about five times."""
        obj = specimen.fresh()
        first, returned = answer_of(self.function, self.kind, obj)
        changed = self._changed(specimen, obj)
        if changed is not None:
            return [Breach(Rule.PURE, f"it changed the object: {changed}"), *self._result(first, specimen)]
        found = list(self._result(first, specimen))
        again, _ = answer_of(self.function, self.kind, obj)
        if again.meaning != first.meaning:
            return [*found, Breach(Rule.REPEATABLE, f"first {first.text()}, then {again.text()} for the same object")]
        unequal = list(self._equal(first, specimen))
        if unequal:
            for _ in range(_MORE_CALLS):
                again, _returned = answer_of(self.function, self.kind, obj)
                if again.meaning != first.meaning:
                    what = f"first {first.text()}, later {again.text()} for the same object"
                    return [*found, Breach(Rule.REPEATABLE, what)]
        found += unequal
        if self.kind is Kind.INDEX:
            found += self._own_result(first, returned, obj, specimen)
        elif first.values is not None:
            found += IdentityRules(self.function).breaches(specimen, first)
        return found

    def _result(self, answer: Answer, specimen: Specimen) -> Iterator[Breach]:
        if answer.error:
            yield Breach(Rule.TOTAL, f"it raised {answer.error}")
        if answer.wrong:
            rule = Rule.RETURNS_LIST if self.kind is Kind.INDEX else Rule.RETURNS_STR
            yield Breach(rule, f"it returned {answer.wrong}")
        if self.kind is Kind.KEY or answer.values is None:
            return
        if len(set(answer.values)) < len(answer.values):
            yield Breach(Rule.DISTINCT, f"it returned {answer.text()}")
        most = self.most_values
        if most is None:
            most = _FAN_OUT_BASE + _FAN_OUT_PER_SIZE * specimen.size
        if len(answer.values) > most:
            yield Breach(Rule.FAN_OUT, f"it returned {len(answer.values):,} values for one object (at most {most:,})")

    def _equal(self, first: Answer, specimen: Specimen) -> Iterator[Breach]:
        copy = self.answer(specimen)
        if copy.meaning != first.meaning:
            yield Breach(Rule.EQUAL_OBJECTS, f"{first.text()}, but {copy.text()} for an equal object")
            return
        other = answer_of(self.function, self.kind, specimen.reordered())[0]
        if other.meaning != first.meaning:
            what = f"{first.text()}, but {other.text()} for an equal object whose dicts were filled in another order"
            yield Breach(Rule.EQUAL_OBJECTS, what)

    def _own_result(self, first: Answer, returned: Any, obj: Any, specimen: Specimen) -> Iterator[Breach]:
        if type(returned) is not list:
            return
        now = tuple(str.__str__(value) for value in returned if isinstance(value, str))
        if first.values is not None and (now != first.values or len(returned) != len(now)):
            yield Breach(Rule.OWN_RESULT, f"the list that it returned first was changed by later calls: {list(now)!r}")
            return
        returned.append(_MARK)
        try:
            if self._changed(specimen, obj) is not None:
                yield Breach(Rule.OWN_RESULT, "it returned a list that belongs to the object")
            elif _MARK in (self.answer(specimen).values or ()):
                yield Breach(Rule.OWN_RESULT, "it keeps the list that it returned, and returns it again")
        finally:
            while _MARK in returned:
                returned.remove(_MARK)

    def _changed(self, specimen: Specimen, obj: Any) -> str | None:
        if specimen.is_plain:
            try:
                return difference(specimen.canonical, encode(obj))
            except NotPlainError as error:
                return str(error)
        try:
            is_comparable = specimen.fresh() == specimen.original
            return "it is no longer equal to its copy" if is_comparable and obj != specimen.original else None
        except Exception:
            return None  # objects that cannot be compared say nothing
