"""Laws of the sequential specification: what it says of one call fits what it says of the others."""

from __future__ import annotations

from kcache_model.indexers.indexer_model import IndexerModel
from kcache_model.indexers.items import Item, Semantics
from kcache_model.indexers.operations import (
    WriteKind,
    add,
    add_indexers,
    by_index,
    delete,
    get,
    get_by_key,
    index,
    index_keys,
    last_sync_resource_version,
    list_index_func_values,
    list_keys,
    list_objects,
    mutate,
    replace,
    transaction,
    update,
)

from .law import Mutant, Verdict, law
from .small_indexers import INDEX, MODEL, Key, Word, after, answer, found, holding, item, items

_MODULE = "kcache_model.indexers.indexer_model"


@law(
    mutant=Mutant(_MODULE, "{**state.stored, key: stored}", "{key: stored, **state.stored}"),
    verdict=Verdict.CONFIRMED,
    paths=60,
)
def what_was_added_is_got(first: Key, second: Key, key: Key, old: str, new: str) -> bool:
    """``get`` after ``add`` gives the object, whatever was there; under the other keys nothing changes.

    post: _
    """
    before = holding((first, old), (second, old))
    added = item(key, "new", new)
    later = after(before, add(added))
    others = [get_by_key(other.value) for other in Key if other is not key]
    return answer(later, get(added)) == "new" and all(answer(later, each) == answer(before, each) for each in others)


@law(
    mutant=Mutant(
        _MODULE,
        "return _versioned(replace(state, stored={k: stored for k, stored in state.stored.items() if k != key}), item)",
        "rest = dict(state.stored); del rest[key]; return _versioned(replace(state, stored=rest), item)",
    ),
    verdict=Verdict.CONFIRMED,
    paths=60,
)
def delete_is_idempotent(first: Key, second: Key, key: Key, value: str) -> bool:
    """A second ``delete`` changes nothing; the first removes its key and no other.

    post: _
    """
    before = holding((first, value), (second, value))
    once = after(before, delete(item(key, "any")))
    rest = tuple(each for each in found(before, list_keys()) if each != key.value)
    return found(once, list_keys()) == rest and after(once, delete(item(key, "any"))) == once


@law(
    mutant=Mutant(_MODULE, "if k != key}", "if not k.startswith(key)}"),
    verdict=Verdict.NOT_REFUTED,
    paths=25,
)
def delete_spares_every_other_key(present: str, key: str, value: str) -> bool:
    """Any two keys: one may be the beginning of the other.

    post: _
    """
    later = after(holding((present, value)), delete(item(key, "any")))
    return answer(later, get_by_key(present)) == (None if present == key else "v0")


@law(
    mutant=Mutant(_MODULE, "stored=stored, resource_version=", "stored={**state.stored, **stored}, resource_version="),
    verdict=Verdict.CONFIRMED,
    paths=60,
)
def after_replace_the_new_objects_are_listed(old: Key, first: Key, second: Key, value: str) -> bool:
    """Those alone, and of two with the same key the later.

    post: _
    """
    later = after(holding((old, value)), replace((item(first, "n0", value), item(second, "n1", value))))
    stamps = ("n1",) if first is second else ("n0", "n1")
    keys = tuple(sorted({first.value, second.value}))
    return found(later, list_objects()) == stamps and found(later, list_keys()) == keys


@law(
    mutant=Mutant(_MODULE, "for item in operation.items}", "for item in reversed(operation.items)}"),
    verdict=Verdict.NOT_REFUTED,
    paths=25,
)
def the_last_of_each_key_is_listed(old: list[tuple[str, str]], new: list[tuple[str, str]]) -> bool:
    """Any keys, any number of objects: ``list`` after ``replace`` gives the last of each key.

    post: _
    """
    later = after(holding(*old), replace(tuple(items(new, "n"))))
    last = [f"n{place}" for place, (key, _) in enumerate(new) if all(key != other for other, _ in new[place + 1 :])]
    return found(later, list_objects()) == tuple(sorted(last))


@law(
    mutant=Mutant(_MODULE, "if any(stored.is_under", "if all(stored.is_under"),
    verdict=Verdict.CONFIRMED,
    paths=60,
)
def index_finds_what_by_index_finds(stored: Word, one: Word, other: Word) -> bool:
    """``index`` of an object gives what ``by_index`` gives for one or the other of its values.

    post: _
    """
    state = holding(("a", stored.value), ("b", "x"))
    union = {stamp for value in (one, other) for stamp in found(state, by_index(INDEX, value.value))}
    return found(state, index(INDEX, item("z", "probe", one.value, other.value))) == tuple(sorted(union))


