from __future__ import annotations

import itertools
import re
import time
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcache import Operator, Requirement, Selector, SelectorError, everything, nothing, parse_selector

_OPERATORS = {operator.value: operator for operator in Operator}


def _requirement(key: str, operator: str, *values: str) -> Requirement:
    return Requirement(key, _OPERATORS[operator], frozenset(values))


_LEGAL: dict[str, list[tuple[str, ...]]] = {
    "app=web": [("app", "=", "web")],
    "app==web": [("app", "=", "web")],
    "app!=web": [("app", "!=", "web")],
    "app in (web)": [("app", "in", "web")],
    "app in (web,db)": [("app", "in", "web", "db")],
    "app notin (web, db)": [("app", "notin", "web", "db")],
    "app": [("app", "exists")],
    "!app": [("app", "!")],
    "n>1": [("n", ">", "1")],
    "n<1": [("n", "<", "1")],
    # white space
    "  app  =  web  ": [("app", "=", "web")],
    "\tapp\n!=\r\nweb\n": [("app", "!=", "web")],
    "! app": [("app", "!")],
    "app  in\t( web ,\ndb )": [("app", "in", "web", "db")],
    "app in(web)": [("app", "in", "web")],
    "a , b = c , ! d": [("a", "exists"), ("b", "=", "c"), ("d", "!")],
    "\rx": [("x", "exists")],
    # empty values
    "app=": [("app", "=", "")],
    "app==": [("app", "=", "")],
    "app!= ": [("app", "!=", "")],
    "x=,y=1": [("x", "=", ""), ("y", "=", "1")],
    "app in ()": [("app", "in", "")],
    "app notin ( )": [("app", "notin", "")],
    "app in (web,)": [("app", "in", "web", "")],
    "app in (,web)": [("app", "in", "", "web")],
    "app notin (web,,db)": [("app", "notin", "web", "", "db")],
    "app in (web,web)": [("app", "in", "web")],
    # keys and values
    "a.b-c_d=e.f-g_h": [("a.b-c_d", "=", "e.f-g_h")],
    "example.com/app=1": [("example.com/app", "=", "1")],
    "!app.kubernetes.io/name": [("app.kubernetes.io/name", "!")],
    "0.1.2.domain/99 notin (10.10.100.1, tick.tack.clock)": [
        ("0.1.2.domain/99", "notin", "10.10.100.1", "tick.tack.clock")
    ],
    "A/B=C": [("A/B", "=", "C")],
    "in": [("in", "exists")],
    "notin": [("notin", "exists")],
    "in in (in)": [("in", "in", "in")],
    "notin notin (notin, in)": [("notin", "notin", "notin", "in")],
    "exists=exists": [("exists", "=", "exists")],
    "n>007": [("n", ">", "007")],
    "n<9223372036854775807": [("n", "<", "9223372036854775807")],
    "n>1,000": [("n", ">", "1"), ("000", "exists")],
    # several
    "a=1,a=1": [("a", "=", "1"), ("a", "=", "1")],
    "x notin (abc,,def),bar,z in (),w": [
        ("x", "notin", "abc", "", "def"),
        ("bar", "exists"),
        ("z", "in", ""),
        ("w", "exists"),
    ],
}


@pytest.mark.parametrize("text", _LEGAL, ids=repr)
def test_legal_selectors(text: str) -> None:
    assert parse_selector(text) == Selector(tuple(_requirement(*condition) for condition in _LEGAL[text]))


@pytest.mark.parametrize("text", ["", " ", "\t\r\n "], ids=repr)
def test_the_empty_text_is_everything(text: str) -> None:
    assert parse_selector(text) == everything()


