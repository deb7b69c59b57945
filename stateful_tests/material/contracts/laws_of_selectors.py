"""Laws of label selectors: each kind of condition agrees with a naive evaluator."""

from __future__ import annotations

import enum

from kcache.errors import SelectorError
from kcache.labels import Operator, Requirement, Selector, parse_selector

from .law import Mutant, Verdict, law

_MODULE = "kcache.labels"
_BLANKS = " \t\r\n"
_COMPARISONS = (Operator.GREATER_THAN, Operator.LESS_THAN)


class Word(enum.StrEnum):
    """A few label values: few enough that CrossHair can go through all of them."""

    EMPTY = ""
    X = "x"
    Y = "y"


def _labels(value: str | None) -> dict[str, str]:
    return {} if value is None else {"k": str(value)}


def _holds(operator: Operator, wanted: tuple[str, ...], value: str | None) -> bool:
    """What the documentation of Kubernetes says, one operator after another."""
    if operator is Operator.EXISTS:
        return value is not None
    if operator is Operator.DOES_NOT_EXIST:
        return value is None
    found = any(value == each for each in wanted)
    return found if operator in (Operator.EQUALS, Operator.IN) else not found


@law(
    mutant=Mutant(
        _MODULE,
        "return not present or labels[self.key] not in self.values",
        "return present and labels[self.key] not in self.values",
    ),
    verdict=Verdict.CONFIRMED,
    paths=400,
)
def a_condition_means_what_its_operator_says(operator: Operator, first: Word, second: Word, value: Word | None) -> bool:
    """All operators but the comparisons, with one or two of three values.

    post: _
    """
    if operator in _COMPARISONS:
        return True
    requirement = Requirement("k", operator, frozenset([first.value, second.value]))
    return requirement.matches(_labels(value)) == _holds(operator, (first, second), value)


@law(
    mutant=Mutant(
        _MODULE, "return present and labels[self.key] in self.values", 'return labels.get(self.key, "") in self.values'
    ),
    verdict=Verdict.NOT_REFUTED,
    paths=30,
)
def only_the_label_of_that_key_counts(key: str, wanted: list[str], labels: dict[str, str]) -> bool:
    """``in`` and ``notin`` look at one label, and are opposites.

    post: _
    """
    found = any(name == key and any(value == each for each in wanted) for name, value in labels.items())
    is_in = Requirement(key, Operator.IN, frozenset(wanted)).matches(labels)
    is_not_in = Requirement(key, Operator.NOT_IN, frozenset(wanted)).matches(labels)
    return is_in == found and is_not_in == (not found)


@law(
    mutant=Mutant(_MODULE, "int(text) > int(bound)", "int(text) >= int(bound)"),
    verdict=Verdict.NOT_REFUTED,
    paths=20,
)
def comparisons_compare_numbers(bound: int, value: int) -> bool:
    """``>`` and ``<`` order numbers of 64 bits.

    post: _
    """
    if abs(bound) >= 2**63 or abs(value) >= 2**63:
        return True
    is_more = Requirement("k", Operator.GREATER_THAN, frozenset([str(bound)])).matches({"k": str(value)})
    is_less = Requirement("k", Operator.LESS_THAN, frozenset([str(bound)])).matches({"k": str(value)})
    return (is_more, is_less) == (value > bound, value < bound)


@law(
    mutant=Mutant(_MODULE, "<= int(text) < 2**63", "<= int(text) <= 2**63"),
    verdict=Verdict.CONFIRMED,
    paths=20,
)
def more_than_64_bits_are_no_number(beyond: int) -> bool:
    """Kubernetes reads 64 bits; what does not fit compares as neither more nor less.

    post: _
    """
    if not -5 < beyond < 5:
        return True
    is_more = Requirement("k", Operator.GREATER_THAN, frozenset(["0"])).matches({"k": str(2**63 + beyond)})
    return is_more == (beyond < 0)


@law(
    mutant=Mutant(_MODULE, "[+-]?[0-9]{1,63}", r"[+-]?\d{1,63}"),
    verdict=Verdict.NOT_REFUTED,
    paths=50,
)
def comparisons_read_ascii_digits_only(text: str) -> bool:
    """A label whose value is no number in ASCII never compares, and never raises.

    post: _
    """
    is_more = Requirement("k", Operator.GREATER_THAN, frozenset(["0"])).matches({"k": text})
    return not is_more or all(each in "+0123456789" for each in text)


@law(
    mutant=Mutant(_MODULE, "self.matches_nothing and all(", "self.matches_nothing and any("),
    verdict=Verdict.CONFIRMED,
    paths=400,
)
def all_conditions_must_hold(first: Operator, second: Operator, value: Word | None) -> bool:
    """A selector of two conditions holds just if each of them does.

    post: _
    """
    if first in _COMPARISONS or second in _COMPARISONS:
        return True
    one, other = (Requirement("k", operator, frozenset(["x"])) for operator in (first, second))
    expected = _holds(first, ("x",), value) and _holds(second, ("x",), value)
    return Selector((one, other)).matches(_labels(value)) == expected


@law(
    mutant=Mutant(_MODULE, "text.strip(_BLANKS)", "text.strip()"),
    verdict=Verdict.NOT_REFUTED,
    paths=20,
)
def only_blanks_select_everything(text: str) -> bool:
    """A text is read or refused with a ``SelectorError``; and white space that is none for Kubernetes is refused.

    post: _
    """
    try:
        parsed = parse_selector(text)
    except SelectorError:
        return True
    return parsed.is_everything == all(each in _BLANKS for each in text)


@law(
    mutant=Mutant(_MODULE, 'if found["operator"] == "==" else', 'if found["operator"].endswith("=") else'),
    verdict=Verdict.NOT_REFUTED,
    paths=10,
)
def text_of_an_equation_agrees(wanted: str, value: Word | None) -> bool:
    """``k=wanted`` and ``k==wanted`` say the same, ``k!=wanted`` the opposite.

    post: _
    """
    if any(each in _BLANKS + "," for each in wanted):
        return True
    try:
        single, double, differs = (parse_selector("k" + operator + wanted) for operator in ("=", "==", "!="))
    except SelectorError:
        return True
    labels = _labels(value)
    return single.matches(labels) == double.matches(labels) == (value == wanted) != differs.matches(labels)


@law(
    mutant=Mutant(_MODULE, "re.fullmatch(_VALUE, value)", "re.match(_VALUE, value)"),
    verdict=Verdict.NOT_REFUTED,
    paths=8,
)
def only_label_values_stand_in_a_set(values: str) -> bool:
    """Whatever stands between the parentheses of ``k in (...)`` is read only if all of it is legal.

    post: _
    """
    try:
        parse_selector("k in (" + values + ")")
    except SelectorError:
        return True
    return all((each.isascii() and each.isalnum()) or each in "-_.," + _BLANKS for each in values)


@law(
    mutant=Mutant(
        _MODULE,
        'Requirement(found["absent"], Operator.DOES_NOT_EXIST)',
        'Requirement(found["absent"], Operator.NOT_EQUALS, frozenset([""]))',
    ),
    verdict=Verdict.CONFIRMED,
    paths=20,
)
def an_absent_label_is_not_an_empty_one(value: str | None) -> bool:
    """``!k`` holds just if there is no such label, ``k`` just if there is one.

    post: _
    """
    labels = {} if value is None else {"k": value}
    return parse_selector("!k").matches(labels) == (value is None) != parse_selector("k").matches(labels)
