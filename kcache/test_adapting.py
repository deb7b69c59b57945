from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kcache
from kcache import DeletedFinalStateUnknown
from kcache.testing import ConformanceError, SuiteResult, TargetError, adapt, run_conformance

INDEXES = {"a": lambda obj: [obj["name"][:1]]}


def conforms(factory: Any, *phases: str) -> SuiteResult:
    return run_conformance(factory, phases=phases or ("smoke", "stateful"), seconds=0.4, most_findings=1)


def name_of(obj: Any) -> str:
    return str(obj["name"])


def made(factory: Any) -> Any:
    return factory(name_of, INDEXES)


WEB, DB = {"name": "web"}, {"name": "db"}


class Shelf:
    """A dict and a lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._things: dict[str, Any] = {}

    def put(self, key: str, thing: Any) -> None:
        with self._lock:
            self._things[key] = thing

    def pop(self, key: str) -> Any:
        with self._lock:
            return self._things.pop(key)

    def __getitem__(self, key: str) -> Any:
        with self._lock:
            return self._things[key]

    def values(self) -> Any:
        with self._lock:
            return tuple(self._things.values())

    def keys(self) -> Any:
        with self._lock:
            return set(self._things)


class FirstWins(Shelf):
    def put(self, key: str, thing: Any) -> None:
        with self._lock:
            self._things.setdefault(key, thing)


class Confused(Shelf):
    """Its deletions fail for want of another thing than the key."""

    def pop(self, key: str) -> Any:
        with self._lock:
            self._things.pop(key, None)
            raise KeyError("index")


class NotDeleted(Shelf):
    def pop(self, key: str) -> Any:
        raise KeyError(key)


class Torn(Shelf):
    def put(self, key: str, thing: Any) -> None:
        with self._lock:
            self._things.pop(key, None)
        super().put(key, thing)


new_shelf = adapt(Shelf)


def written(folder: Path, begin: str, end: str, adapted: str) -> str:
    """The name of a target in a file of its own, with the part of this file from one line to another."""
    source = Path(__file__).read_text(encoding="utf-8")
    imports = "import asyncio\nimport threading\nfrom typing import Any\nfrom kcache.adapting import adapt\n\n"
    file = folder / "adapted_cache.py"
    file.write_text(imports + source[source.index(begin) : source.index(end)] + adapted, encoding="utf-8")
    return f"{file}:new_indexer"


class TestMappings:
    def test_a_right_one_passes(self) -> None:
        result = conforms(new_shelf)
        lacking = {"indexes", "replace", "resync", "transaction", "bookmark", "last_sync_resource_version"}
        assert set(result.not_tested) == lacking

    @pytest.mark.parametrize("wrong", [FirstWins, Confused, NotDeleted])
    def test_a_wrong_one_is_accused(self, wrong: Any) -> None:
        with pytest.raises(ConformanceError):
            conforms(adapt(wrong))

    def test_the_explorer_looks_into_it(self, tmp_path: Path) -> None:
        right = written(tmp_path, "class Shelf", "class FirstWins", "new_indexer = adapt(Shelf)\n")
        result = run_conformance(right, phases=("smoke", "explorer"), seconds=1)
        assert not [phase.refused for phase in result.phases if phase.refused]

    def test_the_explorer_finds_a_race(self, tmp_path: Path) -> None:
        wrong = written(tmp_path, "class Shelf", "new_shelf =", "new_indexer = adapt(Torn)\n")
        with pytest.raises(ConformanceError, match="half-applied write"):
            run_conformance(wrong, phases=("smoke", "explorer"), seconds=4, most_findings=1)

    def test_the_operations(self) -> None:
        indexer = made(new_shelf)
        indexer.add(WEB)
        indexer.update(DB)
        indexer.delete({"name": "nothing"})
        assert indexer.get({"name": "web"}) is WEB
        assert indexer.get_by_key("db") is DB
        assert indexer.get_by_key("nothing", 1) == indexer.get({"name": "nothing"}, 1) == 1
        assert indexer.get_by_key("nothing") is None
        assert indexer.list() == [WEB, DB]
        assert sorted(indexer.list_keys()) == ["db", "web"]
        indexer.delete(WEB)
        assert indexer.list() == [DB]

    def test_what_the_key_function_raises_is_passed_on(self) -> None:
        indexer = made(new_shelf)
        for call in (indexer.add, indexer.delete, indexer.get):
            with pytest.raises(KeyError, match="name"):
                call({})

    def test_a_dict_itself(self) -> None:
        conforms(adapt(dict))

    def test_by_iteration(self) -> None:
        class Keys:
            def __init__(self) -> None:
                self._things: dict[str, Any] = {}
                self.__setitem__: Any = self._things.__setitem__

            def __getitem__(self, key: str) -> Any:
                return self._things[key]

            def __iter__(self) -> Iterator[str]:
                return iter(self._things)

        indexer: Any = made(adapt(Keys))
        indexer.add(WEB)
        assert indexer.list_keys() == ["web"]
        assert not hasattr(indexer, "list")  # would take several calls
        assert "list" in adapt(Keys).kcache_unsupported
        one_by_one: Any = made(adapt(Keys, list=("__iter__", "key")))
        one_by_one.add(WEB)
        assert one_by_one.list() == [WEB]

    def test_items(self) -> None:
        class Pairs(dict[str, Any]):
            values = keys = None  # type: ignore[assignment]

        indexer: Any = made(adapt(Pairs, list_keys=("items", "key_value")))
        indexer.add(WEB)
        assert indexer.list() == [WEB]
        assert indexer.list_keys() == ["web"]


class Listing(Shelf):
    """Lists under a name of its own, in a list or whatever else is no view of what is stored."""

    values = keys = None  # type: ignore[assignment]

    def all(self) -> Any:
        with self._lock:
            return iter(list(self._things.values()))

    def all_keys(self) -> Any:
        with self._lock:
            return dict(self._things).keys()


class CopyOnWrite(Listing):
    """What it lists is the same object until the next write, and never changes."""

    def put(self, key: str, thing: Any) -> None:
        with self._lock:
            self._things = {**self._things, key: thing}

    def pop(self, key: str) -> Any:
        with self._lock:
            self._things = dict(self._things)
            return self._things.pop(key)

    def all(self) -> Any:
        return self._things.values()


class LiveView(Listing):
    def all(self) -> Any:
        with self._lock:
            return self._things.values()


class LiveKeys(Listing):
    def all_keys(self) -> Any:
        with self._lock:
            return self._things.keys()


class LiveIterator(Listing):
    """It fails if it is read after a write: the dictionary has changed its size."""

    def all(self) -> Any:
        with self._lock:
            return iter(self._things.values())


class LiveGenerator(Listing):
    def all(self) -> Any:
        with self._lock:
            yield from self._things.values()


class LiveAsynchronous(Listing):
    async def all(self) -> Any:  # type: ignore[override]
        return self._things.values()


class TestLiveViews:
    """A list that changes after the call has ended breaks the contract, and no adapter hides it."""

    @pytest.mark.parametrize("wrong", [LiveView, LiveKeys, LiveIterator, LiveGenerator, LiveAsynchronous])
    def test_are_accused(self, wrong: Any) -> None:
        factory = adapt(wrong, list=("all", "object"), list_keys=("all_keys", "key"))
        with pytest.raises(ConformanceError, match="it is a live view") as caught:
            conforms(factory)
        assert "result-is-no-list" in str(caught.value)

    @pytest.mark.parametrize("right", [Listing, CopyOnWrite])
    def test_what_does_not_change_is_right(self, right: Any) -> None:
        conforms(adapt(right, list=("all", "object"), list_keys=("all_keys", "key")))

    def test_can_be_declared(self) -> None:
        conforms(adapt(LiveView, list=("all", "object"), list_keys=("all_keys", "key"), unsupported=["lists"]))


class CamelCase:
    """An Indexer as another language would call it."""

    def __init__(self, keyFunc: Any, indexers: Any) -> None:  # noqa: N803
        indexer = kcache.new_indexer(keyFunc, indexers)
        self.Add, self.Update, self.Delete = indexer.add, indexer.update, indexer.delete
        self.Get, self.GetByKey, self.List, self.ListKeys = (
            indexer.get,
            indexer.get_by_key,
            indexer.list,
            indexer.list_keys,
        )
        self.Replace, self.Index, self.IndexKeys = indexer.replace, indexer.index, indexer.index_keys
        self.ByIndex, self.listIndexFuncValues = indexer.by_index, indexer.list_index_func_values
        self.AddIndexers, self.GetIndexers = indexer.add_indexers, indexer.get_indexers


class Forgetful(CamelCase):
    def __init__(self, keyFunc: Any, indexers: Any) -> None:  # noqa: N803
        super().__init__(keyFunc, indexers)
        self.Delete = lambda obj: None


def test_names_in_camel_case() -> None:
    result = conforms(adapt(CamelCase))
    assert set(result.not_tested) == {"resync", "transaction", "bookmark", "last_sync_resource_version"}
    with pytest.raises(ConformanceError):
        conforms(adapt(Forgetful))


def test_an_indexer_of_client_gos_shape_stays_what_it_is() -> None:
    factory = adapt(kcache.new_indexer)
    assert factory.kcache_unsupported == []
    conforms(factory)


class Asynchronous:
    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._things: dict[str, Any] = {}
        self.is_closed = False

    async def set(self, key: str, value: Any) -> None:
        async with self._lock:
            await asyncio.sleep(0)
            self._things[key] = value

    async def delete(self, key: str) -> None:
        async with self._lock:
            del self._things[key]

    async def get(self, key: str) -> Any:
        return self._things.get(key)

    async def all(self) -> Any:
        for thing in [*self._things.values()]:
            yield thing

    async def close(self) -> None:
        self.is_closed = True


class Lagging(Asynchronous):
    async def set(self, key: str, value: Any) -> None:
        self._later = asyncio.get_running_loop().call_later(0.05, self._things.__setitem__, key, value)


class TestAsync:
    def test_a_right_one_passes(self) -> None:
        conforms(adapt(Asynchronous), "smoke", "stateful", "stress")

    def test_a_wrong_one_is_accused(self) -> None:
        with pytest.raises(ConformanceError):
            conforms(adapt(Lagging))

    def test_what_does_not_wait_runs_in_the_loop_too(self) -> None:
        class Here(Asynchronous):
            def values(self) -> Any:
                seen.append(threading.current_thread())
                yield from self._things.values()

        seen: list[Any] = []
        indexer = made(adapt(Here))
        indexer.add(WEB)
        assert indexer.list() == [WEB]
        indexer.close()
        assert seen
        assert threading.current_thread() not in seen

    def test_made_asynchronously(self) -> None:
        async def make() -> Asynchronous:
            return Asynchronous()

        indexer = made(adapt(make))
        indexer.add(WEB)
        assert indexer.list() == [WEB]
        assert indexer.list_keys() == ["web"]
        indexer.close()

    def test_the_thread_ends_with_the_cache(self) -> None:
        before = set(threading.enumerate())
        factory = adapt(lambda: cache)
        cache = Asynchronous()
        indexer = made(factory)
        indexer.add(WEB)
        # Threads are told apart, not counted: one that another test left behind may end meanwhile.
        (started,) = set(threading.enumerate()) - before
        indexer.close()
        assert cache.is_closed
        assert not started.is_alive()

    def test_the_explorer_runs_its_loop(self, tmp_path: Path) -> None:
        target = written(tmp_path, "class Asynchronous", "class Lagging", "new_indexer = adapt(Asynchronous)\n")
        result = run_conformance(target, phases=("smoke", "explorer"), programs=2)
        assert [phase.counts["executions"] > 2 for phase in result.phases if "executions" in phase.counts] == [True]

    def test_asyncio_is_imported_when_it_is_needed(self) -> None:
        code = "import kcache, kcache.adapting, sys; sys.exit('asyncio' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class Paired(Shelf):
    def find(self, key: str) -> tuple[Any, bool]:
        with self._lock:
            return self._things.get(key), key in self._things


class WronglyPaired(Paired):
    def find(self, key: str) -> tuple[Any, bool]:
        return self._things.get(key), False


class TestPairs:
    def test_are_recognised(self) -> None:
        conforms(adapt(Paired, get_by_key="find"))
        with pytest.raises(ConformanceError):
            conforms(adapt(WronglyPaired, get_by_key="find"))

    def test_can_be_said(self) -> None:
        conforms(adapt(Paired, get_by_key="find", pairs=True))
        with pytest.raises(ConformanceError):
            conforms(adapt(Paired, get_by_key="find", pairs=False))

    def test_a_tuple_that_is_stored_is_no_pair(self) -> None:
        indexer: Any = adapt(Shelf)(lambda obj: obj[0], {})
        indexer.add(("web", True))
        assert indexer.get_by_key("web") == ("web", True)


class Watched:
    """Deletes what it is told of, tombstones included."""

    def __init__(self, key_func: Callable[[Any], str]) -> None:
        self._key_func = key_func
        self._things: dict[str, Any] = {}
        self.deleted: list[Any] = []

    def add(self, obj: Any) -> None:
        self._things[self._key_func(obj)] = obj

    def delete(self, obj: Any) -> None:
        self.deleted.append(obj)
        self._things.pop(obj.key if isinstance(obj, DeletedFinalStateUnknown) else self._key_func(obj), None)

    def get_by_key(self, key: str) -> Any:
        return self._things.get(key)

    def list(self) -> Any:
        return tuple(self._things.values())


class Deaf(Watched):
    kcache_tombstone = DeletedFinalStateUnknown

    def delete(self, obj: Any) -> None:
        if not isinstance(obj, DeletedFinalStateUnknown):
            super().delete(obj)


class TestTombstones:
    def test_every_second_deletion_is_one(self) -> None:
        cache = Watched(name_of)
        indexer = made(adapt(lambda _key_func: cache, tombstone=DeletedFinalStateUnknown))
        for _ in range(3):
            indexer.add(WEB)
            indexer.delete(WEB)
            assert indexer.list() == []
        assert cache.deleted == [WEB, DeletedFinalStateUnknown("web", WEB), WEB]

    def test_right_and_wrong(self) -> None:
        conforms(adapt(Watched))
        conforms(adapt(Watched, tombstone=DeletedFinalStateUnknown))
        with pytest.raises(ConformanceError):
            conforms(adapt(Deaf))
        factory = adapt(Deaf)
        factory.kcache_tombstone = None
        conforms(factory)

    def test_need_a_method_that_takes_objects(self) -> None:
        with pytest.raises(TypeError, match="Shelf deletes by key: leave out tombstone"):
            made(adapt(Shelf, tombstone=DeletedFinalStateUnknown))


class TestWhatMethodsTake:
    def test_is_said_where_names_do_not(self) -> None:
        class Vague:
            def __init__(self) -> None:
                self._things: dict[str, Any] = {}

            def keep(self, *args: Any) -> None:
                key, self._things[key] = args

            def drop(self, x: Any) -> None:
                self._things.pop(x, None)

            def whole(self) -> Any:
                return self._things

        indexer: Any = made(
            adapt(Vague, add=("keep", "key_value"), delete=("drop", "key"), list=("whole", "key_value"))
        )
        indexer.add(WEB)
        indexer.update(DB)
        indexer.delete(WEB)
        assert indexer.list() == [DB]
        assert indexer.list_keys() == ["db"]
        with pytest.raises(ValueError, match="unpack"):
            made(adapt(Vague, add="keep")).add(WEB)

    def test_functions(self) -> None:
        factory = adapt(
            dict,
            add=lambda cache, key, obj: cache.update({key: obj}),
            delete=lambda cache, obj: cache.pop(name_of(obj), None),
            get_by_key=lambda cache, key: (cache.get(key), key in cache),
            list=lambda cache: (obj for obj in [*cache.values()]),
            replace=lambda cache, objs, _version: cache.update({name_of(obj): obj for obj in objs}),
            by_index=lambda cache, _, value: [obj for obj in cache.values() if obj["name"].startswith(value)],
        )
        indexer = made(factory)
        indexer.replace([WEB, DB])
        assert indexer.by_index("a", "w") == [WEB]
        assert indexer.index_keys("a", "w") == ["web"]
        assert {"index", "list_index_func_values"} < {*factory.kcache_unsupported}
        assert not {"indexes", "by_index", "index_keys"} & {*factory.kcache_unsupported}
        indexer.delete(WEB)
        assert indexer.list() == [DB]
        assert indexer.get(WEB, 7) == 7

    def test_replace_of_a_cache_that_is_told_the_keys(self) -> None:
        class Replaced(Shelf):
            def replace(self, contents: Any) -> None:
                with self._lock:
                    self._things = {**contents}

        conforms(adapt(Replaced))
        assert "replace" not in adapt(Replaced).kcache_unsupported
        with pytest.raises(ConformanceError):
            conforms(adapt(Replaced, replace=lambda cache, objs: None))

    def test_other_errors_for_missing_keys(self) -> None:
        class Strict(Shelf):
            def __getitem__(self, key: str) -> Any:
                try:
                    return super().__getitem__(key)
                except KeyError:
                    raise OSError(key) from None

        conforms(adapt(Strict, missing=(KeyError, OSError)))
        with pytest.raises(ConformanceError):
            conforms(adapt(Strict))

    def test_what_has_to_be_named_does_not_fit(self) -> None:
        class Versioned(Shelf):
            def add(self, obj: Any, *, version: str) -> None:
                raise AssertionError

        made(adapt(Versioned)).add(WEB)
        with pytest.raises(TypeError, match="the parameters of add do not show"):
            made(adapt(Versioned, add="add"))

    def test_update_of_many_is_no_update(self) -> None:
        class Many(Shelf):
            def update(self, items: Any) -> None:
                raise AssertionError

        conforms(adapt(Many))


class TestDeclarations:
    def test_are_the_users_too(self) -> None:
        factory = adapt(Shelf, unsupported=["identity", "list"])
        assert {"identity", "list", "indexes"} < {*factory.kcache_unsupported}
        assert "default" not in factory.kcache_unsupported
        assert not hasattr(made(factory), "list")
        factory.kcache_unsupported += ["falsy_objects"]
        assert "falsy_objects" in conforms(factory).not_tested or "falsy_objects" in factory.kcache_unsupported

    def test_the_package_of_the_class(self) -> None:
        assert new_shelf.kcache_instrument == adapt(dict).kcache_instrument == ()
        assert adapt(pytest.Stash).kcache_instrument == ("_pytest",)

    def test_the_factory_has_the_name_that_it_is_given(self) -> None:
        assert new_shelf.__qualname__ == new_shelf.__name__ == "new_shelf"
        assert new_shelf.__module__ == __name__
        assert adapt(Shelf).__qualname__ == "<adapted Shelf>"
        assert repr(new_shelf) == "adapt(Shelf)"
        assert type(made(new_shelf)).__module__ == __name__  # which is what the explorer instruments

    def test_a_child_imports_it(self, tmp_path: Path) -> None:
        (tmp_path / "shelves.py").write_text("from kcache.adapting import adapt\n\nnew_shelf = adapt(dict)\n")
        run_conformance(f"{tmp_path / 'shelves.py'}:new_shelf", phases=("smoke",), seconds=1)


class TestMessages:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"ad": "put"}, "unknown operation ad; known are: add, update"),
            ({"add": 5}, r"add=5: write the name of a method, a function \(cache, \.\.\.\)"),
            ({"add": ("put", "both")}, "or a pair of either and one of object, key, key_value"),
            ({"unsupported": "list"}, 'unsupported must be a list of names, not the text "list"'),
        ],
    )
    def test_of_arguments(self, arguments: Any, message: str) -> None:
        with pytest.raises(TypeError, match=message):
            adapt(Shelf, **arguments)

    def test_of_what_makes_no_cache(self) -> None:
        class Bounded:
            def __init__(self, capacity: int, key_func: Any) -> None: ...

        with pytest.raises(TypeError, match=r"needs capacity; write a function .*: adapt\(lambda key_func, indexers: "):
            adapt(Bounded)
        with pytest.raises(TypeError, match="adapt takes a class, or a function"):
            adapt(Shelf())  # type: ignore[arg-type]

    def test_of_names_that_the_cache_lacks(self) -> None:
        with pytest.raises(TypeError, match="Shelf has no method throw for delete; it has: keys, pop, put, values"):
            made(adapt(Shelf, delete="throw"))
        with pytest.raises(TypeError, match="object has no known method for adding objects"):
            made(adapt(object))
        with pytest.raises(TargetError, match="object has no known method for adding objects"):
            conforms(adapt(object))

    def test_of_methods_that_do_not_fit(self) -> None:
        class Reversed(Shelf):
            def put(self, obj: Any, key: str) -> None:  # type: ignore[override]
                super().put(key, obj)

        with pytest.raises(
            TypeError, match=r"the parameters of put do not show what add of .*Reversed takes; write add=\("
        ):
            made(adapt(Reversed, add="put"))


@pytest.mark.parametrize(
    "make",
    [
        lambda key_func, indexers: CamelCase(key_func, indexers),
        lambda kf, ix: CamelCase(kf, ix),
        lambda kf: CamelCase(kf, INDEXES),
        lambda indexers, /, *, key_func, semantics: CamelCase(key_func, indexers),
        lambda indexers=None, key=None, size=7: CamelCase(key, indexers),
        lambda: CamelCase(name_of, INDEXES),
        CamelCase,
    ],
)
def test_what_makes_caches_gets_what_it_asks_for(make: Any) -> None:
    indexer = made(adapt(make))
    indexer.add(WEB)
    assert indexer.by_index("a", "w") == [WEB]


def test_a_lookup_of_a_mapping_takes_the_key_whatever_its_parameters_are() -> None:
    class Mapped(dict[str, Any]):
        def get(self, *args: Any, **kwargs: Any) -> Any:
            return super().get(*args, **kwargs)

        def find(self, key: str) -> Any:
            return super().get(key)

    indexer = adapt(Mapped, get_by_key="find")(lambda obj: obj, {})
    indexer.add("a")
    assert indexer.get("a") == "a"
    assert indexer.get("b") is None


class TestDeletionByAnnotation:
    """A parameter that no name tells of takes a key if it is annotated as one, unless whole objects are so, too."""

    class Catalog:
        def __init__(self) -> None:
            self._rows: dict[str, Any] = {}

        def put(self, row: dict[str, Any]) -> None:
            self._rows[row["name"]] = row

        def remove(self, sku: str) -> None:
            self._rows.pop(sku, None)

        def values(self) -> list[Any]:
            return list(self._rows.values())

    class Words(Catalog):
        def put(self, row: str) -> None:
            super().put(row)  # type: ignore[arg-type]

        def remove(self, word: str) -> None:
            super().remove(word["name"])  # type: ignore[index]

    class Unsaid(Catalog):
        def remove(self, gone) -> None:  # type: ignore[no-untyped-def]
            super().remove(gone["name"])

    class Named(Catalog):
        def remove(self, item: str) -> None:
            super().remove(item["name"])  # type: ignore[index]

    class Numbered(Catalog):
        def remove(self, number: int) -> None:
            super().remove(number)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("kind", "takes"),
        [(Catalog, "key"), (Numbered, "key"), (Words, "object"), (Unsaid, "object"), (Named, "object")],
    )
    def test_it_takes(self, kind: Any, takes: str) -> None:
        indexer: Any = made(adapt(kind))
        assert indexer.plan["delete"].takes == takes
        assert indexer.plan["add"].takes == "object"
        indexer.add(WEB)
        indexer.add(DB)
        indexer.delete(WEB)
        assert indexer.list() == [DB]

    def test_a_name_is_no_object_to_add(self) -> None:
        class ByName(self.Catalog):  # type: ignore[name-defined,misc]
            def put(self, name: str) -> None: ...

        with pytest.raises(TypeError, match="has no known method for adding objects"):
            made(adapt(ByName))
