"""Laws of the order of resource versions."""

from __future__ import annotations

from kcache import ResourceVersionError, compare_resource_versions

from .law import Mutant, Verdict, law

_MODULE = "kcache.resource_version"
_RANKS = "(len(left), left), (len(right), right)"


def _is_valid(version: str) -> bool:
    """Spelled out: ``0``, or ASCII digits of which the first is not ``0``."""
    return version == "0" or (version != "" and version[0] != "0" and all(each in "0123456789" for each in version))


def _is_accepted(version: str) -> bool:
    try:
        compare_resource_versions(version, version)
    except ResourceVersionError:
        return False
    return True


@law(
    mutant=Mutant(_MODULE, "version.isascii() and version.isdecimal()", "version.isdecimal()"),
    verdict=Verdict.NOT_REFUTED,
    paths=30,
)
def only_ascii_digits_are_accepted(version: str) -> bool:
    """Unicode has other digits, which ``isdecimal`` and ``int`` take.

    post: _
    """
    return _is_accepted(version) == _is_valid(version)


@law(
    mutant=Mutant(_MODULE, _RANKS, "left, right"),
    verdict=Verdict.NOT_REFUTED,
    paths=20,
)
def the_order_is_that_of_the_numbers(left: int, right: int) -> bool:
    """Versions are ordered as the numbers that they stand for.

    post: _
    """
    if left < 0 or right < 0:
        return True
    return compare_resource_versions(str(left), str(right)) == (left > right) - (left < right)


@law(
    mutant=Mutant(_MODULE, _RANKS, "(min(len(left), 19), left), (min(len(right), 19), right)"),
    verdict=Verdict.CONFIRMED,
    paths=200,
)
def one_more_digit_is_newer(length: int) -> bool:
    """At any length up to 64, beyond what 64 bits can hold: 10...0 is newer than 9...9 of one digit less.

    post: _
    """
    if not 1 <= length <= 64:
        return True
    return compare_resource_versions("1" + "0" * length, "9" * length) == 1


@law(
    mutant=Mutant(_MODULE, "(left_rank > right_rank) -", "(left_rank >= right_rank) -"),
    verdict=Verdict.NOT_REFUTED,
    paths=40,
)
def the_other_way_round_the_sign_changes(left: str, right: str) -> bool:
    """The comparison is antisymmetric.

    post: _
    """
    if not _is_valid(left) or not _is_valid(right):
        return True
    return compare_resource_versions(left, right) == -compare_resource_versions(right, left)


@law(
    mutant=Mutant(_MODULE, _RANKS, "len(left), len(right)"),
    verdict=Verdict.NOT_REFUTED,
    paths=30,
)
def only_a_version_is_as_old_as_itself(left: str, right: str) -> bool:
    """No two different versions compare as the same.

    post: _
    """
    if not _is_valid(left) or not _is_valid(right):
        return True
    return (compare_resource_versions(left, right) == 0) == (left == right)
