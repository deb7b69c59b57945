"""Values that are tried for a parameter: by its annotation, by its name, and if these do not match, other values.

An annotation never makes a test worse than no annotation: an annotation without information is ignored.
"""

from __future__ import annotations

import collections.abc
import inspect
import typing
from collections.abc import Hashable, Sequence
from typing import Any, Final, TypeAlias

from kcache_model.object_types.callbacks import Behaviour, Callback, CallbackForm

Values: TypeAlias = Sequence[Any]
"""Values to choose from; a value that is listed twice is chosen twice as often."""

_VALUES: Final[dict[Any, Values]] = {
    int: (1, 2, 1, 2, 3),
    float: (0.5, 2.0),
    bool: (False, True),
    str: ("a", "b", "a", "b", "c"),
    type(None): (None,),
}
FEW: Final = 2
"""Values of each argument in small-scope verification; a third value is tried less often."""
_KEY_NAMES: Final = frozenset({"key", "k", "name", "id", "topic", "event", "item_id", "key_name"})
_FILE_NAMES: Final = ("file", "files", "filename", "filenames", "file_name", "fname", "path", "paths", "pathname")
"""Endings of names of parameters that never get numbers: ``open(1)`` opens and then closes a file of this process."""
_INDEX_NAMES: Final = frozenset({"at", "i", "idx", "index", "pos", "position", "offset"})
_INDEXES: Final[Values] = (0, 0, 1)
"""Positions in sequences with few items."""
_UNKNOWN: Final = frozenset({Any, object, Hashable, inspect.Parameter.empty})
_LISTENER_NAMES: Final = frozenset(
    ("callback", "cb", "consumer", "handler", "hook", "listener", "observer", "receiver", "subscriber")
)
"""Names of callables that are called once for each event, so the number of calls is part of the result."""
_CALLABLE_NAMES: Final = _LISTENER_NAMES | {
    *("action", "callable", "creator", "default_factory", "factory", "fn", "func", "function", "job", "loader"),
    *("on_change", "on_event", "predicate", "producer", "supplier", "target", "task", "thunk", "worker"),
}
_COROUTINE_NAMES: Final = frozenset(("aw", "awaitable", "coro", "coroutine"))
_AWAITABLES: Final = (collections.abc.Awaitable, collections.abc.Coroutine)
_OTHERS: Final[tuple[Values, ...]] = (
    *(_VALUES[str], _VALUES[int], _INDEXES, (0.5, 2.0), (True, False), ((1, 2), ()), (None,)),
)
"""Values to try if nothing else matches. Tuples come back from JSON as tuples."""


def first_values(parameter: inspect.Parameter, methods: Sequence[str] = (), *, is_async: bool = False) -> Values:
    """Return the values that an annotation or a name suggests.

    Args:
        parameter: of a method.
        methods: methods of the same object, without parameters, for callbacks to call.
        is_async: whether the class has async methods, so that callbacks may be async, too.

    Raises:
        TargetError: no object of the annotation can be created; the message has the reason.
    """
    annotation = _meant(parameter.annotation)
    says_nothing = is_unknown(annotation)
    is_named_so = is_async and says_nothing and parameter.name.strip("_") in _COROUTINE_NAMES
    if is_named_so or _is_awaitable(annotation):
        return coroutines()
    if is_callable(annotation) or (says_nothing and names_callable(parameter)):
        return callbacks(parameter, methods, is_async=is_async)
    if says_nothing:
        return usual_values(parameter)
    if isinstance(annotation, type) and annotation in _VALUES:
        return _VALUES[annotation]
    from .argument_instances import values_of  # of the fuzzer, which few classes need

    return values_of(annotation) or usual_values(parameter)


def usual_values(parameter: inspect.Parameter) -> Values:
    """Return the values to try if an annotation has no information."""
    if parameter.name.strip("_") in _INDEX_NAMES:
        return _INDEXES
    return _VALUES[str if names_key(parameter) or names_file(parameter) else int]


def plain_values() -> list[Values]:
    """Return values that most methods with unknown parameters accept."""
    return [_VALUES[str], _VALUES[int]]


def other_values(
    parameter: inspect.Parameter | None, methods: Sequence[str] = (), *, is_async: bool = False
) -> list[Values]:
    """Return the values to try if the first values do not match; see :func:`first_values`."""
    called = [callbacks(parameter, methods)] if parameter is not None else []
    if is_async:
        called = [_in_form(CallbackForm.ASYNC_FUNCTION), *called, coroutines()]
    others = [*called, *_OTHERS, *_containers()]
    is_file = parameter is not None and names_file(parameter)
    return [values for values in others if not (is_file and isinstance(values[0], (int, float)))]


def names_callable(parameter: inspect.Parameter) -> bool:
    """Whether, by its name, a parameter is a callable."""
    return parameter.name.strip("_") in _CALLABLE_NAMES


