"""Replays the recordings on the reference, with the recorded objects and the texts of the errors.

Other tests hold any implementation against the recordings, as far as these are calls of an Indexer. Here each step of
each recording is played on kcache itself: listers, key functions, transformers, instances and locks, too.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

import kcache
from kcache_conformance.indexers.recorded.corpus import (
    FILES,
    deviations,
    legacy_outcomes,
    needs_transformer,
    recordings,
)
from kcache_conformance.indexers.recorded.objects import KEY_FUNCS, Json, RecordedObject, index_func, read_object
from kcache_conformance.indexers.recorded.scenario import translate
from kcache_model.indexers.items import Semantics

_LIMIT_SECONDS = 20

_ONLY_HERE = {
    "listAllByNamespace": 884,
    "listAll": 410,
    "splitMetaNamespaceKey": 11,
    "metaNamespaceKeyFunc": 10,
    "lockFree": 4,
    "deletionHandlingMetaNamespaceKeyFunc": 3,
    "metaNamespaceIndexFunc": 3,
    "getFull": 3,
    "sameInstance": 1,
    "listIsCopy": 1,
    "setIndexerViaGet": 1,
}
"""Recorded operations that are no calls of an Indexer -> how often they were recorded."""

_ERROR_TYPES = {"KeyError": kcache.KeyFuncError, "TransactionError": kcache.TransactionError}


def strip_labels(obj: RecordedObject) -> RecordedObject:
    """The transformer that recordings call ``stripLabels``: a copy without labels."""
    metadata = SimpleNamespace(**{**vars(obj.metadata), "labels": {}})
    return RecordedObject(obj.uid, metadata, dict(obj.spec))


def _text_in_python(text: str) -> str:
    """The text that kcache's error has where client-go's has ``text``; no other differences are allowed.

    * No object is ``None``, not ``<nil>``.
    * Names are listed without the looks of a Go map.
    * What the caller can do about it is added.
    """
    text = text.replace("<nil>", "None")
    conflict = re.fullmatch(r"indexer conflict: map\[(.*)\]", text)
    if conflict:
        names = ", ".join(name.removesuffix(":{}") for name in conflict[1].split(" "))
        return f"indexer conflict: {names}; choose other names or leave them out"
    if text == "cannot add indexers to running index":
        return text + '; add them while the store is empty, or create it with semantics="current"'
    return text


def _reference(obj: object) -> Json:
    """How recorded results name an object."""
    match obj:
        case RecordedObject():
            return obj.uid
        case kcache.ExplicitKey():
            return {"$explicitKey": str(obj)}
    assert obj is None, f"a result that no recording has: {obj!r}"
    return None


def _references(objs: list[object]) -> Json:
    return sorted(map(_reference, objs), key=json.dumps)


def _fields(obj: object) -> Json:
    assert isinstance(obj, RecordedObject)
    metadata = obj.metadata
    shown = {"uid": obj.uid, "name": metadata.name, "resourceVersion": metadata.resource_version, "spec": obj.spec}
    optional = {"namespace": metadata.namespace, "labels": metadata.labels}
    return shown | {name: value for name, value in optional.items() if value}


def _selector(text: str | None) -> kcache.Selector | None:
    if text is None:
        return None
    return kcache.nothing() if text == "$nothing" else kcache.parse_selector(text)


class _Player:
    """Plays the steps of one recording."""

    def __init__(self, semantics: Semantics) -> None:
        self._semantics = semantics.value
        self._store: Any = None
        self._keyed = False
        self._variables: dict[str, object] = {}

    def play(self, name: str, args: Json) -> Json:
        """The result of one step, in the form that recordings have."""
        play = getattr(self, "_" + re.sub("[A-Z]", lambda found: "_" + found[0].lower(), name))
        return play(**{{"set": "fields"}.get(key, key): value for key, value in args.items()})

    def _object(self, literal: Json) -> Any:
        obj = read_object(literal, self._variables)
        if isinstance(literal, dict) and "$bind" in literal:
            self._variables[literal["$bind"]] = obj
        return obj

    def _new(
        self,
        kind: str = "indexer",
        keyFunc: str = "meta",  # noqa: N803 - as recorded
        indexers: Json = None,
        transformer: str | None = None,
    ) -> None:
        functions = {name: index_func(function) for name, function in (indexers or {}).items()}
        key_func = KEY_FUNCS[keyFunc]
        self._keyed = kind == "threadSafe"
        match kind:
            case "threadSafe":
                self._store = kcache.new_thread_safe_store(functions, semantics=self._semantics)
            case "store":
                assert not functions
                self._store = kcache.new_store(key_func)
            case "indexer":
                assert transformer in (None, "stripLabels")
                self._store = kcache.new_indexer(
                    key_func, functions, semantics=self._semantics, transformer=strip_labels if transformer else None
                )
            case _:
                raise AssertionError(f"no such store: {kind}")

    def _add(self, obj: Json, **key: str) -> None:
        self._store.add(*key.values(), self._object(obj))

    def _update(self, obj: Json, **key: str) -> None:
        self._store.update(*key.values(), self._object(obj))

    def _delete(self, obj: Json = None, **key: str) -> None:
        self._store.delete(*(key.values() if self._keyed else [self._object(obj)]))

    def _get(self, obj: Json = None, **key: str) -> Json:
        return self._found(partial(self._store.get, *(key.values() if self._keyed else [self._object(obj)])))

    def _get_by_key(self, key: str) -> Json:
        return self._found(partial(self._lookup, key))

    def _lookup(self, key: str, *default: object) -> Any:
        return self._store.get(key, *default) if self._keyed else self._store.get_by_key(key, *default)

    def _found(self, get: Any) -> Json:
        missing = object()
        found = get(missing)
        assert (found is missing) == (get() is None)
        return {"exists": found is not missing, "item": None if found is missing else _reference(found)}

    def _replace(self, rv: str, objs: Json = None, items: Json = None) -> None:
        if self._keyed:
            self._store.replace({key: self._object(obj) for key, obj in items.items()}, rv)
        else:
            self._store.replace([self._object(obj) for obj in objs or ()], rv)

    def _replace_then_clobber_list(self, rv: str, objs: Json) -> None:
        given = [self._object(obj) for obj in objs]
        self._store.replace(given, rv)
        given[:] = [None] * len(given)

    def _transaction(self, txns: Json) -> None:
        self._store.transaction(
            *(kcache.Transaction(kcache.TransactionType(entry["type"]), self._object(entry["obj"])) for entry in txns)
        )

    def _list(self) -> Json:
        return _references(self._store.list())

    def _list_keys(self) -> Json:
        return sorted(self._store.list_keys())

    def _by_index(self, name: str, value: str) -> Json:
        return _references(self._store.by_index(name, value))

    def _index(self, name: str, obj: Json) -> Json:
        return _references(self._store.index(name, self._object(obj)))

    def _index_keys(self, name: str, value: str) -> Json:
        return self._store.index_keys(name, value)

    def _list_index_func_values(self, name: str) -> Json:
        return sorted(self._store.list_index_func_values(name))

    def _get_indexers(self) -> Json:
        return sorted(self._store.get_indexers())

    def _add_indexers(self, indexers: Json) -> None:
        self._store.add_indexers({name: index_func(function) for name, function in indexers.items()})

    def _set_indexer_via_get(self, name: str, func: str) -> None:
        self._store.get_indexers()[name] = index_func(func)

    def _resync(self) -> None:
        self._store.resync()

    def _bookmark(self, rv: str) -> None:
        self._store.bookmark(rv)

    def _last_store_sync_resource_version(self) -> Json:
        return self._store.last_sync_resource_version()

    def _dump(self) -> Json:
        return {
            "items": {key: _reference(self._lookup(key)) for key in self._store.list_keys()},
            "indices": {
                name: {value: self._store.index_keys(name, value) for value in self._store.list_index_func_values(name)}
                for name in self._store.get_indexers()
            },
        }

    def _mutate(self, key: str, fields: Json) -> Json:
        stored = self._lookup(key)
        if stored is None:
            return "absent"
        stored.change(fields)
        return None

    def _mutate_var(self, var: str, fields: Json) -> None:
        obj = self._variables[var]
        assert isinstance(obj, RecordedObject)
        obj.change(fields)

    def _same_instance(self, key: str, var: str) -> Json:
        return self._lookup(key) is self._variables[var]

    def _get_full(self, key: str) -> Json:
        return _fields(self._lookup(key))

    def _list_is_copy(self) -> Json:
        before = self._dump()
        for listed in (self._store.list(), self._store.list_keys()):
            assert listed, "nothing is stored, so nothing is shown"
            listed[:] = [None] * len(listed)
        return self._dump() == before

    def _lock_free(self) -> Json:
        done = threading.Event()

        def call() -> None:
            self._store.list_keys()
            self._store.delete(kcache.ExplicitKey("no such key"))
            done.set()

        threading.Thread(target=call, daemon=True).start()
        return done.wait(_LIMIT_SECONDS)

    def _list_all(self, selector: str | None = None) -> Json:
        return _references(kcache.list_all(self._store, _selector(selector)))

    def _list_all_by_namespace(self, namespace: str, selector: str | None = None) -> Json:
        return _references(kcache.list_all_by_namespace(self._store, namespace, _selector(selector)))

    def _meta_namespace_key_func(self, obj: Json) -> Json:
        return kcache.meta_namespace_key_func(self._object(obj))

    def _deletion_handling_meta_namespace_key_func(self, obj: Json) -> Json:
        return kcache.deletion_handling_meta_namespace_key_func(self._object(obj))

    def _meta_namespace_index_func(self, obj: Json) -> Json:
        return kcache.meta_namespace_index_func(self._object(obj))

    def _split_meta_namespace_key(self, key: str) -> Json:
        namespace, name = kcache.split_meta_namespace_key(key)
        return {"namespace": namespace, "name": name}


def _difference(player: _Player, step: Json, outcome: Json) -> str | None:
    """What is wrong with the outcome of one step; ``None`` if it is the recorded one."""
    try:
        result = player.play(step["op"], step.get("args") or {})
    except AssertionError:
        raise
    except Exception as error:
        if "result" in outcome:
            return f"raised {error!r} instead of returning {outcome['result']}"
        text = _text_in_python(outcome.get("error", outcome.get("panic")))
        if str(error) != text:
            return f"raised {error!r} instead of an error that says {text!r}"
        kind = kcache.IndexFuncError if "panic" in outcome else _ERROR_TYPES.get(outcome.get("errorType"), Exception)
        if not isinstance(error, kind):
            return f"raised {error!r} instead of a {kind.__name__}"
        if isinstance(error, kcache.TransactionError):
            detail = {
                "totalTransactions": error.total_transactions,
                "successfulIndices": list(error.successful_indices),
                "errors": [str(each) for each in error.errors],
            }
            recorded = {**outcome["detail"], "errors": list(map(_text_in_python, outcome["detail"]["errors"]))}
            if detail != recorded:
                return f"the error carries {detail} instead of {recorded}"
        return None
    if "result" not in outcome:
        return f"returned {result} instead of raising {outcome}"
    return None if result == outcome["result"] else f"returned {result} instead of {outcome['result']}"


def _played(file: str, semantics: Semantics) -> Iterator[tuple[str, int, str | None]]:
    """Scenario, step and difference, for each step of a file."""
    for recording in recordings((file,)):
        legacy = legacy_outcomes().get(recording["id"], {}) if semantics is Semantics.CLASSIC else {}
        player = _Player(semantics)
        for number, step in enumerate(recording["steps"]):
            yield recording["id"], number, _difference(player, step, legacy.get(number, step))


def _deliberate(semantics: Semantics) -> set[tuple[str, int]]:
    return {
        (scenario, number)
        for deviation in deviations()
        for scenario, by_semantics in deviation.steps.items()
        for number in by_semantics.get(semantics.value, ())
    }


@pytest.mark.parametrize("semantics", Semantics)
@pytest.mark.parametrize("file", FILES)
def test_every_step_has_the_recorded_outcome(file: str, semantics: Semantics) -> None:
    deliberate = _deliberate(semantics)
    steps = 0
    wrong: list[str] = []
    for scenario, number, difference in _played(file, semantics):
        steps += 1
        if difference is not None and (scenario, number) not in deliberate:
            wrong.append(f"{scenario}, step {number}: {difference}")
        elif difference is None and (scenario, number) in deliberate:
            wrong.append(f"{scenario}, step {number}: listed as a deviation, but the outcome is the recorded one")
    assert wrong == []
    assert steps == sum(len(recording["steps"]) for recording in recordings((file,))) > 0


@pytest.mark.parametrize("semantics", Semantics)
def test_no_recorded_step_is_left_out(semantics: Semantics) -> None:
    """Each step is the creation of a store, or is translated for any implementation, or can be played only here."""
    only_here: Counter[str] = Counter()
    for recording in recordings():
        scenario = translate(recording, legacy_outcomes().get(recording["id"], {}), semantics)
        translated = {step.number for step in scenario.steps}
        left: Counter[str] = Counter()
        for number, step in enumerate(recording["steps"]):
            if step["op"] == "new":
                assert number not in translated
            elif number not in translated:
                left[step["op"]] += 1
        untranslated = Counter(scenario.untranslated)
        assert (untranslated.pop("transformer", 0) > 0) == needs_transformer(recording)
        assert left == untranslated
        only_here += left
    assert only_here == _ONLY_HERE


def test_the_player_refuses_operations_that_it_does_not_know() -> None:
    with pytest.raises(AttributeError, match="_no_such_operation"):
        _Player(Semantics.CLASSIC).play("noSuchOperation", {})


def test_a_wrong_outcome_is_noticed() -> None:
    """Each way in which an outcome can differ from the recorded one is a difference."""

    def difference(outcome: Json, **step: Json) -> str | None:
        player = _Player(Semantics.CLASSIC)
        player.play("new", {"indexers": {"group": "group"}})
        player.play("add", {"obj": {"uid": "u1", "name": "x", "spec": {"group": "g"}}})
        return _difference(player, step, outcome)

    text = 'unable to calculate an index entry for key "y" on index "group": group of y is unknown'
    failing = {"op": "add", "args": {"obj": {"uid": "u2", "name": "y", "spec": {"fail": True}}}}
    assert difference({"result": ["u1"]}, op="list") is None
    assert difference({"result": ["u2"]}, op="list") is not None
    assert difference({"error": "x"}, op="list") is not None
    assert difference({"panic": text}, **failing) is None
    assert difference({"panic": text + "!"}, **failing) is not None
    assert difference({"result": None}, **failing) is not None
    assert difference({"error": text, "errorType": "KeyError"}, **failing) is not None
