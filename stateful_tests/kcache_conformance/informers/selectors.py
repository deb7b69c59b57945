"""Label and field selectors of lists and watches."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from .manifests import Manifest
from .status import bad_request

Selects: TypeAlias = Callable[[Manifest], bool]

_NAME = r"[A-Za-z0-9_./-]+"
_SET = re.compile(rf"({_NAME})\s+(in|notin)\s+\(([^()]*)\)")
_EQUALITY = re.compile(rf"({_NAME})\s*(==|=|!=)\s*([A-Za-z0-9_.-]*)")
_EXISTENCE = re.compile(rf"(!?)\s*({_NAME})")
_COMMA_OUTSIDE_PARENTHESES = re.compile(r",(?![^()]*\))")


def selector(label_selector: str, field_selector: str) -> Selects | None:
    """Return a function that tests whether both selectors select an object; ``None`` if both are empty.

    Args:
        label_selector: requirements ``k``, ``!k``, ``k=v``, ``k==v``, ``k!=v``, ``k in (v, w)``, ``k notin (v, w)``,
            separated by commas.
        field_selector: requirements ``path=v``, ``path==v``, ``path!=v`` where a path is like ``metadata.name``.

    Raises:
        ApiError: a selector cannot be parsed (400).
    """
    requirements = [_label_requirement(text) for text in _parts(label_selector)]
    requirements += [_field_requirement(text) for text in _parts(field_selector)]
    if not requirements:
        return None
    return lambda manifest: all(requirement(manifest) for requirement in requirements)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in _COMMA_OUTSIDE_PARENTHESES.split(text)] if text.strip() else []


def _label_requirement(text: str) -> Selects:
    if match := _SET.fullmatch(text):
        label, operator, listed = match.groups()
        values = frozenset(value.strip() for value in listed.split(","))
        return _one_of(_label(label), values, negated=operator == "notin")
    if match := _EQUALITY.fullmatch(text):
        label, operator, value = match.groups()
        return _one_of(_label(label), frozenset({value}), negated=operator == "!=")
    if match := _EXISTENCE.fullmatch(text):
        negation, label = match.groups()
        return _one_of(_label(label), frozenset({None}), negated=not negation)
    raise bad_request(f"unable to parse requirement: {text!r}")


def _field_requirement(text: str) -> Selects:
    match = _EQUALITY.fullmatch(text)
    if match is None:
        raise bad_request(f"invalid field selector: {text!r}")
    path, operator, value = match.groups()
    return _one_of(_field(path), frozenset({value}), negated=operator == "!=")


def _one_of(read: Callable[[Manifest], str | None], values: frozenset[str | None], negated: bool) -> Selects:
    # A missing label is unequal to every value: a negated requirement selects the object.
    return lambda manifest: (read(manifest) in values) is not negated


def _label(label: str) -> Callable[[Manifest], str | None]:
    return lambda manifest: manifest["metadata"].get("labels", {}).get(label)


def _field(path: str) -> Callable[[Manifest], str | None]:
    def read(manifest: Manifest) -> str | None:
        value: object = manifest
        for name in path.split("."):
            value = value.get(name, "") if isinstance(value, dict) else ""
        return str(value)

    return read