def names_key(parameter: inspect.Parameter) -> bool:
    """Whether, by its name, a parameter is a key."""
    return parameter.name in _KEY_NAMES


def names_file(parameter: inspect.Parameter) -> bool:
    """Whether, by its name, a parameter is the name of a file."""
    return parameter.name.strip("_").endswith(_FILE_NAMES)


def callbacks(parameter: inspect.Parameter, methods: Sequence[str] = (), *, is_async: bool = False) -> Values:
    """Return callbacks: a harmless one, one that raises, and one that calls a method back if there is one.

    In an async class, what a listener returns may be awaited, unless its annotation says otherwise.
    """
    annotation = parameter.annotation
    takes, returns = _signature(annotation)
    is_listener = parameter.name.strip("_") in _LISTENER_NAMES or parameter.name.startswith("on_")
    is_listener = is_listener or (returns in (None, type(None)) and takes != [])
    if _is_awaitable(returns):
        is_listener = is_listener or _result_of(returns) in (None, type(None))
        return _in_form(CallbackForm.ASYNC_FUNCTION, Behaviour.RECORDS if is_listener else Behaviour.RETURNS)
    if is_async and is_listener and returns not in (None, type(None)):
        return _in_form(CallbackForm.ASYNC_FUNCTION, Behaviour.RECORDS)
    harmless = Callback(Behaviour.RECORDS if is_listener else Behaviour.RETURNS)
    return (
        harmless,
        *(Callback(Behaviour.CALLS_BACK, name) for name in methods[:1]),
        harmless,
        Callback(Behaviour.RAISES),
    )


def coroutines() -> Values:
    """Return coroutines: one that returns, and one that raises."""
    return _in_form(CallbackForm.COROUTINE)


def _in_form(form: CallbackForm, harmless: Behaviour = Behaviour.RETURNS) -> Values:
    return (Callback(harmless, form=form), Callback(harmless, form=form), Callback(Behaviour.RAISES, form=form))


def _is_awaitable(annotation: Any) -> bool:
    """Whether an annotation is a coroutine or another awaitable type, or a union with one."""
    origin = typing.get_origin(annotation) or annotation
    if origin is typing.Annotated or origin in (typing.Union, _UNION):
        return any(map(_is_awaitable, typing.get_args(annotation)))
    return origin in _AWAITABLES


def _result_of(annotation: Any) -> Any:
    """Return the last type argument of an annotation: the result of an awaitable; ``...`` if it has none."""
    return (typing.get_args(annotation) or (...,))[-1]


def _signature(annotation: Any) -> tuple[Any, Any]:
    """Return the parameters and the result in the annotation of a callable; ``...`` if it has none."""
    arguments = typing.get_args(annotation)
    return (arguments[0], arguments[1]) if len(arguments) == 2 else (..., ...)


def is_callable(annotation: Any) -> bool:
    """Whether an annotation is a callable type, or a union with one."""
    origin = typing.get_origin(annotation) or annotation
    if origin is collections.abc.Callable:
        return True
    if origin is typing.Annotated or origin in (typing.Union, _UNION):
        return any(is_callable(one) for one in typing.get_args(annotation))
    is_protocol = isinstance(annotation, type) and getattr(annotation, "_is_protocol", False)
    return is_protocol and "__call__" in vars(annotation)


_UNION: Final = type(int | str)


def is_unknown(annotation: Any) -> bool:
    """Whether an annotation has no information about the wanted values."""
    try:
        return isinstance(annotation, str) or annotation in _UNKNOWN or _is_vague(annotation)
    except TypeError:  # not hashable
        return _is_vague(annotation)


def _is_vague(annotation: Any) -> bool:
    """Whether any plain value satisfies an annotation, as in ``collections.abc.Hashable``."""
    if not isinstance(annotation, type) or annotation.__module__ not in ("collections.abc", "typing"):
        return False
    try:
        return issubclass(int, annotation)
    except TypeError:
        return False


def _meant(annotation: Any) -> Any:
    """Return the type behind an alias such as a ``NewType`` or a ``TypeVar``."""
    while isinstance(annotation, typing.NewType):
        annotation = annotation.__supertype__
    if isinstance(annotation, typing.TypeVar):
        choices = annotation.__constraints__ or (annotation.__bound__,)
        return inspect.Parameter.empty if choices[0] is None else _meant(choices[0])
    origin = typing.get_origin(annotation)
    is_bare = isinstance(origin, type) and not typing.get_args(annotation)  # typing.Hashable is collections.abc's
    return origin if is_bare else annotation


def _containers() -> list[Values]:
    from .argument_instances import argument_of

    return [(argument_of({"made": [1, 2]}),), (argument_of({"made": {"a": 1}}),)]
