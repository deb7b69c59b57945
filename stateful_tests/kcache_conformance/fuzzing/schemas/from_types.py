"""Schemas from annotated Python types: data classes of all libraries, typed dicts, named tuples, plain classes."""

from __future__ import annotations

import collections.abc as abc
import contextlib
import copy
import enum
import inspect
import reprlib
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .combining import either, require_finite, without_none
from .constraints import constrained
from .declared import ADVICE, Declaration, DeclaredField, declaration_of
from .fixed_tuples import fixed_tuple
from .from_client import PLAIN, is_client_model, schema_of_client_model
from .schema import (
    Anything,
    Array,
    Choice,
    Field,
    Integer,
    Later,
    Map,
    Nothing,
    Record,
    Schema,
    SchemaError,
    Standard,
    Style,
    Text,
)
from .standard_types import STANDARD_TYPES

_PLAIN: dict[Any, Schema] = {
    **{kind: Standard(kind) for kind in STANDARD_TYPES},
    **PLAIN,
    int: Integer(),
    None: Nothing(),
}
_LISTS = {list, abc.Sequence, abc.MutableSequence, abc.Collection, abc.Iterable}
_SETS = {set, abc.Set, abc.MutableSet}
_MAPS = {dict, abc.Mapping, abc.MutableMapping}
_WHOLE = "the objects"
_FIELD_ADVICE = f"give the field a default, or {ADVICE}"
_QUALIFIERS = ("Required", "NotRequired", "ReadOnly", "Final")


def schema_of_type(annotation: Any) -> Schema:
    """Return the schema of the values of a type.

    Args:
        annotation: a class, or any other annotation.

    Raises:
        SchemaError: a type in it is unknown, and there is no default value; or no value of it is finite. The message
            names the field.
    """
    return require_finite(_Types().schema(annotation, _WHOLE), f"the type {_type_text(annotation)}")


class _Types:
    """A converter of types into schemas, which caches them for types that refer to themselves."""

    def __init__(self) -> None:
        self._schemas: dict[Any, Schema] = {}
        self._under_way: set[Any] = set()
        self._later: dict[Any, Later] = {}
        self._variables: Mapping[Any, Any] = {}

    def schema(self, annotation: Any, where: str) -> Schema:
        """Return the schema of a type; ``where`` names its owner in errors. Any error means that it is unknown."""
        try:
            return self._schema(annotation, where)
        except SchemaError:
            raise
        except Exception as error:  # attribute access may run the class's code, and typing has many forms
            raise _unknown(annotation, where) from error

    def _schema(self, annotation: Any, where: str) -> Schema:
        plain = _plain(annotation)
        if plain is not None:
            return plain
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is typing.Annotated:
            return constrained(self.schema(arguments[0], where), annotation.__metadata__)
        if getattr(origin, "_name", None) in _QUALIFIERS and arguments:
            return self.schema(arguments[0], where)
        if origin in (typing.Union, types.UnionType):
            return either(self.schema(one, where) for one in arguments)
        if origin is typing.Literal:
            return Choice(arguments)
        if isinstance(annotation, typing.NewType):
            return self.schema(annotation.__supertype__, where)
        if isinstance(annotation, typing.TypeVar):
            return self._variable(annotation, where)
        if hasattr(origin or annotation, "__value__"):
            alias = origin or annotation
            return self._once(annotation, where, lambda _: self.schema(alias.__value__, where))
        container = self._container(annotation, origin or annotation, arguments, where)
        if container is not None:
            return container
        cls = origin or annotation
        if not isinstance(cls, type):
            raise _unknown(annotation, where)
        if issubclass(cls, enum.Enum) and len(cls) > 0:
            return Choice(tuple(cls))
        if is_client_model(cls):
            return schema_of_client_model(cls)
        return self._once(annotation, where, lambda filled: self._record(filled, cls, where))

    def _once(self, annotation: Any, where: str, make: Callable[[Any], Schema]) -> Schema:
        annotation = self._substituted(annotation)
        if annotation in self._under_way:
            return self._later.setdefault(annotation, Later(lambda: self._schemas[annotation], _type_text(annotation)))
        if annotation not in self._schemas:
            self._under_way.add(annotation)
            outer = self._variables
            self._variables = _own_variables(annotation)
            try:
                schema = make(annotation)
            finally:
                self._variables = outer
                self._under_way.discard(annotation)
            if schema is self._later.get(annotation):
                raise SchemaError(f"{where} has the type {_type_text(annotation)}, which is defined only by itself")
            self._schemas[annotation] = schema
        return self._schemas[annotation]

    def _substituted(self, annotation: Any) -> Any:
        """Replace the type variables in ``annotation`` by their types; free variables by their bounds."""
        if isinstance(annotation, typing.TypeVar):
            return self._variables.get(annotation, annotation)
        parameters = getattr(annotation, "__parameters__", ())
        if not parameters or typing.get_origin(annotation) is None:
            return annotation
        return annotation[tuple(self._variables.get(one, one.__bound__ or Any) for one in parameters)]

    def _variable(self, variable: typing.TypeVar, where: str) -> Schema:
        if variable in self._variables:
            return self.schema(self._variables[variable], where)
        if variable.__constraints__:
            return either(self.schema(one, where) for one in variable.__constraints__)
        return self.schema(Any if variable.__bound__ is None else variable.__bound__, where)

    def _container(self, annotation: Any, origin: Any, arguments: tuple[Any, ...], where: str) -> Schema | None:
        def argument(position: int) -> Schema:
            return self.schema(arguments[position], where) if arguments else Anything()

        if not isinstance(origin, type):
            return None
        if origin in _LISTS:
            return Array(argument(0))
        if origin in _SETS:
            return Array(argument(0), container=set)
        if origin is frozenset:
            return Array(argument(0), container=frozenset)
        if origin in _MAPS:
            return Map(argument(0) if arguments else Text(), argument(1))
        if origin is not tuple:
            return None
        if annotation in (tuple, typing.Tuple):  # noqa: UP006
            return Array(Anything(), container=tuple)
        if len(arguments) == 2 and arguments[1] is ...:
            return Array(argument(0), container=tuple)
        return fixed_tuple([self.schema(one, where) for one in arguments])

    def _record(self, annotation: Any, cls: type[Any], where: str) -> Schema:
        try:
            declaration = declaration_of(cls)
            record = None if declaration is None else self._declared(annotation, cls, declaration)
        except SchemaError as error:
            raise error if where == _WHOLE else SchemaError(f"{where} ({cls.__qualname__}): {error}") from error
        if record is None:
            raise _unknown(annotation, where)
        return record

    def _declared(self, annotation: Any, cls: type[Any], declaration: Declaration) -> Record:
        variables = dict(_variables(annotation))
        merged = {key: value for own in reversed(variables.values()) for key, value in own.items()}
        fields, notes = [], []
        for declared in declaration.fields:
            owner = next((base for base in cls.__mro__ if declared.name in inspect.get_annotations(base)), cls)
            self._variables = {**merged, **variables.get(owner, {})}
            schemas = dict(self._schemas)
            try:
                fields.append(self._field(cls, declared))
            except SchemaError as error:
                self._schemas = schemas  # schemas that were created meanwhile may refer to the failed one
                remaining, note = _without_value(declared, declaration.style, error)
                fields += remaining
                notes.append(note)
        return Record(tuple(fields), declaration.style, declaration.make, cls.__name__, tuple(notes))

    def _field(self, cls: type[Any], declared: DeclaredField) -> Field:
        schema = self.schema(declared.annotation, f"field {declared.name!r} of class {cls.__qualname__}")
        schema, may_be_none = without_none(constrained(schema, declared.bounds))
        return Field(declared.name, schema, declared.is_optional, may_be_none or isinstance(schema, Anything))