@law(
    mutant=Mutant(_MODULE, "in self.indexed.get(index, ())", 'in "".join(self.indexed.get(index, ()))'),
    verdict=Verdict.NOT_REFUTED,
    paths=30,
)
def a_lookup_finds_exactly_the_objects_of_a_value(first: str, second: str, value: str) -> bool:
    """``by_index`` and ``index_keys`` find the same objects: those with that value, not with a similar one.

    post: _
    """
    state = holding(("a", first), ("b", second))
    places = [place for place, each in enumerate((first, second)) if each == value]
    return found(state, by_index(INDEX, value)) == tuple(f"v{place}" for place in places) and found(
        state, index_keys(INDEX, value)
    ) == tuple("ab"[place] for place in places)


@law(
    mutant=Mutant(
        _MODULE,
        'stored.indexed.get(operation.index or "", ())}',
        'state.values_of(stored.item, operation.index or "") or ()}',
    ),
    verdict=Verdict.CONFIRMED,
    paths=60,
)
def a_value_is_listed_just_if_it_finds_something(first: Word, changed: Word, value: Word) -> bool:
    """Even after an object was changed in place: the values at the time of the write count.

    post: _
    """
    state = after(holding(("a", first.value), ("b", "x")), mutate("a", {INDEX: (changed.value,)}))
    is_listed = value.value in found(state, list_index_func_values(INDEX))
    return is_listed == (found(state, by_index(INDEX, value.value)) != ())


@law(
    mutant=Mutant(_MODULE, "failed = True", "failed = True; break"),
    verdict=Verdict.CONFIRMED,
    paths=100,
)
def a_transaction_is_its_writes_one_by_one(first: Key | None, second: Key | None, removes: bool, adds: bool) -> bool:
    """A write that fails, because its object has no key, does not keep back those after it.

    post: _
    """
    state = holding(("a", "x"), ("b", "x"))
    one, other = item(first, "n0", "y"), item(second, "n1", "y")
    entries = (
        (WriteKind.DELETE if removes else WriteKind.UPDATE, one),
        (WriteKind.ADD if adds else WriteKind.DELETE, other),
    )
    calls = delete(one) if removes else update(one), add(other) if adds else delete(other)
    return after(state, transaction(*entries)) == after(state, *calls)


@law(
    mutant=Mutant(_MODULE, "if item.resource_version is None else", "if not item.resource_version else"),
    verdict=Verdict.CONFIRMED,
    paths=20,
)
def the_last_version_written_counts(before: str, version: str | None) -> bool:
    """An empty one, too; an object without metadata leaves the version as it is.

    post: _
    """
    state = after(MODEL.initial([INDEX]), replace((), before), add(item("a", "v", version=version)))
    return answer(state, last_sync_resource_version()) == (before if version is None else version)


@law(
    mutant=Mutant(_MODULE, "indexed={**old.indexed, **_indexed(", "indexed={**_indexed("),
    verdict=Verdict.CONFIRMED,
    paths=60,
)
def an_index_added_late_is_as_if_it_had_always_been_there(first: Key, second: Key, value: str, other: str) -> bool:
    """Under the *current* semantics, and the older index stays.

    post: _
    """
    model = IndexerModel(Semantics.CURRENT)
    values = {INDEX: (value,), "late": (other,)}
    writes = add(Item(first.value, "v0", values)), add(Item(second.value, "v1", values))
    late, _ = model.apply(after(model.initial([INDEX]), *writes), add_indexers("late"))
    return late == after(model.initial([INDEX, "late"]), *writes)


@law(
    mutant=Mutant(
        _MODULE,
        "return _versioned(replace(state, stored={**state.stored, key: stored}), item)",
        "state.stored[key] = stored; return _versioned(state, item)",
    ),
    verdict=Verdict.CONFIRMED,
    paths=20,
)
def a_write_leaves_the_state_before_it_alone(first: Key, key: Key, value: str, other: str) -> bool:
    """A state never changes: the search for an order of the calls keeps many of them.

    post: _
    """
    state = holding((first, value))
    after(state, add(item(key, "new", other)))
    return state == holding((first, value))


@law(
    mutant=Mutant(_MODULE, "raise _CallFails(ErrorKind.KEY_FUNC)", 'return ""'),
    verdict=Verdict.CONFIRMED,
    paths=60,
)
def a_write_that_fails_changes_nothing(first: Key, key: Key | None, value: str, fails: bool) -> bool:
    """It fails just if the object has no key or its index function fails.

    post: _
    """
    before = holding((first, value))
    written = Item(None if key is None else key.value, "new", {INDEX: None if fails else (value,)})
    later, outcome = MODEL.apply(before, add(written))
    return (later == before) == (outcome.error is not None) == (fails or key is None)
