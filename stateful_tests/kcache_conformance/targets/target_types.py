"""Target types by name. To add a type, define it and enter the place of its definition in :data:`_BUILT_IN`."""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from kcache_model.errors import TargetError
from kcache_model.object_types.object_type import OBJECT_TOKENS, ObjectType
from kcache_model.suggestion import did_you_mean
from kcache_stress.loading import load_object

from .class_names import CLASS, PREFIX
from .gallery import queue_gallery
from .imported_late import imported_late
from .target_type import TargetType

ENTRY_POINTS: Final = "kcache.target_types"
"""The group of entry points under which other packages offer target types, or object types."""

SPECIFIED: Final = "spec="
"""The prefix of names of target types that consist of a specification only; the specification's name follows."""

# Target types are above this folder, which knows only their places.
_ABOVE: Final = __name__.partition(".")[0]
_class_type: Final = imported_late(f"{_ABOVE}.classes.class_type:class_type")
_type_of_specification: Final = imported_late(f"{_ABOVE}.objects.specifications:type_of_specification")
_of_object_type: Final = imported_late(f"{_ABOVE}.objects.as_target_type:target_type")
_BUILT_IN: Final[Mapping[str, str]] = {
    "indexer": "indexers.target_type:INDEXER",
    "fifo": "queues.target_types:FIFO",
    "delta-fifo": "queues.target_types:DELTA_FIFO",
    "real-fifo": "queues.target_types:REAL_FIFO",
    "informer": "informers.target_type:INFORMER",
    "index-function": "fuzzing.target_types:INDEX_FUNCTION",
    "key-function": "fuzzing.target_types:KEY_FUNCTION",
    "test": "interleaved.as_target_type:TEST",
}
_PREFIXES: Final[Mapping[str, tuple[str, ...]]] = {
    "kx1.": ("indexer",),
    "kq1.": ("fifo", "delta-fifo", "real-fifo"),
    "ki1.": ("informer",),
    "kf1.": ("index-function", "key-function"),
    "kt1.": ("test",),
}


class _Loaded(Mapping[str, TargetType]):
    """The types that come with kcache, each imported on demand: half of them would take most of the start-up time."""

    def __getitem__(self, name: str) -> TargetType:
        return _built_in(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_BUILT_IN)

    def __len__(self) -> int:
        return len(_BUILT_IN)


TARGET_TYPES: Final[Mapping[str, TargetType]] = _Loaded()
"""Name -> target type, of those that come with kcache."""


@functools.cache
def target_type_named(name: str) -> TargetType:
    """Return the target type with a name.

    The name is one of :data:`TARGET_TYPES`, ``class=`` with a class, ``spec=`` with the name of a specification, a name
    that an installed package offers under the entry point group ``kcache.target_types``, or ``package.module:NAME`` of
    a target type or an object type.

    Raises:
        TargetError: there is no such target type.
    """
    if name in TARGET_TYPES:
        return TARGET_TYPES[name]
    if name.startswith(PREFIX):
        target_type: TargetType = _class_type(name)
        return target_type
    if name.startswith(SPECIFIED):
        return _as_target_type(name, _type_of_specification(name.removeprefix(SPECIFIED)))
    if ":" in name:
        return _as_target_type(name, load_object(name, wanted="TYPE"))
    from importlib.metadata import entry_points  # takes 15 ms, and few users have such packages installed

    offered = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    if name not in offered:
        known = ", ".join([*TARGET_TYPES, *offered])
        raise TargetError(
            f"unknown target type {name}; known are {known}, or write package.module:TYPE"
            f"{did_you_mean(name, [*TARGET_TYPES, *offered, CLASS])}"
        )
    return _as_target_type(name, offered[name].load())


@functools.cache
def _built_in(name: str) -> TargetType:
    return _as_target_type(name, pkgutil.resolve_name(f"{_ABOVE}.{_BUILT_IN[name]}"))


def _as_target_type(name: str, declared: object) -> TargetType:
    if isinstance(declared, ObjectType):
        declared = _of_object_type(replace(declared, name=name), partial(queue_gallery, name))
    if not isinstance(declared, TargetType):
        raise TargetError(f"{name} is a {type(declared).__name__}, not a TargetType or an ObjectType")
    return declared if declared.name == name else replace(declared, name=name)


def trusted_type_of_token(token: str, *, is_trusted: bool = False, named: Collection[str] = ()) -> TargetType | None:
    """Return :func:`type_of_token` after a check of all names in the token, which runs before anything is imported.

    Args:
        token: the token.
        is_trusted: whether the user trusts the author of the token: it may then name any code.
        named: targets that the user has named; the token may name them, too.

    Raises:
        FormatError: the token is damaged.
        UntrustedError: replaying it would run code from outside the project.
        TargetError: its target type is not installed here.
    """
    if not token.startswith((OBJECT_TOKENS, *_PREFIXES)):
        return None
    if not is_trusted:
        from .token_trust import require_trusted  # imported here: most processes replay nothing

        require_trusted([token], named)
    return type_of_token(token)


def type_of_token(token: str) -> TargetType | None:
    """Return the target type whose findings have such tokens, or ``None``; the class in a token is imported.

    Raises:
        FormatError: the token is damaged.
        TargetError: its target type is not installed here.
    """
    if token.startswith(OBJECT_TOKENS):
        return target_type_named(token.removeprefix(OBJECT_TOKENS).rpartition(".")[0])
    names = next((names for prefix, names in _PREFIXES.items() if token.startswith(prefix)), ())
    known_types = [target_type_named(name) for name in names]
    if len(known_types) > 1:
        program = known_types[0].tokens.decode(token).program
        known_types = [known for known in known_types if known.owns(program)]
    return known_types[0] if known_types else None
