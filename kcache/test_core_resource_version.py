from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcache import ResourceVersionError, compare_resource_versions

_VERSIONS = st.one_of(
    st.integers(0, 30).map(str),
    st.integers(0, 2**64 + 5).map(str),
    st.from_regex(r"[1-9][0-9]{0,60}", fullmatch=True),
)


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


@given(_VERSIONS, _VERSIONS)
def test_order_is_that_of_the_numbers(left: str, right: str) -> None:
    assert compare_resource_versions(left, right) == _sign(int(left) - int(right))


@given(_VERSIONS, st.integers(0, 9))
def test_neighbours_differ(version: str, step: int) -> None:
    newer = str(int(version) + step)
    assert compare_resource_versions(newer, version) == _sign(step)
    assert compare_resource_versions(version, newer) == -_sign(step)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("0", "0", 0),
        ("0", "1", -1),
        ("9", "10", -1),
        ("10", "9", 1),
        ("99", "100", -1),
        ("2", "10", -1),
        ("18446744073709551616", "18446744073709551615", 1),
    ],
)
def test_small_numbers_and_beyond_64_bits(left: str, right: str, expected: int) -> None:
    assert compare_resource_versions(left, right) == expected


@pytest.mark.parametrize(
    "version",
    [
        "",
        "01",
        "00",
        "-1",
        "+1",
        "1.0",
        "1e3",
        "0x1",
        "1_000",
        "1\uff11",
        "\u0663",
        "²",
        "½",
        " 1",
        "1 ",
        "1\n",
        "1\x00",
        "latest",
    ],
)
def test_anything_but_plain_digits_is_refused(version: str) -> None:
    for arguments in ((version, "1"), ("1", version)):
        with pytest.raises(ResourceVersionError, match="is not a decimal number without leading zeros"):
            compare_resource_versions(*arguments)


@pytest.mark.parametrize(
    ("version", "shown"), [(None, "a NoneType"), (5, "a int"), (b"5", "a bytes"), (1.0, "a float"), (True, "a bool")]
)
def test_anything_but_text_is_refused(version: Any, shown: str) -> None:
    for arguments in ((version, "1"), ("1", version)):
        with pytest.raises(ResourceVersionError, match=f"^resource version {shown} is not"):
            compare_resource_versions(*arguments)


def test_the_message_quotes_the_version() -> None:
    with pytest.raises(ResourceVersionError) as caught:
        compare_resource_versions('0"', "1")
    assert str(caught.value) == (
        r'resource version "0\"" is not a decimal number without leading zeros; pass it on unchanged from the server'
    )


def test_versions_of_100_000_digits() -> None:
    # int() refuses more than 4,300 digits, and would take quadratic time.
    long = "7" * 100_000
    started = time.process_time()
    assert compare_resource_versions(long, long) == 0
    assert compare_resource_versions(long, long[:-1] + "8") == -1
    assert compare_resource_versions("8" + long[1:], long) == 1
    assert compare_resource_versions(long, "9" * 99_999) == 1
    assert time.process_time() - started < 5