@pytest.mark.parametrize(
    "text",
    [
        ",", "a,", ",a", "a,,b", "a b", "a=b c", "a=b=c", "a===b", "a= =b", "a=!b", "a<>1", "a=>1", "a!b", "!", "!!a",
        "!a=b", "!a in (b)", "=", "=b", "!=b", "a||b", "a;b", "a&b",
        "a in", "a in b", "a in (", "a in (b", "a in b)", "a in (b c)", "a in (b)c", "a in (b) (c)", "a in ((b))",
        "a nott in (b)", "a not in (b)", "a IN (b)", "ain (b)", "in (b)", "(", ")", "()", "a ()", "a in (b=c)",
        "a in (!)",
        "-a", "a-", ".a", "a.", "_a", "a_", "a=-b", "a=b-", "a=.b", "a in (-b)", "a in (b,c-)",
        "/", "/a", "a/", "a//b", "a/b/c", "a/-b", "-a/b", "a-/b", "a=b/c", "a in (b/c)",
        "a:b", "a=b:c", "a@b", "*", "a=*", "'a'", 'a="b"', "a\\b", "$a", "a=b$", "#a", "a\x00",
        "ä", "a=ä", "a in (ü)", "\uff41=1", "a=\u0661", "a\u200bb",
        # white space that is none for Kubernetes
        "\u00a0", "a\u00a0=b", "a=b\u00a0", "a\u3000in\u3000(b)", "a in (b\u2003)", "a\x0b", "a=\x0cb",
        "n>", "n<", "n>a", "n>1.5", "n>-1", "n>(1)", "n>1a", "n<0x10", "n>>1", "n>=1", "n<=1",
        "n>9223372036854775808", "n<99999999999999999999",
    ],
    ids=ascii,
)  # fmt: skip
def test_illegal_selectors(text: str) -> None:
    with pytest.raises(SelectorError):
        parse_selector(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('a="b"', r'cannot read "a=\"b\"" as a label selector from "a=\"b\"" on'),
        ("a=b,c d", 'cannot read "a=b,c d" as a label selector from "c d" on'),
        ("a=b,", 'cannot read "a=b," as a label selector from "" on'),
        ("a=b,c in (d\\e)", r'"d\\e" is not a label value in "c in (d\\e)"'),
        ("k,n>x", '"n>x" compares with "x", which is not an integer'),
    ],
)
def test_messages_quote_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_selector(text)
    assert str(caught.value) == message


_LONG = 50_000


@pytest.mark.parametrize(
    "text",
    [
        "a" * _LONG + "?",
        "a." * _LONG + "?",
        "a" + "-" * _LONG,
        "a/" * _LONG,
        "a" * _LONG + "/" + "b" * _LONG + "?",
        "a=" + "b" * _LONG + "-",
        " " * _LONG + "?",
        "a" + " " * _LONG + "?",
        "!" + " " * _LONG + "?",
        "a in " + " " * _LONG + "?",
        "a in (" + "b," * _LONG,
        "a in (" + " " * _LONG + "b c)",
        "a in (" + "b " * _LONG + ")",
        "a," * _LONG,
        "a in (b)," * _LONG,
        "(" * _LONG,
        "!" * _LONG,
    ],
    ids=lambda text: f"{text[:8]}...",
)
def test_long_illegal_texts_take_no_long_time(text: str) -> None:
    started = time.process_time()
    with pytest.raises(SelectorError):
        parse_selector(text)
    assert time.process_time() - started < 5


def test_a_long_legal_text() -> None:
    text = ",".join(f"key-{number} in (a, b, c-{number})" for number in range(10_000))
    requirements = parse_selector(text).requirements
    assert len(requirements) == 10_000
    assert requirements[-1] == _requirement("key-9999", "in", "a", "b", "c-9999")


