from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import kcache
from kcache import (
    FIFOClosedError,
    IndexerConflictError,
    IndexersRunningError,
    IndexFuncError,
    IndexNotFoundError,
    InvalidIndexerError,
    InvalidObjectError,
    KcacheError,
    KeyFormatError,
    KeyFuncError,
    NoMetadataError,
    ResourceVersionError,
    SelectorError,
    TransactionError,
    TransformError,
)

_ERRORS: list[tuple[Callable[[], KcacheError], type[Exception], str]] = [
    (lambda: KeyFuncError("abc", ValueError("no name")), KcacheError, "couldn't create key for object abc: no name"),
    (lambda: IndexNotFoundError("node"), LookupError, "Index with name node does not exist"),
    (
        lambda: IndexFuncError('a/"x"', "group", ValueError("boom")),
        KcacheError,
        r'unable to calculate an index entry for key "a/\"x\"" on index "group": boom',
    ),
    (
        lambda: IndexFuncError(None, "group", ValueError("boom")),
        KcacheError,
        'unable to calculate an index entry for the given object on index "group": boom',
    ),
    (
        lambda: IndexerConflictError({"c", "a", "b"}),
        KcacheError,
        "indexer conflict: a, b, c; choose other names or leave them out",
    ),
    (
        IndexersRunningError,
        KcacheError,
        "cannot add indexers to running index; add them while the store is empty, or create it with "
        'semantics="current"',
    ),
    (
        lambda: InvalidIndexerError("node", 5),
        TypeError,
        'the index function of "node" is a int; pass a function',
    ),
    (
        lambda: InvalidObjectError("a/x"),
        TypeError,
        'cannot store None under key "a/x"; use delete to remove an object',
    ),
    (NoMetadataError, TypeError, "object has no meta: object does not implement the Object interfaces"),
    (
        lambda: NoMetadataError(": its name is a int"),
        TypeError,
        "object has no meta: object does not implement the Object interfaces: its name is a int",
    ),
    (lambda: KeyFormatError("a/b/c"), ValueError, 'unexpected key format: "a/b/c"'),
    (lambda: SelectorError("what is wrong"), ValueError, "what is wrong"),
    (lambda: ResourceVersionError("what is wrong"), ValueError, "what is wrong"),
    (lambda: TransformError(ValueError("boom")), KcacheError, "transforming: boom"),
    (FIFOClosedError, KcacheError, "DeltaFIFO: manipulating with closed queue"),
    (
        lambda: TransactionError(3, [1], [InvalidObjectError("k"), IndexNotFoundError("i")]),
        KcacheError,
        'failed to execute (2/3) transactions failed due to: [cannot store None under key "k"; use delete to remove an'
        " object Index with name i does not exist]",
    ),
]


@pytest.mark.parametrize(("make", "base", "message"), _ERRORS, ids=lambda value: getattr(value, "__name__", ""))
def test_messages_and_bases(make: Callable[[], KcacheError], base: type[Exception], message: str) -> None:
    error = make()
    assert str(error) == message
    assert isinstance(error, base)
    assert isinstance(error, KcacheError)


def test_every_public_error_is_in_the_table() -> None:
    public = {value for value in vars(kcache).values() if isinstance(value, type) and issubclass(value, Exception)}
    assert public == {type(make()) for make, _, _ in _ERRORS} | {KcacheError}


@pytest.mark.parametrize(("make", "base", "message"), _ERRORS, ids=lambda value: getattr(value, "__name__", ""))
@pytest.mark.parametrize(
    "duplicate",
    [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy],
    ids=["pickle", "copy", "deep"],
)
def test_errors_survive_pickling_and_copying(
    duplicate: Callable[[KcacheError], KcacheError], make: Callable[[], KcacheError], base: type, message: str
) -> None:
    error = make()
    again = duplicate(error)
    assert type(again) is type(error)
    assert str(again) == message
    assert again.args == error.args
    assert vars(again).keys() == vars(error).keys()
    for name, value in vars(error).items():
        assert str(vars(again)[name]) == str(value)


def test_attributes() -> None:
    cause = ValueError("x")
    obj = object()
    key_error = KeyFuncError(obj, cause)
    assert key_error.obj is obj
    assert key_error.cause is cause
    assert IndexNotFoundError("i").index_name == "i"
    index_error = IndexFuncError("k", "i", cause)
    assert (index_error.key, index_error.index_name, index_error.cause) == ("k", "i", cause)
    assert IndexerConflictError(iter(["b", "a"])).names == ("a", "b")
    assert InvalidIndexerError("i", 5).index_name == "i"
    assert InvalidObjectError("k").key == "k"
    assert KeyFormatError("a/b/c").key == "a/b/c"
    assert TransformError(cause).cause is cause
    left_out = [InvalidObjectError("k")]
    transaction_error = TransactionError(2, [0], left_out)
    assert transaction_error.total_transactions == 2
    assert transaction_error.successful_indices == (0,)
    assert transaction_error.errors == tuple(left_out)


class _Unspeakable:
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class _UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def test_an_object_without_a_text_does_not_hide_the_error() -> None:
    error = KeyFuncError(_Unspeakable(), ValueError("no name"))
    assert str(error).startswith("couldn't create key for object <")
    assert "_Unspeakable object at" in str(error)
    assert str(error).endswith(": no name")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert isinstance(again.obj, _Unspeakable)


@pytest.mark.parametrize(
    "make",
    [
        lambda cause: KeyFuncError("abc", cause),
        lambda cause: IndexFuncError("k", "i", cause),
        TransformError,
    ],
)
def test_a_cause_without_a_text_does_not_hide_the_error(make: Callable[[Exception], KcacheError]) -> None:
    assert "_UnspeakableError" in str(make(_UnspeakableError("text")))


def test_a_long_object_is_shown_in_part() -> None:
    text = str(KeyFuncError("x" * 10_000, ValueError("no name")))
    assert text == f"couldn't create key for object {'x' * 500}...: no name"
    exact = str(KeyFuncError("x" * 500, ValueError("no name")))
    assert exact == f"couldn't create key for object {'x' * 500}: no name"


def test_a_long_cause_is_shown_whole() -> None:
    assert str(TransformError(ValueError("y" * 2000))) == f"transforming: {'y' * 2000}"


def _raise(error: Exception) -> Any:
    raise error


def test_the_store_reports_objects_and_causes_without_a_text() -> None:
    store: kcache.Cache[Any] = kcache.new_indexer(lambda obj: _raise(_UnspeakableError()))
    with pytest.raises(KeyFuncError):
        store.add(_Unspeakable())
    indexed: kcache.Cache[Any] = kcache.new_indexer(lambda obj: "k", {"i": lambda obj: _raise(_UnspeakableError())})
    with pytest.raises(IndexFuncError):
        indexed.add(_Unspeakable())
    transforming: kcache.Cache[Any] = kcache.new_indexer(
        lambda obj: "k", transformer=lambda obj: _raise(_UnspeakableError())
    )
    with pytest.raises(TransformError):
        transforming.add(_Unspeakable())
