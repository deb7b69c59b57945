"""asyncio's functions for futures of threads, made to accept those of an execution.

``asyncio.wrap_future`` and ``asyncio.run_coroutine_threadsafe`` connect futures of a loop with futures of
``concurrent.futures``. An execution has a copy of that module, with virtual locks. So the functions are copied, too:
the same code, with other names around it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any, Final

REAL: Final = "kcache_real"
"""Attribute of a function in place of one of asyncio: the function of asyncio."""
_OF_FUTURES: Final = ("_set_concurrent_future_state", "_copy_future_state", "_chain_future", "wrap_future")


def bridges(concurrent: ModuleType) -> dict[str, Callable[..., Any]]:
    """Return the functions that connect futures of loops with futures of threads, by name.

    Args:
        concurrent: the package ``concurrent`` of the execution, with its ``futures``.
    """
    modules: Any = sys.modules
    for_futures = {**vars(modules["asyncio.futures"]), "concurrent": concurrent}
    for_futures.update({name: _copied(for_futures[name], for_futures) for name in _OF_FUTURES})
    own = ModuleType("asyncio.futures")
    vars(own).update(for_futures)
    for_tasks = {**vars(modules["asyncio.tasks"]), "concurrent": concurrent, "futures": own}
    name = "run_coroutine_threadsafe"

    def as_completed(fs: Iterable[Any], **named: Any) -> Any:
        """Make tasks of coroutines first: asyncio makes a set of them, which would have another order each time."""
        tasks = modules["asyncio.tasks"]
        return getattr(tasks.as_completed, REAL)([tasks.ensure_future(each) for each in fs], **named)

    return {
        "wrap_future": for_futures["wrap_future"],
        name: _copied(for_tasks[name], for_tasks),
        "as_completed": as_completed,
    }


def _copied(function: Any, names: dict[str, Any]) -> FunctionType:
    function = getattr(function, REAL, function)
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy
