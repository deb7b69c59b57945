"""Annotations of parameters: what they are worth, and when objects are guessed."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import pytest

from kcache_conformance.fuzzing.rules import Kind
from kcache_conformance.fuzzing.schemas.schema import SchemaError
from kcache_conformance.fuzzing.sources import Sources
from kcache_conformance.fuzzing.subject import Subject, make_subject
from kcache_stress.loading import load_object


@dataclass
class Task:
    name: str


class HasName(Protocol):
    name: str


T = TypeVar("T")
SomeTask = TypeVar("SomeTask", bound=Task)
Named = TypeVar("Named", bound=HasName)
TextOrTask = TypeVar("TextOrTask", str, Task)


def of_class(obj: Task) -> list[str]:
    return [obj.name]


def of_bound(obj: SomeTask) -> list[SomeTask]:
    return [obj]


def of_constraints(obj: TextOrTask) -> list[TextOrTask]:
    return [obj]


def with_an_unknown_result(obj: Task) -> NotThere:  # type: ignore[name-defined]  # noqa: F821
    return [obj.name]


@functools.wraps(of_class)
def decorated(*arguments: Any) -> Any:
    return of_class(*arguments)


def _with_prefix(prefix: str, obj: Task) -> list[str]:
    return [prefix + obj.name]


class Caller(Generic[T]):
    def __call__(self, obj: Task) -> list[str]:
        return [obj.name]

    def method(self, obj: Task) -> list[str]:
        return [obj.name]


def bare(obj):  # type: ignore[no-untyped-def]
    return [obj["metadata"]["name"]]


def of_anything(obj: Any) -> list[str]:
    return [obj["metadata"]["name"]]


def of_manifest(obj: dict[str, Any] | None) -> list[str]:
    return [obj["metadata"]["name"]] if obj else []


def of_mapping(obj: Mapping[str, Any]) -> list[str]:
    return [obj["metadata"]["name"]]


def of_protocol(obj: HasName | Task) -> list[str]:
    return [obj.name]


def of_free_variable(obj: T) -> list[T]:
    return [obj]


def of_protocol_variable(obj: Named) -> list[str]:
    return [obj.name]


def of_lost(obj: NotThere) -> list[str]:  # type: ignore[name-defined]  # noqa: F821
    return [obj.name]


def _subject(function: Any) -> Subject:
    return make_subject(function, Kind.INDEX)


@pytest.mark.parametrize(
    ("function", "annotation"),
    [
        (of_class, Task),
        (of_bound, SomeTask),
        (of_constraints, TextOrTask),
        (with_an_unknown_result, Task),
        (decorated, Task),
        (functools.partial(_with_prefix, "a"), Task),
        (Caller(), Task),
        (Caller().method, Task),
    ],
)
def test_an_annotation_says_what_the_objects_are(function: Any, annotation: Any) -> None:
    assert _subject(function).annotation == annotation
    assert not Sources().are_guessed(_subject(function))


@pytest.mark.parametrize(
    "function",
    [bare, of_anything, of_manifest, of_mapping, of_protocol, of_free_variable, of_protocol_variable, len, str.upper],
)
def test_an_annotation_that_leaves_all_open_is_no_source(function: Any) -> None:
    assert _subject(function).annotation is None
    assert Sources().are_guessed(_subject(function))
    assert not Sources(type_or_strategy=Task).are_guessed(_subject(function))
    assert not Sources(samples=("pods.yaml",)).are_guessed(_subject(function))


def test_an_import_for_type_checkers_alone_says_what_the_objects_are(tmp_path: Path) -> None:
    (tmp_path / "checked.py").write_text(
        "from __future__ import annotations\nfrom typing import TYPE_CHECKING\n\n"
        "if TYPE_CHECKING:\n    from not_installed import Nothing\n    from fractions import Fraction as Share\n\n\n"
        "def by_share(share: Share) -> list[str]:\n    return [str(share)]\n\n\n"
        "def by_nothing(nothing: Nothing) -> list[str]:\n    return [str(nothing)]\n",
        encoding="utf-8",
    )
    assert _subject(load_object(f"{tmp_path}/checked.py:by_share")).annotation is Fraction
    with pytest.raises(SchemaError, match="name 'Nothing' is not defined"):
        _ = _subject(load_object(f"{tmp_path}/checked.py:by_nothing")).annotation


def test_an_annotation_that_is_not_to_be_found_is_refused_unless_something_else_says_it() -> None:
    subject = _subject(of_lost)
    with pytest.raises(SchemaError, match="parameter 'obj' has the annotation 'NotThere', which cannot be resolved"):
        Sources().are_guessed(subject)
    assert not Sources(type_or_strategy=Task).are_guessed(subject)
