"""The driver tells what an Indexer really did: copies, foreign objects, odd results, errors of any type."""

from __future__ import annotations

import copy
import os
from typing import Any

import pytest

import kcache
from kcache_model.errors import TargetError
from kcache_model.indexers import operations as op
from kcache_model.indexers.driver import Driver, missing_operations
from kcache_model.indexers.items import Item, Semantics, Style
from kcache_model.indexers.operations import OperationName
from kcache_model.indexers.target import Target, make_target
from kcache_model.object_types.plain_driver import plain_value
from kcache_model.outcomes import ErrorKind, returned

A = Item("a", "v1", {"node": ("n1",), "tags": ("t", "t")})


def driver_of(indexer_class: type[kcache.Cache[Any]], **declared: Any) -> Driver:
    def factory(key_func: Any, indexers: Any) -> kcache.Cache[Any]:
        return indexer_class(key_func, kcache.new_thread_safe_store(indexers))

    return Driver(make_target(factory, **declared), ("node", "tags"), Semantics.CLASSIC)


@pytest.mark.parametrize("style", Style)
def test_every_style_goes_in_and_comes_out(style: Style) -> None:
    driver = driver_of(kcache.Cache)
    item = Item("a", "v1", {"node": ("n1",), "tags": ("t", "t")}, "7", style)
    assert driver.call(op.add(item)) == returned()
    assert driver.call(op.get(item)) == returned("v1")
    assert driver.call(op.list_objects()) == returned(("v1",))
    assert driver.call(op.by_index("tags", "t")) == returned(("v1",))
    assert driver.call(op.last_sync_resource_version()) == returned("7")


def test_a_copy_is_not_the_stored_object() -> None:
    class Copying(kcache.Cache[Any]):
        def get_by_key(self, key: str, default: Any = None, /) -> Any:
            return copy.copy(super().get_by_key(key, default))

    driver = driver_of(Copying)
    driver.call(op.add(A))
    assert driver.call(op.get_by_key("a")).value == "<a copy of v1>"
    lenient = driver_of(Copying, unsupported=["identity"])
    lenient.call(op.add(A))
    assert lenient.call(op.get_by_key("a")).value == "v1"


@pytest.mark.parametrize("result", [None, 3, "ab", b"x", object(), {}.values(), iter([]), set()])
def test_results_of_wrong_type_are_shown(result: object) -> None:
    class Odd(kcache.Cache[Any]):
        def list(self) -> Any:
            return result

    assert str(driver_of(Odd).call(op.list_objects()).value).startswith("<returned ")


@pytest.mark.parametrize("result", [["a"] * 1_000_000, ["a" * 10_000_000], [b"x" * 10_000_000]])
def test_monstrous_results_are_cut(result: list[str]) -> None:
    class Huge(kcache.Cache[Any]):
        def list_keys(self) -> Any:
            return result

    assert len(repr(driver_of(Huge).call(op.list_keys()))) < 500


def test_what_the_caller_was_given_is_cleared() -> None:
    class Lazy(kcache.Cache[Any]):
        seen: Any = None

        def replace(self, objs: Any, resource_version: str = "", /) -> None:
            self.seen = objs
            super().replace(objs, resource_version)

    driver = driver_of(Lazy)
    driver.call(op.replace((A,)))
    assert driver.made.seen == []  # type: ignore[attr-defined]
    assert driver.call(op.list_keys()) == returned(("a",))


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3), GeneratorExit()])
def test_whatever_is_raised_becomes_an_outcome(error: BaseException) -> None:
    class Raising(kcache.Cache[Any]):
        def list_keys(self) -> Any:
            raise error

    outcome = driver_of(Raising).call(op.list_keys())
    assert outcome.error is ErrorKind.OTHER
    assert type(error).__name__ in outcome.message


def test_errors_of_kcache_are_known() -> None:
    driver = driver_of(kcache.Cache)
    keyless, failing = Item(None, "v2"), Item("b", "v3", {"node": None})
    for operation, expected in (
        (op.add(keyless), ErrorKind.KEY_FUNC),
        (op.add(failing), ErrorKind.INDEX_FUNC),
        (op.index("node", failing), ErrorKind.INDEX_FUNC),
        (op.by_index("unknown", "x"), ErrorKind.INDEX_NOT_FOUND),
        (op.add_indexers("node"), ErrorKind.INDEXER_CONFLICT),
        (op.transaction((op.WriteKind.ADD, keyless)), ErrorKind.TRANSACTION),
        (op.add(A), None),
        (op.add_indexers("late"), ErrorKind.INDEXERS_RUNNING),
    ):
        assert driver.call(operation).error is expected, operation


def test_mutation_goes_behind_the_back_of_the_store() -> None:
    driver = driver_of(kcache.Cache)
    driver.call(op.add(A))
    driver.call(op.mutate("a", {"node": ("n2",)}))
    driver.call(op.mutate("missing", {"node": ("n2",)}))
    assert driver.call(op.by_index("node", "n1")) == returned(("v1",))
    assert driver.call(op.index("node", A)) == returned(()), "the object itself now has the other value"


def test_missing_methods_are_listed() -> None:
    class Bare:
        def list(self) -> list[Any]:
            return []

    missing = missing_operations(Bare())
    assert OperationName.LIST not in missing
    assert OperationName.BY_INDEX in missing
    assert OperationName.MUTATE not in missing


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (3, "the target is a int"),
        (lambda: None, "it is called as factory(key_func, indexers)"),
        (lambda one: one, "it is called as factory(key_func, indexers)"),
        (lambda one, two, three: one, "it is called as factory(key_func, indexers)"),
    ],
)
def test_unusable_factories_are_refused(factory: Any, message: str) -> None:
    with pytest.raises(TargetError) as caught:
        make_target(factory)
    assert message in str(caught.value)


def test_declarations() -> None:
    def factory(key_func: Any, indexers: Any) -> Any:
        raise NotImplementedError

    factory.kcache_unsupported = ["indexes", "resync"]  # type: ignore[attr-defined]
    target = make_target(factory)
    assert not target.supports(OperationName.BY_INDEX)
    assert not target.supports(OperationName.RESYNC)
    assert target.supports(OperationName.ADD)
    factory.kcache_unsupported = ["flying"]  # type: ignore[attr-defined]
    with pytest.raises(TargetError, match="flying"):
        make_target(factory)
    factory.kcache_unsupported = "resync"  # type: ignore[attr-defined]
    with pytest.raises(TargetError, match="must be a list"):
        make_target(factory)


def test_factories_that_take_semantics_are_told() -> None:
    told = []

    def factory(key_func: Any, indexers: Any, semantics: str = "classic") -> Any:
        told.append(semantics)
        return kcache.new_indexer(key_func, indexers, semantics=semantics)

    Target("t", factory).create(str, {}, Semantics.CURRENT)
    assert told == ["current"]


def test_what_tells_who_has_called_is_not_compared() -> None:
    """As ``logging.Logger.findCaller`` and ``traceback.format_stack`` do: kcache calls from elsewhere in each phase."""
    ours = [f'File "{os.sep}here{os.sep}kcache_stress{os.sep}threads.py", line {line}' for line in (1, 2)]
    assert plain_value(("pool.py", 7, ours)) == plain_value(("other.py", 8, [*ours, ours[0]])) == plain_value(ours[0])
    own = f'File "{os.sep}here{os.sep}kcache_stress.py", line 1'
    assert plain_value(("pool.py", 7, [own])) != plain_value(("pool.py", 8, [own]))
