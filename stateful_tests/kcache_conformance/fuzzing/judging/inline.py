"""Judge of a function's calls with one object, within this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..objects.fuzzed_object import FuzzedObject, difference
from ..objects.trees import NotPlainError, encode
from ..rules import Kind, Rule
from .identity import IdentityRules
from .outcome import Answer, answer_of
from .violation import Violation

_MARK = "kcache: added by the caller that received the list"
_MORE_CALLS = 8
_FAN_OUT_BASE = 64
_FAN_OUT_PER_SIZE = 4


@dataclass(frozen=True)
class Inline:
    """The rules that one process can check with one object.

    Attributes:
        function: the fuzzed function.
        kind: index or key function.
        most_values: the maximum number of values of an object; ``None`` for a number in proportion to its size.
    """

    function: Callable[[Any], Any]
    kind: Kind
    most_values: int | None = None

    def answer(self, fuzzed_object: FuzzedObject) -> Answer:
        """Return the answer of the function for a new copy of the object."""
        return answer_of(self.function, self.kind, fuzzed_object.fresh())[0]

    def violations(self, fuzzed_object: FuzzedObject) -> list[Violation]:
        """Return the violations by the object. Calls the function about five times."""
        obj = fuzzed_object.fresh()
        first, returned = answer_of(self.function, self.kind, obj)
        changed = self._changed(fuzzed_object, obj)
        if changed is not None:
            return [Violation(Rule.PURE, f"it changed the object: {changed}"), *self._result(first, fuzzed_object)]
        all_violations = list(self._result(first, fuzzed_object))
        again, _ = answer_of(self.function, self.kind, obj)
        if again.meaning != first.meaning:
            return [
                *all_violations,
                Violation(Rule.REPEATABLE, f"first {first.text()}, then {again.text()} for the same object"),
            ]
        unequal = list(self._equal(first, fuzzed_object))
        if unequal:
            for _ in range(_MORE_CALLS):
                again, _returned = answer_of(self.function, self.kind, obj)
                if again.meaning != first.meaning:
                    what = f"first {first.text()}, later {again.text()} for the same object"
                    return [*all_violations, Violation(Rule.REPEATABLE, what)]
        all_violations += unequal
        if self.kind is Kind.INDEX:
            all_violations += self._own_result(first, returned, obj, fuzzed_object)
        elif first.values is not None:
            all_violations += IdentityRules(self.function).violations(fuzzed_object, first)
        return all_violations

    def _result(self, answer: Answer, fuzzed_object: FuzzedObject) -> Iterator[Violation]:
        if answer.error:
            yield Violation(Rule.TOTAL, f"it raised {answer.error}", answer.place)
        if answer.wrong:
            rule = Rule.RETURNS_LIST if self.kind is Kind.INDEX else Rule.RETURNS_STR
            yield Violation(rule, f"it returned {answer.wrong}")
        if self.kind is Kind.KEY or answer.values is None:
            return
        if len(set(answer.values)) < len(answer.values):
            yield Violation(Rule.DISTINCT, f"it returned {answer.text()}")
        most = self.most_values
        if most is None:
            most = _FAN_OUT_BASE + _FAN_OUT_PER_SIZE * fuzzed_object.size
        if len(answer.values) > most:
            yield Violation(
                Rule.FAN_OUT, f"it returned {len(answer.values):,} values for one object (at most {most:,})"
            )

    def _equal(self, first: Answer, fuzzed_object: FuzzedObject) -> Iterator[Violation]:
        copy = self.answer(fuzzed_object)
        if copy.meaning != first.meaning:
            yield Violation(Rule.EQUAL_OBJECTS, f"{first.text()}, but {copy.text()} for an equal object")
            return
        other = answer_of(self.function, self.kind, fuzzed_object.reordered())[0]
        if other.meaning != first.meaning:
            what = f"{first.text()}, but {other.text()} for an equal object whose dicts were filled in another order"
            yield Violation(Rule.EQUAL_OBJECTS, what)

    def _own_result(self, first: Answer, returned: Any, obj: Any, fuzzed_object: FuzzedObject) -> Iterator[Violation]:
        if type(returned) is not list:
            return
        now = tuple(str.__str__(value) for value in returned if isinstance(value, str))
        if first.values is not None and (now != first.values or len(returned) != len(now)):
            yield Violation(
                Rule.OWN_RESULT, f"the list that it returned first was changed by later calls: {list(now)!r}"
            )
            return
        returned.append(_MARK)
        try:
            if self._changed(fuzzed_object, obj) is not None:
                yield Violation(Rule.OWN_RESULT, "it returned a list that belongs to the object")
            elif _MARK in (self.answer(fuzzed_object).values or ()):
                yield Violation(Rule.OWN_RESULT, "it keeps the list that it returned, and returns it again")
        finally:
            while _MARK in returned:
                returned.remove(_MARK)

    def _changed(self, fuzzed_object: FuzzedObject, obj: Any) -> str | None:
        if fuzzed_object.is_plain:
            try:
                return difference(fuzzed_object.canonical, encode(obj))
            except NotPlainError as error:
                return str(error)
        try:
            is_comparable = fuzzed_object.fresh() == fuzzed_object.original
            return "it is no longer equal to its copy" if is_comparable and obj != fuzzed_object.original else None
        except Exception:
            return None  # the objects cannot be compared
