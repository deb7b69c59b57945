"""Arguments created from annotations: instances of data classes, members of enums, lists and dicts."""

from __future__ import annotations

import json
from abc import ABCMeta
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace, UnionType
from typing import Any, Final, Protocol, Union, get_args, get_origin, get_type_hints, runtime_checkable

from kcache_model.errors import FormatError, TargetError
from kcache_model.object_types.method_call import MadeAnew
from kcache_model.object_types.plain_driver import plain_value

from ..fuzzing.objects.code import flat_expression, imports_of
from ..fuzzing.objects.trees import NotPlainError, Tree, decode
from ..fuzzing.schemas.few_values import few_values
from ..fuzzing.schemas.from_types import schema_of_type
from ..fuzzing.schemas.schema import Choice, Either, SchemaError


@runtime_checkable
class _Empty(Protocol):
    """A protocol without members."""

    nothing: int


_OF_PROTOCOLS: Final = frozenset({*dir(_Empty), *vars(_Empty), *vars(Protocol), "__orig_bases__", "__type_params__"})
"""Names that every protocol has."""
_PROTOCOL_TYPES: Final = (ABCMeta, type(_Empty))
_KEY: Final = "made"
_STAND_IN: Final = "stand_in"
_PARTS: Final = ("attributes", "methods")
_SCALARS: Final = (bool, int, float, str, type(None))
_FIRST: Final = 2
"""The first values are chosen twice as often as the third, which small-scope verification leaves out."""


@dataclass(frozen=True, slots=True, repr=False)
class MadeArgument(MadeAnew):
    """An argument as a tree; in an execution of the explorer, its class is replaced by the private copy.

    Attributes:
        written: the tree as JSON.
    """

    written: str

    def made(self) -> object:
        """Create a new object."""
        return decode(json.loads(self.written))

    def imports(self) -> Sequence[str]:
        """Return the import lines that its ``repr`` needs."""
        return sorted(imports_of(json.loads(self.written)))

    def json(self) -> Any:
        """Return the argument as JSON."""
        return {_KEY: json.loads(self.written)}

    def __repr__(self) -> str:
        return flat_expression(json.loads(self.written))


@dataclass(frozen=True, slots=True, repr=False)
class StandIn(MadeAnew):
    """An object with the members of a protocol, and nothing else.

    Attributes:
        attributes: the plain attributes, with their values.
        methods: the methods, with their results.
    """

    attributes: tuple[tuple[str, Any], ...]
    methods: tuple[tuple[str, Any], ...]

    def made(self) -> object:
        """Create a new object."""
        methods = {name: _returning(value) for name, value in self.methods}
        return SimpleNamespace(**dict(self.attributes), **methods)

    def imports(self) -> Sequence[str]:
        """Return the import lines that its ``repr`` needs."""
        return ("from types import SimpleNamespace",)

    def json(self) -> Any:
        """Return the argument as JSON."""
        return {_STAND_IN: {"attributes": dict(self.attributes), "methods": dict(self.methods)}}

    def __repr__(self) -> str:
        methods = ((name, f"lambda *_, **__: {value!r}") for name, value in self.methods)
        named = [*((name, repr(value)) for name, value in self.attributes), *methods]
        return f"SimpleNamespace({', '.join(f'{name}={text}' for name, text in named)})"


def _returning(value: Any) -> Callable[..., Any]:
    return lambda *_, **__: value


def argument_of(data: dict[str, Any]) -> Any:
    """Return the argument for JSON data; see :meth:`MadeArgument.json`."""
    if _STAND_IN in data:
        members = data[_STAND_IN]
        if not isinstance(members, dict) or not all(
            isinstance(members.get(part), dict) and all(map(str.isidentifier, members[part])) for part in _PARTS
        ):
            raise FormatError(f"a stand-in has {' and '.join(_PARTS)}, not {members!r}")
        return StandIn(*(tuple((name, plain_value(value)) for name, value in members[part].items()) for part in _PARTS))
    return _argument(data[_KEY]) if _KEY in data else plain_value(data)


