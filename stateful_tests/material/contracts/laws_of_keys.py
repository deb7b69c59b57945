"""Laws of the key functions and of ``split_meta_namespace_key``."""

from __future__ import annotations

from kcache import (
    DeletedFinalStateUnknown,
    KeyFormatError,
    deletion_handling_meta_namespace_key_func,
    meta_namespace_key_func,
    split_meta_namespace_key,
)

from .law import Mutant, Verdict, law

_MODULE = "kcache.keys"


def _manifest(namespace: str | None, name: str | None) -> object:
    return {"metadata": {"namespace": namespace, "name": name}}


@law(
    mutant=Mutant(_MODULE, 'key.split("/")', 'key.strip("/").split("/")'),
    verdict=Verdict.NOT_REFUTED,
    paths=25,
)
def a_slash_is_all_that_breaks_the_round_trip(namespace: str, name: str) -> bool:
    """Splitting the key of an object gives its namespace and name just if neither holds a ``/``.

    post: _
    """
    try:
        parts = split_meta_namespace_key(meta_namespace_key_func(_manifest(namespace, name)))
    except KeyFormatError:
        parts = None
    return (parts == (namespace, name)) == ("/" not in namespace and "/" not in name)


@law(
    mutant=Mutant(_MODULE, "return parts[0], parts[1]", "return parts[1], parts[0]"),
    verdict=Verdict.NOT_REFUTED,
    paths=30,
)
def a_key_comes_back_from_its_parts(key: str) -> bool:
    """A key that can be split is the key of its parts, but for ``/name``: an empty namespace leaves no slash.

    post: _
    """
    try:
        namespace, name = split_meta_namespace_key(key)
    except KeyFormatError:
        return True
    return meta_namespace_key_func(_manifest(namespace, name)) == key.removeprefix("/")


@law(
    mutant=Mutant(_MODULE, 'key.split("/")', 'key.rsplit("/", 1)'),
    verdict=Verdict.NOT_REFUTED,
    paths=30,
)
def two_slashes_are_too_many(key: str) -> bool:
    """A key is refused just if it holds more than one slash.

    post: _
    """
    try:
        split_meta_namespace_key(key)
    except KeyFormatError:
        return key.count("/") > 1
    return key.count("/") <= 1


@law(
    mutant=Mutant(_MODULE, 'f"{namespace}/{name}" if namespace else name', 'f"{namespace}/{name}"'),
    verdict=Verdict.NOT_REFUTED,
    paths=25,
)
def what_is_absent_reads_as_empty(namespace: str | None, name: str | None) -> bool:
    """An absent namespace or name gives the same key as an empty one, and no namespace means no slash.

    post: _
    """
    expected = f"{namespace}/{name or ''}" if namespace else name or ""
    return meta_namespace_key_func(_manifest(namespace, name)) == expected


@law(
    mutant=Mutant(_MODULE, "return obj.key", "return meta_namespace_key_func(obj.obj)"),
    verdict=Verdict.CONFIRMED,
    paths=5,
)
def a_tombstone_has_the_key_that_it_carries(key: str, name: str) -> bool:
    """Whatever the object in the tombstone is called.

    post: _
    """
    tombstone = DeletedFinalStateUnknown(key, _manifest(None, name))
    return deletion_handling_meta_namespace_key_func(tombstone) == key
