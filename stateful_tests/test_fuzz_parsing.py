"""Functions that take texts apart: what is found of them within the work of the default budget, and what is traced."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from kcache_conformance.fuzzing.engines.comparisons import follow_comparisons
from kcache_conformance.fuzzing.judging.violation import InputClass
from kcache_conformance.fuzzing.objects.fuzzed_object import FuzzedObject
from kcache_conformance.fuzzing.options import FuzzOptions
from kcache_conformance.fuzzing.rules import Kind, Rule
from kcache_conformance.fuzzing.subject import make_subject
from kcache_conformance.fuzzing.tracing.tracers import Notes, parsing_traced, traced
from kcache_conformance.fuzzing.work import Work
from kcache_model.progress import NoProgress

SEEDS = range(3)


def _label(obj: Any, name: str) -> str:
    return (obj["metadata"].get("labels") or {}).get(name) or ""


def _annotation(obj: Any, name: str) -> str:
    return (obj["metadata"].get("annotations") or {}).get(name) or ""


def _numbers(text: str) -> list[int]:
    parts = text.split(".")
    return [int(part) for part in parts] if all(part.isascii() and part.isdigit() for part in parts) else []


def optional_group(obj):
    found = re.match(r"v(\d+)(alpha|beta)(\d+)?", _label(obj, "version"))
    return [f"{found[2]}{int(found[3])}"] if found else []


def optional_group_or_1(obj):
    found = re.match(r"v(\d+)(alpha|beta)(\d+)?", _label(obj, "version"))
    return [f"{found[2]}{int(found[3] or 1)}"] if found else []


def three_parts(obj):
    version = _label(obj, "app.kubernetes.io/version")
    major, minor, _ = version.split(".") if version else ("", "", "")
    return [f"{major}.{minor}"]


def first_parts(obj):
    major, _, rest = _label(obj, "app.kubernetes.io/version").partition(".")
    return [f"{major}.{rest.partition('.')[0]}"]


def empty_parts(obj):
    pod_ip = (obj.get("status") or {}).get("podIP") or ""
    return [str(sum(int(part) for part in pod_ip.split(".")))] if re.fullmatch(r"[0-9.]+", pod_ip) else []


def empty_parts_as_0(obj):
    pod_ip = (obj.get("status") or {}).get("podIP") or ""
    return [str(sum(int(part or 0) for part in pod_ip.split(".")))] if re.fullmatch(r"[0-9.]+", pod_ip) else []


def broadcast(obj):
    numbers = _numbers((obj.get("status") or {}).get("podIP") or "")
    if len(numbers) != 4:
        return []
    return None if numbers[3] == 255 else [".".join(map(str, numbers[:3]))]


def broadcast_left_out(obj):
    numbers = _numbers((obj.get("status") or {}).get("podIP") or "")
    return [".".join(map(str, numbers[:3]))] if len(numbers) == 4 and numbers[3] != 255 else []


def two_of_four_parts(obj):
    numbers = _numbers(_annotation(obj, "example.com/ip"))
    if len(numbers) != 4:
        return []
    return None if (numbers[0], numbers[3]) == (10, 255) else [str(numbers[0])]


def none_of_four_parts(obj):
    numbers = _numbers(_annotation(obj, "example.com/ip"))
    return [str(numbers[0])] if len(numbers) == 4 and (numbers[0], numbers[3]) != (10, 255) else []


def one_ordinal_of_seven(obj):
    base, _, ordinal = (obj["metadata"].get("name") or "").rpartition("-")
    if not (ordinal.isascii() and ordinal.isdigit()):
        return []
    return [base, int(ordinal)] if int(ordinal) % 7 == 3 else [base]


def seven_ordinals(obj):
    base, _, ordinal = (obj["metadata"].get("name") or "").rpartition("-")
    if not (ordinal.isascii() and ordinal.isdigit()):
        return []
    return [base, str(int(ordinal))] if int(ordinal) % 7 == 3 else [base]


def one_ordinal_of_many(obj):
    found = re.fullmatch(r"(.+)-([0-9]+)", obj["metadata"].get("name") or "")
    if found is None:
        return []
    return [found[1], int(found[2])] if int(found[2]) % 997 == 331 else [found[1]]


def many_ordinals(obj):
    found = re.fullmatch(r"(.+)-([0-9]+)", obj["metadata"].get("name") or "")
    if found is None:
        return []
    return [found[1], f"#{int(found[2])}"] if int(found[2]) % 997 == 331 else [found[1]]


PAIRS = (
    (optional_group, optional_group_or_1),
    (three_parts, first_parts),
    (empty_parts, empty_parts_as_0),
    (broadcast, broadcast_left_out),
    (two_of_four_parts, none_of_four_parts),
    (one_ordinal_of_seven, seven_ordinals),
    (one_ordinal_of_many, many_ordinals),
)
"""The faulty function, then the right one."""


class _FoundError(Exception):
    pass


class _Sink:
    """Ends the search with the first violation for a valid object."""

    watch = NoProgress()

    def send(self, event: dict[str, Any]) -> None:
        if event["event"] == "evidence" and event["evidence"]["input_class"] == InputClass.VALID:
            raise _FoundError(event["evidence"]["what"])


def search(function: Callable[[Any], Any], seed: int, seconds: float) -> None:
    """As many random objects as the default budget has, as far as the time allows; more time than that."""
    options = FuzzOptions(budget_seconds=seconds, seed=seed, only=(Rule.TOTAL, Rule.RETURNS_LIST))
    for is_deep in (False, True):
        work = Work(make_subject(function, Kind.INDEX), options, _Sink(), is_deep=is_deep)
        work.random_objects()
        work.comparisons()


@pytest.mark.one_in(27, start=18)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("function", [faulty for faulty, _ in PAIRS], ids=lambda function: function.__name__)
def test_the_fault_is_found(function, seed):
    with pytest.raises(_FoundError):
        search(function, seed, 200.0)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("function", [right for _, right in PAIRS], ids=lambda function: function.__name__)
def test_the_right_function_passes(function, effort):
    search(function, 0, effort(1.0, 20.0))


# --- What is traced ------------------------------------------------------------------------------------------------


def wishes(function: Callable[[Any], Any], text: str) -> set[Any]:
    notes = Notes()
    with parsing_traced([globals()], notes):
        function(traced({"text": text}, notes)["text"])
    assert "int" not in globals()
    return {value for _, value in notes.wishes.values()}


@pytest.mark.parametrize(
    ("function", "text", "wanted"),
    [
        (lambda text: int(text) == 5, "1", "5"),
        (lambda text: int(text.split(".")[3]) == 255, "10.0.0.0", "10.0.0.255"),
        (lambda text: int(text.split(".")[1]) == 7, "..0", None),
        (lambda text: [*map(int, text.split("."))][1] == 9, "10.0.0.0", "10.9.0.0"),
        (lambda text: int(text.rpartition("-")[2]) % 7 == 3, "web-14", "web-17"),
        (lambda text: int(text.partition(":")[2]) // 100 * 3 == 12, "a:99", "a:499"),
        (lambda text: int(re.match(r"v(\d+)", text)[1]) > 30, "v1.11", "v31.11"),
        (lambda text: int(text[1:]) + 1 == 3, "v9", "v2"),
        (lambda text: int(text.split(".")[0]) == int(text.split(".")[1]), "1.2", "2.2"),
        (lambda text: int(text.split("/")[1]) - int(text.split("/")[0]) == 4, "1/2", "1/5"),
        (lambda text: isinstance(int(text), int) and text.split(".") == 1, "7", "7.1"),
    ],
    ids=range(11),
)  # fmt: skip
def test_numbers_that_are_parts_of_texts(function, text, wanted):
    if wanted is None:
        with pytest.raises(ValueError, match="invalid literal"):
            wishes(function, text)
    else:
        assert wanted in wishes(function, text)


def test_a_part_that_is_no_number_is_made_one():
    seen: list[str] = []

    def index(obj):
        return [str(int(obj["metadata"]["name"].split(".")[1]))]

    follow_comparisons(
        index, [FuzzedObject({"metadata": {"name": "a.b.c"}})], lambda one: seen.append(one.tree["metadata"]["name"]),
        seconds=60.0,
    )  # fmt: skip
    assert {"a.0.c", "a.7.c"} <= set(seen)
