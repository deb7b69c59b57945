"""Laws of what index functions return, and of how it is read."""

from __future__ import annotations

from kcache import label_index_func
from kcache.index_values import checked_values

from .law import Mutant, Verdict, law


@law(
    mutant=Mutant(
        "kcache.index_values",
        "list(dict.fromkeys(str.__str__(value) for value in returned))",
        "[str.__str__(value) for value in returned]",
    ),
    verdict=Verdict.NOT_REFUTED,
    paths=60,
)
def each_value_counts_once_and_in_order(returned: list[str]) -> bool:
    """The values of an object are what its index function returned, without the repetitions.

    post: _
    """
    expected: list[str] = []
    for value in returned:
        if value not in expected:
            expected.append(value)
    return checked_values(returned) == expected


@law(
    mutant=Mutant("kcache.index_funcs", 'f"{key}={value}"', 'f"{key}={value}" if value else key'),
    verdict=Verdict.NOT_REFUTED,
    paths=25,
)
def a_label_is_indexed_by_key_and_by_both(key: str, value: str) -> bool:
    """Even if its value is empty.

    post: _
    """
    return label_index_func({"metadata": {"labels": {key: value}}}) == [key, key + "=" + value]
