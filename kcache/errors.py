"""Errors of the reference implementation: stores, queues and informers. All derive from :class:`KcacheError`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from json.encoder import encode_basestring

_SHOWN_CHARACTERS = 500


class KcacheError(Exception):
    """Base class of all errors of the reference implementation."""

    def __reduce__(self) -> tuple[object, ...]:
        # The default copies an error by a call of __init__ with the message as its only argument.
        return _restored, (type(self), self.args, vars(self))


class KeyFuncError(KcacheError):
    """The key function failed for an object (client-go ``KeyError``).

    Attributes:
        obj: the object that has no key.
        cause: the error that the key function raised, or a ``TypeError`` if its result is no ``str``.
    """

    def __init__(self, obj: object, cause: BaseException) -> None:
        super().__init__(f"couldn't create key for object {_shortened(obj)}: {_text(cause)}")
        self.obj = obj
        self.cause = cause


class IndexNotFoundError(KcacheError, LookupError):
    """A lookup named an index that the store does not have."""

    def __init__(self, index_name: str) -> None:
        super().__init__(f"Index with name {index_name} does not exist")
        self.index_name = index_name


class IndexFuncError(KcacheError):
    """An index function failed, or its result is no list of ``str``; nothing was written.

    Attributes:
        key: the key of the object; ``None`` if a lookup computed the values of a probe.
        index_name: the index whose function failed.
        cause: the error that the function raised, or a ``TypeError`` that describes the wrong result.
    """

    def __init__(self, key: str | None, index_name: str, cause: BaseException) -> None:
        subject = "the given object" if key is None else f"key {quoted(key)}"
        super().__init__(
            f"unable to calculate an index entry for {subject} on index {quoted(index_name)}: {_text(cause)}"
        )
        self.key = key
        self.index_name = index_name
        self.cause = cause


class IndexerConflictError(KcacheError):
    """``add_indexers`` named an index that exists already; nothing was added."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(sorted(names))
        super().__init__(f"indexer conflict: {', '.join(self.names)}; choose other names or leave them out")


class IndexersRunningError(KcacheError):
    """``add_indexers`` on a store that holds objects, under the *classic* semantics."""

    def __init__(self) -> None:
        super().__init__(
            "cannot add indexers to running index; add them while the store is empty, or create it with "
            'semantics="current"'
        )


class InvalidIndexerError(KcacheError, TypeError):
    """An index function is not callable; nothing was added."""

    def __init__(self, index_name: str, function: object) -> None:
        super().__init__(f"the index function of {quoted(index_name)} is a {type(function).__name__}; pass a function")
        self.index_name = index_name


class InvalidObjectError(KcacheError, TypeError):
    """The object cannot be stored: ``None`` stands for absence."""

    def __init__(self, key: str) -> None:
        super().__init__(f"cannot store None under key {quoted(key)}; use delete to remove an object")
        self.key = key


class NoMetadataError(KcacheError, TypeError):
    """The object is no manifest, has no ``.metadata``, and is no metadata itself (client-go ``errNotObject``)."""

    def __init__(self, detail: str = "") -> None:
        super().__init__("object has no meta: object does not implement the Object interfaces" + detail)


class KeyFormatError(KcacheError, ValueError):
    """A key is not of the form ``name`` or ``namespace/name``."""

    def __init__(self, key: str) -> None:
        super().__init__(f"unexpected key format: {quoted(key)}")
        self.key = key


class SelectorError(KcacheError, ValueError):
    """A label selector cannot be parsed."""


class ResourceVersionError(KcacheError, ValueError):
    """A resource version is not a decimal number without leading zeros."""


class TransformError(KcacheError):
    """The store's transformer failed for an object; nothing was written."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"transforming: {_text(cause)}")
        self.cause = cause


class TransactionError(KcacheError):
    """Some entries of a transaction failed; the others were applied (client-go ``TransactionError``).

    Attributes:
        total_transactions: the number of entries of the transaction.
        successful_indices: positions of the entries that were applied, ascending.
        errors: one error for each entry that was not applied, in the order of the entries.
    """

    def __init__(self, total: int, successful_indices: Sequence[int], errors: Sequence[KcacheError]) -> None:
        self.total_transactions = total
        self.successful_indices = tuple(successful_indices)
        self.errors = tuple(errors)
        listed = " ".join(str(error) for error in self.errors)
        super().__init__(f"failed to execute ({len(self.errors)}/{total}) transactions failed due to: [{listed}]")


class FIFOClosedError(KcacheError):
    """A queue is closed and has nothing left to pop (client-go ``ErrFIFOClosed``)."""

    def __init__(self) -> None:
        super().__init__("DeltaFIFO: manipulating with closed queue")


class ZeroLengthDeltasError(KcacheError, ValueError):
    """An empty list of deltas has no key (client-go ``ErrZeroLengthDeltasObject``)."""

    def __init__(self) -> None:
        super().__init__("0 length Deltas object; can't get key")


class EnqueueError(KcacheError):
    """The transformer of a queue failed for a listed object; the objects before it are queued.

    Attributes:
        cause: the error that the transformer raised.
    """

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"couldn't enqueue object: {_text(cause)}")
        self.cause = cause


class QueueOptionsError(KcacheError, ValueError):
    """The options of a queue contradict each other, or the call needs another option."""


class InformerStartedError(KcacheError):
    """An option was set after the informer had started; it has to be set before."""

    def __init__(self) -> None:
        super().__init__("informer has already started")


class InformerStoppedError(KcacheError):
    """A handler or index function was added to an informer that has stopped; create a new informer."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} because it has stopped already")


class ObjectMutatedError(KcacheError):
    """An object of a cache was changed in place; the code that changed it has to change a copy instead.

    Attributes:
        key: the key of the object.
        changes: one line for each field that differs.
    """

    def __init__(self, description: str, key: str, changes: Sequence[str]) -> None:
        listed = "; ".join(changes)
        super().__init__(
            f"cache {description}: the object {quoted(key)} was changed in place: {listed}. "
            "Objects of a cache are shared: change a copy.deepcopy of the object"
        )
        self.key = key
        self.changes = tuple(changes)


def quoted(text: str) -> str:
    """Return ``text`` in double quotes, with escapes, as Go's ``%q`` prints it."""
    return encode_basestring(text)


def _shortened(obj: object) -> str:
    """Return ``str(obj)``, cut after ``_SHOWN_CHARACTERS`` characters."""
    text = _text(obj)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."


def _text(obj: object) -> str:
    """Return ``str(obj)``; if ``__str__`` fails, return the default ``repr``, so that the real error is reported."""
    try:
        return str(obj)
    except Exception:
        return object.__repr__(obj)


def _restored(kind: type[KcacheError], args: tuple[object, ...], attributes: dict[str, object]) -> KcacheError:
    error = kind.__new__(kind, *args)
    vars(error).update(attributes)
    return error
