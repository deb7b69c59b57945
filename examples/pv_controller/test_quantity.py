import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from . import QuantityError, parse_quantity


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", "0"),
        ("42", "42"),
        ("+1.5", "1.5"),
        ("-.5", "-0.5"),
        ("5.", "5"),
        ("007", "7"),
        ("1500m", "1.5"),
        ("3u", "0.000003"),
        ("1n", "0.000000001"),
        ("2k", "2000"),
        ("100M", "100000000"),
        ("5G", "5000000000"),
        ("1T", "1000000000000"),
        ("1P", "1000000000000000"),
        ("1E", "1000000000000000000"),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("12e-3", "0.012"),
        ("1Ki", "1024"),
        ("1.5Mi", "1572864"),
        ("5Gi", "5368709120"),
        ("1Ti", "1099511627776"),
        ("1Pi", "1125899906842624"),
        ("1Ei", "1152921504606846976"),
        ("16Ei", "18446744073709551616"),
        ("0.1n", "0.0000000001"),
    ],
)
def test_a_quantity_is_the_number_that_it_stands_for(text: str, number: str) -> None:
    assert parse_quantity(text) == Decimal(number)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "5 Gi",
        "5gi",
        "5GB",
        "5K",
        "Gi",
        ".",
        "-",
        "1e",
        "1e3k",
        "1e1.5",
        "1Eii",
        "1_000",
        "٣",
        "NaN",
        "1\n",
        "1e1000000000",
        "0x10",
        "1,5",
    ],
)
def test_what_is_no_quantity_is_refused_by_name(text: str) -> None:
    with pytest.raises(QuantityError, match=re.escape(f"{text!r} is not a quantity; write a number")):
        parse_quantity(text)


@pytest.mark.parametrize("value", [5, None, 5.0, b"5Gi"])
def test_only_text_is_a_quantity(value: Any) -> None:
    with pytest.raises(QuantityError):
        parse_quantity(value)


SUFFIXES = {
    **{
        suffix: Fraction(10) ** power
        for suffix, power in zip("numkMGTPE", (-9, -6, -3, 3, 6, 9, 12, 15, 18), strict=True)
    },
    **{f"{letter}i": Fraction(1024) ** power for power, letter in enumerate("KMGTPE", start=1)},
    **{f"e{exponent}": Fraction(10) ** exponent for exponent in range(-12, 13)},
    "": Fraction(1),
}

quantities = st.builds(
    lambda sign, whole, part, suffix: (
        f"{sign}{whole}.{part}{suffix}",
        int(f"{sign}1") * Fraction(f"{whole}.{part}") * SUFFIXES[suffix],
    ),
    st.sampled_from(["", "+", "-"]),
    st.integers(0, 10**40).map(str),
    st.text("0123456789", min_size=1, max_size=40),
    st.sampled_from(sorted(SUFFIXES)),
)


@given(quantities, quantities)
def test_quantities_are_exact_and_ordered_as_their_numbers(
    left: tuple[str, Fraction], right: tuple[str, Fraction]
) -> None:
    (left_text, left_number), (right_text, right_number) = left, right
    assert Fraction(parse_quantity(left_text)) == left_number
    assert (parse_quantity(left_text) < parse_quantity(right_text)) == (left_number < right_number)
