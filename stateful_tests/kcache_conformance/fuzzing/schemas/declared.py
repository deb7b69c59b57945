"""The declared fields of a class of any supported library (dataclasses, attrs, pydantic ...); none is imported."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .schema import SchemaError, Style

ADVICE = "give a strategy, a schema, or samples of the objects instead (--strategy, --schema, --samples)"


@dataclass(frozen=True)
class DeclaredField:
    """A declared field of a class.

    Attributes:
        name: the name of the attribute or the key.
        annotation: its type.
        is_optional: whether an instance can be created without it.
        bounds: further limits of its values.
        default: creates the default value of an optional field; ``None`` if there is no default, as in a dict.
    """

    name: str
    annotation: Any
    is_optional: bool
    bounds: tuple[Any, ...] = ()
    default: Callable[[], Any] | None = None


@dataclass(frozen=True)
class Declaration:
    """The declaration of a class.

    Attributes:
        fields: in the order of the declaration.
        style: items or attributes.
        make: creates an instance from the fields by keyword.
    """

    fields: tuple[DeclaredField, ...]
    style: Style
    make: Callable[..., Any] | None


def declaration_of(cls: type[Any]) -> Declaration | None:
    """Return the declaration of ``cls``; ``None`` if its fields are unknown.

    Raises:
        SchemaError: the class has fields, but an annotation is missing or cannot be resolved.
    """
    if hasattr(cls, "__required_keys__") and issubclass(cls, dict):
        return _typed_dict(cls)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return _named_tuple(cls)
    fields = getattr(cls, "__pydantic_fields__", None) or getattr(cls, "model_fields", None)
    if isinstance(fields, Mapping):
        return _pydantic(cls, fields)
    if inspect.isabstract(cls) or not isinstance(cls.__init__, types.FunctionType):
        return None
    if hasattr(cls, "__attrs_attrs__"):
        return _attrs(cls)
    return _dataclass(cls) or _plain(cls)


def _typed_dict(cls: type[Any]) -> Declaration:
    fields = []
    for name, annotation in hints_of(cls).items():
        is_required = name in getattr(cls, "__required_keys__", ())
        # If annotations are texts, only the resolved annotations show the qualifiers.
        for qualifier, inner in _qualifiers(annotation):
            is_required = {"Required": True, "NotRequired": False}.get(qualifier, is_required)
            annotation = inner
        fields.append(DeclaredField(name, annotation, not is_required))
    return Declaration(tuple(fields), Style.ITEMS, None)


def _qualifiers(annotation: Any) -> list[tuple[str, Any]]:
    qualifiers = []
    while (name := getattr(typing.get_origin(annotation), "_name", None)) in ("Required", "NotRequired", "ReadOnly"):
        annotation = typing.get_args(annotation)[0]
        qualifiers.append((name, annotation))
    return qualifiers


def _named_tuple(cls: Any) -> Declaration:
    hints = hints_of(cls)
    if missing := [name for name in cls._fields if name not in hints]:
        raise SchemaError(f"field {missing[0]!r} of class {cls.__qualname__} has no annotation; {ADVICE}")
    defaults = cls._field_defaults
    fields = tuple(
        DeclaredField(name, hints[name], name in defaults, default=functools.partial(defaults.get, name))
        for name in cls._fields
    )
    return Declaration(fields, Style.CLASS, cls)


def _pydantic(cls: Any, infos: Mapping[str, Any]) -> Declaration:
    if not getattr(cls, "__pydantic_complete__", True) and hasattr(cls, "model_rebuild"):
        with contextlib.suppress(Exception):
            cls.model_rebuild()
        infos = getattr(cls, "__pydantic_fields__", infos)
    infos = {name: info for name, info in infos.items() if getattr(info, "init", None) is not False}
    fields = tuple(
        DeclaredField(
            name,
            info.annotation,
            not info.is_required(),
            tuple(info.metadata),
            functools.partial(info.get_default, call_default_factory=True),
        )
        for name, info in infos.items()
    )
    config = getattr(cls, "model_config", None) or getattr(cls, "__pydantic_config__", None) or {}
    if config.get("populate_by_name") or config.get("validate_by_name"):
        return Declaration(fields, Style.CLASS, cls)
    return Declaration(
        fields, Style.CLASS, _renaming(cls, {name: alias_of(name, info) for name, info in infos.items()})
    )


def alias_of(name: str, info: Any) -> str:
    """Return the keyword by which a pydantic model takes its field ``name``."""
    alias = getattr(info, "validation_alias", None) or getattr(info, "alias", None)
    choices = getattr(alias, "choices", (alias,))
    return next((choice for choice in choices if isinstance(choice, str)), name)


def _attrs(cls: Any) -> Declaration:
    hints = hints_of(cls)
    parameters = inspect.signature(cls.__init__).parameters
    aliases: dict[str, str] = {}
    fields = []
    for attribute in cls.__attrs_attrs__:
        if not attribute.init:
            continue
        annotation = hints.get(attribute.name, attribute.type)
        if annotation is None and attribute.name not in hints:
            raise SchemaError(f"field {attribute.name!r} of class {cls.__qualname__} has no annotation; {ADVICE}")
        alias = getattr(attribute, "alias", None) or attribute.name.lstrip("_")
        aliases[attribute.name] = alias
        is_optional = parameters[alias].default is not inspect.Parameter.empty
        default = getattr(attribute.default, "factory", functools.partial(getattr, attribute, "default"))
        fields.append(DeclaredField(attribute.name, annotation, is_optional, default=default))
    return Declaration(tuple(fields), Style.CLASS, _renaming(cls, aliases))


def _dataclass(cls: type[Any]) -> Declaration | None:
    if not dataclasses.is_dataclass(cls):
        return None
    parameters = dict(list(inspect.signature(cls.__init__).parameters.items())[1:])
    names = {field.name: field for field in dataclasses.fields(cls) if field.init}
    others = [parameter for name, parameter in parameters.items() if name not in names]
    if any(name not in parameters for name in names) or any(map(_is_required, others)):
        # It has an ``__init__`` of its own, or an ``InitVar`` that must be given.
        return None
    hints = hints_of(cls)
    fields = tuple(
        DeclaredField(name, hints[name], not _is_required(parameters[name]), default=_default_of(field))
        for name, field in names.items()
    )
    return Declaration(fields, Style.CLASS, cls)


def _default_of(field: dataclasses.Field[Any]) -> Callable[[], Any]:
    factory = field.default_factory
    return functools.partial(getattr, field, "default") if factory is dataclasses.MISSING else factory


def _plain(cls: type[Any]) -> Declaration | None:
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    parameters = [one for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    if not parameters:
        return None
    hints = hints_of(cls.__init__)
    fields = []
    for one in parameters:
        if one.kind is one.POSITIONAL_ONLY or one.name not in hints:
            what = "is positional-only" if one.name in hints else "has no annotation"
            raise SchemaError(f"parameter {one.name!r} of {cls.__qualname__}.__init__ {what}; {ADVICE}")
        annotation = hints[one.name]
        if isinstance(annotation, dataclasses.InitVar):
            annotation = annotation.type
        default = functools.partial(getattr, one, "default")
        fields.append(DeclaredField(one.name, annotation, not _is_required(one), default=default))
    return Declaration(tuple(fields), Style.CLASS, cls)


def _is_required(parameter: inspect.Parameter) -> bool:
    is_rest = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return parameter.default is parameter.empty and not is_rest


def _renaming(cls: type[Any], keywords: Mapping[str, str]) -> Callable[..., Any]:
    """Return ``cls``; if it takes fields by other keywords, return a function that translates the field names."""
    if all(name == keyword for name, keyword in keywords.items()):
        return cls

    @functools.wraps(cls, updated=())
    def make(**fields: Any) -> Any:
        return cls(**{keywords.get(name, name): value for name, value in fields.items()})

    return make


def hints_of(what: Any) -> dict[str, Any]:
    """Return the resolved annotations of a class or a function.

    Raises:
        SchemaError: an annotation cannot be resolved.
    """
    try:
        return typing.get_type_hints(what, include_extras=True)
    except NameError:
        # The annotations of a class that is local to a function may refer to the class itself.
        local = {what.__name__: what, **vars(what)} if isinstance(what, type) else None
        try:
            return typing.get_type_hints(what, localns=local, include_extras=True)
        except Exception as error:
            raise _unresolved(what, error) from error
    except Exception as error:
        raise _unresolved(what, error) from error


def _unresolved(what: Any, error: Exception) -> SchemaError:
    return SchemaError(f"the annotations of {what.__qualname__} cannot be resolved: {error}; {ADVICE}")
