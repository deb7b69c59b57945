"""Recorded scenarios, translated into operations with the outcomes of client-go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kcache_model.indexers import operations as op
from kcache_model.indexers.indexer_model import IndexerModel, State
from kcache_model.indexers.items import Item, Semantics
from kcache_model.indexers.operations import Operation, WriteKind
from kcache_model.outcomes import ErrorKind, Outcome, raised, returned

from .objects import KEY_FUNCS, Json, RecordedObject, index_func, read_object, reference_of, reference_text


@dataclass(frozen=True)
class RecordedStep:
    """One operation of a scenario.

    Attributes:
        number: its position in the recording; a ``dump`` there becomes several steps with one number.
        operation: the operation.
        recorded: the outcome of client-go.
        specified: the outcome of the model; it differs where kcache deliberately deviates.
    """

    number: int
    operation: Operation
    recorded: Outcome
    specified: Outcome


@dataclass(frozen=True)
class Scenario:
    """A recorded scenario under one of the two semantics.

    Attributes:
        id: its name.
        title: its subject, in a few words.
        indexes: the indices that the Indexer is created with.
        semantics: the generation of client-go that returned the outcomes.
        steps: the operations.
        untranslated: recorded operations that are no calls of an Indexer; the tests of the reference cover them.
    """

    id: str
    title: str
    indexes: tuple[str, ...]
    semantics: Semantics
    steps: tuple[RecordedStep, ...]
    untranslated: tuple[str, ...]


def translate(recording: Json, legacy: Mapping[int, Json], semantics: Semantics) -> Scenario:
    """Translate one recording; ``legacy`` maps step numbers to the different outcomes of older versions."""
    translator = _Translator(recording["steps"], semantics)
    steps: list[RecordedStep] = []
    for number, step in enumerate(recording["steps"]):
        outcome = legacy.get(number, step) if semantics is Semantics.CLASSIC else step
        steps += translator.translate(number, step["op"], step.get("args") or {}, outcome)
    return Scenario(
        recording["id"],
        recording["title"],
        translator.indexes,
        semantics,
        tuple(steps),
        tuple(translator.untranslated),
    )


class _Translator:
    """Translator of one scenario; it runs the steps on the model, so that it knows the stored objects."""

    def __init__(self, steps: Json, semantics: Semantics) -> None:
        self._functions: dict[str, str] = {}
        for step in steps:
            for name, function in (step.get("args", {}).get("indexers") or {}).items():
                self._functions.setdefault(name, function)
        self._model = IndexerModel(semantics)
        self._state: State = self._model.initial(())
        self._key_func = KEY_FUNCS["meta"]
        self._variables: dict[str, object] = {}
        self._objects: dict[str, object] = {}
        self._items: dict[str, Item] = {}
        self.indexes: tuple[str, ...] = ()
        self.untranslated: list[str] = []

    def translate(self, number: int, name: str, args: Json, outcome: Json) -> Iterator[RecordedStep]:
        if name == "new":
            self._create(args)
            return
        if name == "dump":
            yield from self._dump(number, outcome["result"])
            return
        operation = self._operation(name, args)
        if operation is None:
            self.untranslated.append(name)
            return
        yield self._step(number, operation, _outcome(name, outcome))

    def _create(self, args: Json) -> None:
        self._key_func = KEY_FUNCS[args.get("keyFunc", "meta")]
        self.indexes = tuple(args.get("indexers") or ())
        self._state = self._model.initial(self.indexes)
        if "transformer" in args:
            self.untranslated.append("transformer")

    def _step(self, number: int, operation: Operation, recorded: Outcome) -> RecordedStep:
        self._state, specified = self._model.apply(self._state, operation)
        return RecordedStep(number, operation, recorded, specified)

    def _dump(self, number: int, dump: Json) -> Iterator[RecordedStep]:
        items, indices = dump["items"], dump["indices"]
        yield self._step(number, op.list_keys(), returned(tuple(sorted(items))))
        yield self._step(number, op.get_indexers(), returned(tuple(sorted(indices))))
        for key, reference in items.items():
            yield self._step(number, op.get_by_key(key), returned(reference_text(reference)))
        for index, values in indices.items():
            yield self._step(number, op.list_index_func_values(index), returned(tuple(sorted(values))))
            for value, keys in values.items():
                yield self._step(number, op.index_keys(index, value), returned(tuple(keys)))

    def _operation(self, name: str, args: Json) -> Operation | None:
        match name:
            case "add" | "update" | "delete" | "get":
                make = {"add": op.add, "update": op.update, "delete": op.delete, "get": op.get}[name]
                return make(self._item(args))
            case "replace":
                if "items" in args:
                    items = [self._item({"key": key, "obj": obj}) for key, obj in args["items"].items()]
                else:
                    items = [self._item({"obj": obj}) for obj in args["objs"] or ()]
                return op.replace(tuple(items), args["rv"])
            case "replaceThenClobberList":
                return op.replace(tuple(self._item({"obj": obj}) for obj in args["objs"]), args["rv"])
            case "transaction":
                kinds = {"Add": WriteKind.ADD, "Update": WriteKind.UPDATE, "Delete": WriteKind.DELETE}
                return op.transaction(*((kinds[entry["type"]], self._item(entry)) for entry in args["txns"]))
            case "index":
                return op.index(args["name"], self._item(args))
            case "byIndex":
                return op.by_index(args["name"], args["value"])
            case "indexKeys":
                return op.index_keys(args["name"], args["value"])
            case "mutate":
                return self._mutation(args["key"], args["set"])
            case "mutateVar":
                return self._mutation_of(self._variables[args["var"]], args["set"])
        simple = {
            "getByKey": lambda: op.get_by_key(args["key"]),
            "list": op.list_objects,
            "listKeys": op.list_keys,
            "listIndexFuncValues": lambda: op.list_index_func_values(args["name"]),
            "getIndexers": op.get_indexers,
            "addIndexers": lambda: op.add_indexers(*args["indexers"]),
            "resync": op.resync,
            "bookmark": lambda: op.bookmark(args["rv"]),
            "lastStoreSyncResourceVersion": op.last_sync_resource_version,
        }.get(name)
        return None if simple is None else simple()

    def _item(self, args: Json) -> Item:
        literal = args.get("obj")
        obj = read_object(literal, self._variables)
        stamp = self._stamp(object() if obj is None else obj, reference_of(literal, self._variables))
        if isinstance(literal, dict) and "$bind" in literal:
            self._variables[literal["$bind"]] = obj
        version = obj.metadata.resource_version if isinstance(obj, RecordedObject) else None
        # One instance is one item: later changes in place are described by mutate steps.
        return self._items.setdefault(stamp, Item(self._key(obj, args), stamp, self._values(obj), version))

    def _stamp(self, obj: object, reference: str) -> str:
        """A unique stamp of an object: its reference, with a number if another object has the same reference."""
        stamp, count = reference, 1
        while stamp in self._objects and self._objects[stamp] is not obj:
            count += 1
            stamp = f"{reference}#{count}"
        self._objects[stamp] = obj
        return stamp

    def _key(self, obj: object, args: Json) -> str | None:
        if "key" in args:
            return str(args["key"])
        try:
            return self._key_func(obj)
        except Exception:
            return None

    def _values(self, obj: object) -> dict[str, tuple[str, ...] | None]:
        values: dict[str, tuple[str, ...] | None] = {}
        for name, function in self._functions.items():
            try:
                values[name] = tuple(index_func(function)(obj) or ())
            except Exception:
                values[name] = None
        return values

    def _mutation(self, key: str, fields: Json) -> Operation:
        stored = self._state.stored.get(key)
        if stored is None:
            return op.mutate(key, {})
        obj = self._objects[stored.item.stamp]
        assert isinstance(obj, RecordedObject)
        obj.change(fields)
        return op.mutate(key, self._values(obj))

    def _mutation_of(self, obj: object, fields: Json) -> Operation:
        key = next(key for key, stored in self._state.stored.items() if self._objects[stored.item.stamp] is obj)
        return self._mutation(key, fields)


_ERRORS = (
    ("couldn't create key", ErrorKind.KEY_FUNC),
    ("Index with name", ErrorKind.INDEX_NOT_FOUND),
    ("indexer conflict", ErrorKind.INDEXER_CONFLICT),
    ("cannot add indexers", ErrorKind.INDEXERS_RUNNING),
    ("failed to execute", ErrorKind.TRANSACTION),
)


def _outcome(name: str, outcome: Json) -> Outcome:
    if "result" not in outcome:
        text = outcome.get("error", outcome.get("panic"))
        kind = next((kind for start, kind in _ERRORS if text.startswith(start)), ErrorKind.INDEX_FUNC)
        return raised(kind, text)
    result = outcome["result"]
    if name in ("get", "getByKey"):
        return returned(reference_text(result["item"]) if result["exists"] else None)
    if name in ("list", "byIndex", "index"):
        return returned(tuple(sorted(map(reference_text, result))))
    if name in ("mutate", "mutateVar"):
        return returned()
    return returned(tuple(result) if isinstance(result, list) else result)
