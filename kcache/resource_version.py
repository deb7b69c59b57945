"""Order of resource versions: opaque decimal strings of any length."""

from __future__ import annotations

from .errors import ResourceVersionError, quoted


def compare_resource_versions(left: str, right: str) -> int:
    """Return -1, 0 or 1 if ``left`` is older than, equal to, or newer than ``right``; O(length).

    The strings are not converted to numbers, so their length is not limited.
    Source: apimachinery ``resourceversion.CompareResourceVersion``.

    Raises:
        ResourceVersionError: a version is neither ``0`` nor ASCII digits without a leading zero.
    """
    _require_valid(left)
    _require_valid(right)
    left_rank, right_rank = (len(left), left), (len(right), right)
    return (left_rank > right_rank) - (left_rank < right_rank)


def _require_valid(version: str) -> None:
    well_formed = isinstance(version, str) and version.isascii() and version.isdecimal()
    if not well_formed or (version[0] == "0" and version != "0"):
        version_text = quoted(version) if isinstance(version, str) else f"a {type(version).__name__}"
        raise ResourceVersionError(
            f"resource version {version_text} is not a decimal number without leading zeros; "
            "pass it on unchanged from the server"
        )