def _without_value(declared: DeclaredField, style: Style, error: SchemaError) -> tuple[list[Field], str]:
    """Omit a field of unknown values from a dict, or fix it at its default; return the field and a note about it.

    Raises:
        SchemaError: ``error``, if the field is required, or its default does not equal its copy.
    """
    reason = str(error).partition(f"; {_FIELD_ADVICE}")[0].partition(f"; {ADVICE}")[0]
    if declared.is_optional and style is Style.ITEMS:
        return [], f"{reason}: it is left out"
    if declared.is_optional and declared.default is not None:
        with contextlib.suppress(Exception):
            default = declared.default()
            if copy.deepcopy(default) == default:
                field = Field(declared.name, Choice((default,)), may_be_none=default is None)
                return [field], f"{reason}: it keeps its default, {reprlib.repr(default)}"
    raise error


def _plain(annotation: Any) -> Schema | None:
    try:
        return _PLAIN.get(annotation)
    except TypeError:  # it is not hashable, so it is no plain type
        return None


def _own_variables(annotation: Any) -> dict[Any, Any]:
    """Return type variable -> type, for the variables of a generic class or alias itself."""
    origin = typing.get_origin(annotation)
    parameters = getattr(origin, "__type_params__", ()) or getattr(origin, "__parameters__", ())
    return dict(zip(parameters, typing.get_args(annotation), strict=False))


def _variables(annotation: Any) -> Iterator[tuple[type[Any], dict[Any, Any]]]:
    """Yield each class and base with its type variables -> types; bases may bind equal variables differently."""
    cls = typing.get_origin(annotation) or annotation
    own = _own_variables(annotation)
    yield cls, own
    for base in getattr(cls, "__orig_bases__", ()):
        if typing.get_origin(base) in (None, typing.Generic, typing.Protocol):
            continue
        free = getattr(base, "__parameters__", ())
        yield from _variables(base[tuple(own.get(one, Any) for one in free)] if free else base)


def _unknown(annotation: Any, where: str) -> SchemaError:
    have, advice = ("have", ADVICE) if where == _WHOLE else ("has", _FIELD_ADVICE)
    return SchemaError(
        f"{where} {have} the type {_type_text(annotation)}, for which no values can be created; {advice}"
    )


def _type_text(annotation: Any) -> str:
    if isinstance(annotation, type) and typing.get_origin(annotation) is None:
        module = "" if annotation.__module__ == "builtins" else f"{annotation.__module__}."
        return module + annotation.__qualname__
    return str(annotation)
