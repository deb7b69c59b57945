"""Lines of JSON: parsed together, they are what they are alone, and what is wrong is told of the right line."""

from __future__ import annotations

import json
import random

import pytest

from kcache_model import json_lines
from kcache_model.errors import FormatError
from kcache_model.json_lines import read_documents

BOUNDARY = str(json_lines._BOUNDARY)

PIECES = [
    '{"a":1}',
    '{"a":[1,{}]}',
    '{"a":1,"a":2}',
    '"x"',
    '"x',
    "[",
    "]",
    "{",
    "}",
    ",",
    "1",
    BOUNDARY,
    '"b":',
    " ",
    "",
]


def one_by_one(lines: list[str]) -> list[tuple[int, object]] | str:
    """What the lines are, each parsed on its own; or of which line something is wrong."""
    found: list[tuple[int, object]] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                found += read_documents([line])
            except FormatError as error:
                return str(error).replace("line 1:", f"line {number}:")
            found[-1] = number, found[-1][1]
    return found


def together(lines: list[str]) -> list[tuple[int, object]] | str:
    try:
        return list(read_documents(lines))
    except FormatError as error:
        return str(error)


def test_parsed_together_lines_are_what_they_are_alone() -> None:
    rng = random.Random(3)
    right = wrong = 0
    for _ in range(3_000):
        lines = [
            rng.choice(PIECES) if rng.random() < 0.7 else "".join(rng.choices(PIECES, k=rng.randrange(1, 5)))
            for _ in range(rng.randrange(1, 5))
        ]
        expected = one_by_one(lines)
        assert together(lines) == expected, lines
        right += isinstance(expected, list) and len(expected) > 1
        wrong += isinstance(expected, str)
    assert min(right, wrong) > 100, (right, wrong)


@pytest.mark.parametrize(
    ("lines", "number"),
    [
        (['{"a": 1}, {"b": 2}', '{"c": [3', "4]}"], 1),
        ([f'{{"a": 1}},{BOUNDARY},{{"b": 2}}', '{"c": [3', "4]}"], 1),
        (['{"c": [3', "4]}", f'{{"a": 1}},{BOUNDARY},{{"b": 2}}'], 1),
        (['{"a": 1}', "], [", '{"b": 2}'], 2),
        (['{"a": 1}', '{"b": {"c": 1, "c": 2}}'], 2),
    ],
)
def test_documents_that_cross_the_end_of_a_line_are_refused(lines: list[str], number: int) -> None:
    with pytest.raises(FormatError, match=f"^line {number}: "):
        list(read_documents(lines))


def test_boundary_may_be_in_a_line() -> None:
    lines = ['{"at": 1}', f'{{"at": {BOUNDARY}}}', BOUNDARY, '{"at": 2}']
    assert list(read_documents(lines)) == list(enumerate(map(json.loads, lines), 1))


def test_what_stands_before_a_broken_line_is_given() -> None:
    documents = read_documents(["1\n", "\n", "2\n", "{\n"])
    assert [next(documents), next(documents)] == [(1, 1), (3, 2)]
    with pytest.raises(FormatError, match="line 4: not JSON"):
        next(documents)


def test_many_lines_are_numbered_through() -> None:
    lines = [json.dumps({"at": number}) for number in range(10_000)]
    assert sum(map(len, lines)) > 3 * json_lines._TOGETHER
    assert list(read_documents(lines)) == [(number + 1, {"at": number}) for number in range(10_000)]
