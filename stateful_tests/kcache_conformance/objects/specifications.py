"""Specifications by name: standard specifications, and specifications of users."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kcache_model.codec import Codec
from kcache_model.errors import FormatError, TargetError
from kcache_model.object_types.object_type import ObjectType
from kcache_model.object_types.plain import Applies, object_type
from kcache_model.standard_specifications import STANDARD_SPECIFICATIONS, Specifies
from kcache_stress.loading import load_object


def specification_named(name: str) -> Applies:
    """Return a standard specification, or the object ``package.module:SPEC``; a class is called without arguments.

    Raises:
        TargetError: there is no such specification.
    """
    if name in STANDARD_SPECIFICATIONS:
        return STANDARD_SPECIFICATIONS[name]
    if ":" not in name:
        known = ", ".join(STANDARD_SPECIFICATIONS)
        raise TargetError(f"unknown specification {name}; known are {known}, or write package.module:SPEC")
    found: Any = load_object(name, wanted="SPEC")
    if isinstance(found, ObjectType):
        raise TargetError(f"{name} is an object type; write --type {name}")
    made = _made(name, found) if inspect.isclass(found) else found
    missing = [method for method in ("initial", "apply") if not callable(getattr(made, method, None))]
    if missing:
        raise TargetError(f"{name} is not a specification: it has no {' and no '.join(missing)}")
    return made  # type: ignore[no-any-return]


def _made(name: str, found: Callable[[], Any]) -> Any:
    try:
        return found()
    except Exception as error:
        raise TargetError(
            f"{name}() raised {type(error).__name__}: {error}; a specification is created without arguments"
        ) from error


def type_of_specification(name: str) -> ObjectType:
    """Return the object type that consists of a specification alone.

    Raises:
        TargetError: there is no such specification.
    """
    specification = specification_named(name)
    vocabulary = getattr(specification, "vocabulary", ())
    made = object_type(name, reference="", specification=specification, vocabulary=vocabulary)
    if not isinstance(specification, Specifies):
        return made
    return replace(made, codec=_with_refusals(made.codec, specification), exact_errors=False)


def _with_refusals(codec: Codec, specification: Specifies) -> Codec:
    def decode(data: Any) -> Any:
        operation = codec.decode_operation(data)
        refusal = specification.refusal(operation)
        if refusal:
            raise FormatError(f"{operation}: {refusal}")
        return operation

    return replace(codec, decode_operation=decode)