@pytest.mark.parametrize(
    ("condition", "matching", "others"),
    [
        (("k", "=", "v"), [{"k": "v"}], [{}, {"k": ""}, {"k": "V"}, {"K": "v"}]),
        (("k", "=", ""), [{"k": ""}], [{}, {"k": "v"}]),
        (("k", "!=", "v"), [{}, {"k": ""}, {"k": "w"}, {"j": "v"}], [{"k": "v"}]),
        (("k", "!=", ""), [{}, {"k": "v"}], [{"k": ""}]),
        (("k", "in", "v", "w"), [{"k": "v"}, {"k": "w"}], [{}, {"k": ""}, {"k": "x"}]),
        (("k", "in", ""), [{"k": ""}], [{}, {"k": "v"}]),
        (("k", "notin", "v", "w"), [{}, {"k": ""}, {"k": "x"}], [{"k": "v"}, {"k": "w"}]),
        (("k", "exists"), [{"k": "v"}, {"k": ""}], [{}, {"j": "v"}]),
        (("k", "!"), [{}, {"j": "v"}], [{"k": "v"}, {"k": ""}]),
        (
            ("k", ">", "5"),
            [{"k": "6"}, {"k": "10"}, {"k": "007"}, {"k": "+6"}, {"k": "9223372036854775807"}],
            [{}, {"k": ""}, {"k": "5"}, {"k": "05"}, {"k": "4"}, {"k": "-6"}, {"k": "6.5"}, {"k": "x"}, {"k": "\u0667"},
             {"k": " 6"}, {"k": "9223372036854775808"}, {"k": "9" * 60}],
        ),
        (
            ("k", "<", "5"),
            [{"k": "4"}, {"k": "0"}, {"k": "-10"}, {"k": "004"}, {"k": "-9223372036854775808"}],
            [{}, {"k": ""}, {"k": "5"}, {"k": "10"}, {"k": "4.0"}, {"k": "x"}, {"k": "4\n"},
             {"k": "-9223372036854775809"}],
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)  # fmt: skip
def test_what_a_requirement_matches(
    condition: tuple[str, ...], matching: list[dict[str, str]], others: list[dict[str, str]]
) -> None:
    requirement = _requirement(*condition)
    assert [labels for labels in matching if not requirement.matches(labels)] == []
    assert [labels for labels in others if requirement.matches(labels)] == []


def test_everything_and_nothing() -> None:
    for labels in ({}, {"a": "b"}):
        assert everything().matches(labels)
        assert not nothing().matches(labels)
    assert everything().is_everything
    assert not nothing().is_everything
    assert not parse_selector("a").is_everything
    assert not Selector((_requirement("a", "exists"),), matches_nothing=True).matches({"a": ""})


def test_selectors_are_values() -> None:
    left, right = parse_selector("a in (x, y),b"), parse_selector("a in (y,x) , b")
    assert left == right
    assert hash(left) == hash(right)
    assert left != parse_selector("b,a in (x,y)")


# Agreement with an evaluation that shares nothing with the implementation.

_KEYS = ("a", "b", "x.io/a")
_VALUES = ("", "1", "2", "10", "w")
_ALL_LABELS: list[dict[str, str]] = [
    {key: value for key, value in zip(_KEYS, values, strict=True) if value is not None}
    for values in itertools.product((None, *_VALUES), repeat=len(_KEYS))
]

_Condition = tuple[str, str, tuple[str, ...]]


def _holds(condition: _Condition, labels: Mapping[str, str]) -> bool:
    key, operator, values = condition
    value = labels.get(key)
    if operator in ("exists", "!"):
        return (value is None) == (operator == "!")
    if operator in (">", "<"):
        if value not in ("1", "2", "10"):
            return False
        difference = float(value) - float(values[0])
        return difference > 0 if operator == ">" else difference < 0
    hit = any(value == each for each in values)
    return not hit if operator in ("!=", "notin") else hit


def _text(condition: _Condition, blanks: list[str]) -> str:
    key, operator, values = condition
    b = itertools.cycle(blanks)
    if operator == "exists":
        return f"{next(b)}{key}{next(b)}"
    if operator == "!":
        return f"{next(b)}!{next(b)}{key}{next(b)}"
    if operator in ("in", "notin"):
        listed = ",".join(f"{next(b)}{value}{next(b)}" for value in values)
        return f"{next(b)}{key} {next(b)}{operator}{next(b)}({listed}){next(b)}"
    return f"{next(b)}{key}{next(b)}{operator}{next(b)}{values[0]}{next(b)}"


_some_value = st.sampled_from(_VALUES)
_conditions = st.one_of(
    st.tuples(st.sampled_from(_KEYS), st.sampled_from(("exists", "!")), st.just(())),
    st.tuples(st.sampled_from(_KEYS), st.sampled_from(("=", "==", "!=")), st.tuples(_some_value)),
    st.tuples(
        st.sampled_from(_KEYS),
        st.sampled_from(("in", "notin")),
        st.lists(_some_value, min_size=1, max_size=4).map(tuple),
    ),
    st.tuples(
        st.sampled_from(_KEYS),
        st.sampled_from((">", "<")),
        st.tuples(st.sampled_from(("0", "1", "2", "3", "10", "11"))),
    ),
)


@settings(max_examples=2 * settings().max_examples)
@given(
    st.lists(_conditions, min_size=1, max_size=4),
    st.lists(st.sampled_from(("", "", " ", "  ", "\t", "\r\n")), min_size=1, max_size=7),
)
def test_selectors_agree_with_a_naive_evaluation(conditions: list[_Condition], blanks: list[str]) -> None:
    selector = parse_selector(",".join(_text(condition, blanks) for condition in conditions))
    for labels in _ALL_LABELS:
        assert selector.matches(labels) == all(_holds(condition, labels) for condition in conditions), labels


def _read(text: str) -> list[_Condition] | None:
    """A second parser, made of tokens and lists instead of one expression; ``None`` if ``text`` is illegal."""
    tokens = re.findall(r"==|!=|[=<>!(),]|[^=<>!(),\s]+", text)
    if not tokens:
        return []
    groups: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token == "(") - (token == ")")
        if token == "," and depth == 0:
            groups.append([])
        else:
            groups[-1].append(token)
    conditions = [_read_one(group) for group in groups]
    return None if None in conditions else [condition for condition in conditions if condition is not None]


def _word(token: str) -> bool:
    return bool(token) and all(c.isascii() and (c.isalnum() or c in "-_.") for c in token) and (
        token[0].isalnum() and token[-1].isalnum()
    )  # fmt: skip


def _name(token: str) -> bool:
    return token.count("/") <= 1 and all(_word(part) for part in token.split("/"))


def _read_one(tokens: list[str]) -> _Condition | None:
    match tokens:
        case [key] if _name(key):
            return key, "exists", ()
        case ["!", key] if _name(key):
            return key, "!", ()
        case [key, ("=" | "==" | "!=") as operator] if _name(key):
            return key, "=" if operator == "==" else operator, ("",)
        case [key, ("=" | "==" | "!=") as operator, value] if _name(key) and _word(value):
            return key, "=" if operator == "==" else operator, (value,)
        case [key, (">" | "<") as operator, bound] if _name(key) and bound.isdigit():
            return key, operator, (bound,)
        case [key, ("in" | "notin") as operator, "(", *listed, ")"] if _name(key):
            values = [""]
            for token in listed:
                if token == ",":
                    values.append("")
                elif values[-1] or not _word(token):
                    return None
                else:
                    values[-1] = token
            return key, operator, tuple(values)
    return None


_tokens = st.sampled_from(
    ("a", "b", "in", "notin", "1", "23", "x.io/a", "a/b/c", "-a", "a.", "ä", "=", "==", "!=", "!", ">", "<",
     "(", ")", ",", ",", " ", " ", " in (", " notin (", "a,", "a=b", "a in (b)", "\t")
)  # fmt: skip


@settings(max_examples=8 * settings().max_examples)
@given(st.lists(_tokens, max_size=9).map("".join))
def test_the_parser_agrees_with_another_one(text: str) -> None:
    expected = _read(text)
    try:
        selector = parse_selector(text)
    except SelectorError:
        assert expected is None
    else:
        assert expected is not None
        assert selector == Selector(tuple(_requirement(key, operator, *values) for key, operator, values in expected))
