"""Types of targets that are guessed where the source says little: classes in C, objects, values, coroutines."""

from __future__ import annotations

import typing
from pathlib import Path
from typing import Any, Protocol

import pytest
import typing_extensions as te

from kcache_conformance.classes.argument_instances import argument_of, values_of
from kcache_conformance.runs.guessed_type import guessed_type, type_of_target
from kcache_model.errors import TargetError

MODULE = """
import threading, queue
from collections import OrderedDict
from kcache import new_indexer

class Keyed(dict):
    def __init__(self, *args, **kwargs): super().__init__(*args[1:], **kwargs)

class Optional:
    def __init__(self, name=None, *, size=None): self.size = size
    def add(self): return 1

class Needs:
    def __init__(self, size): self.size = size
    def get(self): return self.size

class FromC(threading.local):
    def __init__(self, *args): pass

class Queue(queue.SimpleQueue):
    def __init__(self, *args): pass

class Store:
    def __init__(self, key_func, indexers): self.key_func = key_func
    def get_by_key(self, key): return None

class Sub(Store):
    def __init__(self, *args): super().__init__(*args)

class Delegates:
    def __init__(self, *args): self._inner = new_indexer(*args)
    def __getattr__(self, name): return getattr(self._inner, name)

if True:
    class Nested: pass

table = {"indexer": new_indexer}
make = table["indexer"]
Alias = OrderedDict
ready = Optional()
limit = 3
P = limit

async def test_it(): pass

class TestAll:
    async def test_it(self): pass
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder holds the module."""
    (tmp_path / "things.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "spec",
    [
        *("collections:OrderedDict", "collections:deque", "argparse:Namespace", "io:BytesIO", "queue:SimpleQueue"),
        *(f"things.py:{name}" for name in ("Keyed", "Optional", "FromC", "Queue", "Nested", "Alias")),
    ],
)
def test_a_class_without_methods_of_an_indexer_is_a_class(spec: str, here: None) -> None:
    assert guessed_type(spec) == "class"


@pytest.mark.parametrize("name", ["test_it", "TestAll.test_it"])
def test_an_async_function_is_a_test(name: str, here: None) -> None:
    assert guessed_type(f"things.py:{name}") == "test"


@pytest.mark.parametrize("name", ["Store", "Sub", "Delegates", "Needs", "make"])
def test_what_may_be_an_indexer_is_taken_for_one(name: str, here: None) -> None:
    assert guessed_type(f"things.py:{name}") == "indexer"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("things.py:ready", "things.py:ready is an object. Name its class, things.py:Optional, or a function"),
        ("logging:root", "Name its class, logging:RootLogger, or"),
        ("things.py:limit", "things.py:limit is a value, of the type int. Name a class"),
        ("things.py:queue", "things.py:queue is a module. Name something in it"),
    ],
)
def test_what_is_no_target_is_named_with_what_to_write_instead(spec: str, message: str, here: None) -> None:
    with pytest.raises(TargetError) as caught:
        type_of_target(spec, None)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


P = te.ParamSpec("P")
R = te.TypeVar("R")
Ts = te.TypeVarTuple("Ts")


class Adds(Protocol):
    """Numbers add."""

    def __add__(self, other: Any, /) -> Any: ...


class Closes(Protocol):
    """No number closes."""

    def close(self) -> None: ...


class Raises(type):
    """The class of classes that raise when they are asked."""

    def __getattribute__(cls, name: str) -> Any:
        raise RuntimeError(name)


class Hostile(metaclass=Raises):
    """Raises when it is asked."""


NUMBERS = values_of(int)


@pytest.mark.parametrize(
    "annotation",
    [
        *(typing.Callable[P, R], typing.Callable[te.Concatenate[int, P], R], te.Concatenate[int, P], P, P.args, Ts),
        *(te.Unpack[Ts], tuple[*Ts], te.Self, te.Never, te.LiteralString, typing.ForwardRef("Unknown")),
        *(list[typing.ForwardRef("Unknown")], type[R], te.TypeGuard[int], "text", 5, ..., [int], lambda: None),
    ],
    ids=lambda annotation: type(annotation).__name__,
)
def test_an_annotation_that_is_not_known_has_no_values(annotation: Any) -> None:
    assert list(values_of(annotation)) == []


def test_a_protocol_has_stand_ins() -> None:
    (stand_in,) = values_of(Closes)
    assert stand_in.made().close() is None
    assert argument_of(stand_in.json()) == stand_in


def test_a_class_that_raises_when_it_is_asked_has_no_values() -> None:
    assert list(values_of(Hostile)) == []


@pytest.mark.parametrize(
    "annotation",
    [
        *(Any, object, typing.Hashable, Adds, typing.SupportsInt, typing.NewType("Number", int)),
        *(typing.Annotated[int, "of things"], te.Required[int]),
    ],
)
def test_what_numbers_fit_has_numbers(annotation: Any) -> None:
    assert values_of(annotation) == NUMBERS


def test_what_is_known_of_a_union_has_values() -> None:
    assert list(values_of(int | typing.Callable[P, R])) == [1, 2, 3]
    assert list(values_of(typing.Callable[P, R] | None)) == [None]
    assert list(values_of(typing.Literal["x", 3])) == ["x", 3]