def values_of(annotation: Any) -> Sequence[Any]:
    """Return a few values of a type; none if the type is unknown. If numbers match, as in ``Hashable``, numbers.

    Raises:
        TargetError: the type is known, but no value can be created; the message has the reason and the field.
    """
    if _fits_numbers(annotation):
        return values_of(int)
    if stand_ins := _stand_ins(annotation):
        return stand_ins
    try:
        return _values_of_known(annotation)
    except _UnknownTypeError:
        values = (value for part in _parts(annotation) for value in values_of(part))
        return list({(type(value), value): value for value in values}.values())


class _UnknownTypeError(Exception):
    """The type of an annotation is unknown."""


def _fits_numbers(annotation: Any) -> bool:
    """Whether ``int`` is an instance of an abstract class or of a protocol."""
    try:
        kind = get_origin(annotation) or annotation
        if not getattr(kind, "_is_protocol", False):
            return isinstance(kind, ABCMeta) and issubclass(int, kind)
        bases = [base for base in kind.__mro__ if getattr(base, "_is_protocol", False)]
        names = {name for base in bases for name in (*vars(base), *getattr(base, "__annotations__", ()))}
        return all(hasattr(int, name) for name in names - _OF_PROTOCOLS)
    except Exception:  # the annotation runs its own code here
        return False


def _stand_ins(annotation: Any) -> Sequence[StandIn]:
    """Return two objects with the members of a protocol; none if it is no protocol, or needs more than plain data."""
    stand_ins = []
    try:
        kind = get_origin(annotation) or annotation
        if type(kind) not in _PROTOCOL_TYPES or not kind._is_protocol:
            return ()
        bases = [base for base in kind.__mro__ if getattr(base, "_is_protocol", False)]
        attributes = {name: hint for base in bases for name, hint in get_type_hints(base).items()}
        members = {name: value for base in bases for name, value in vars(base).items() if name not in _OF_PROTOCOLS}
        methods = {name: get_type_hints(value).get("return", type(None)) for name, value in members.items()}
        if any(name.startswith("__") for name in (*attributes, *methods)):
            return ()
        for number in range(_FIRST):
            parts = (
                tuple((name, _nth_scalar(hint, number)) for name, hint in hints.items() if name not in besides)
                for hints, besides in ((attributes, ()), (methods, attributes))
            )
            stand_ins.append(StandIn(*parts))
    except Exception:  # the annotation runs its own code here, or needs more than plain data
        return ()
    return stand_ins if stand_ins[0] != stand_ins[1] else stand_ins[:1]


def _nth_scalar(hint: Any, number: int) -> Any:
    values = [value for value in values_of(hint) if isinstance(value, _SCALARS)]
    return values[number % len(values)]


def _parts(annotation: Any) -> Sequence[Any]:
    """Return the alternatives of a union; none for other annotations."""
    try:
        return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ()
    except Exception:  # the annotation runs its own code here
        return ()


def _values_of_known(annotation: Any) -> Sequence[Any]:
    """Return a few values of a type.

    Raises:
        _UnknownTypeError: the type is unknown.
        TargetError: the type is known, but no value can be created.
    """
    try:
        schema = schema_of_type(annotation)
        trees = few_values(schema)
    except (SchemaError, NotPlainError) as error:
        reason = str(error).partition("; ")[0]
        if reason.startswith("the objects have the type"):
            raise _UnknownTypeError from error
        raise TargetError(reason) from error
    except Exception as error:  # whatever code the annotation runs, the test continues without it
        raise _UnknownTypeError from error
    values: dict[tuple[type, Any], None] = {}
    refused = ""
    for value in map(_argument, trees):
        try:
            if isinstance(value, MadeArgument):
                value.made()
            values[type(value), value] = None
        except NotPlainError as error:
            refused = refused or f"{value!r}: {error}"
    if refused and not values:
        raise TargetError(refused)
    distinct = [value for _, value in values]
    return (
        distinct if isinstance(schema, (Choice, Either)) or len(distinct) <= _FIRST else [*distinct[:_FIRST], *distinct]
    )


def _argument(tree: Tree) -> Any:
    return tree if isinstance(tree, _SCALARS) else MadeArgument(json.dumps(tree))
