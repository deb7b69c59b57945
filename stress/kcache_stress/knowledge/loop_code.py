"""Code of asyncio: which of it creates and runs loops, and which functions are safe in threads beside a loop."""

from __future__ import annotations

import os
from typing import Final

_FOLDER: Final = f"{os.path.dirname(os.__file__)}{os.sep}asyncio{os.sep}"
_MODULES: Final = """
    runners events base_events unix_events selector_events coroutines base_futures futures base_tasks tasks timeouts
    """
_RUNNING: Final = frozenset(f"{_FOLDER}{name}.py" for name in _MODULES.split())
_FUNCTIONS: Final = """
    run new_event_loop set_event_loop get_event_loop get_running_loop _get_running_loop get_event_loop_policy
    _get_event_loop_policy _init_event_loop_policy iscoroutine iscoroutinefunction isfuture wrap_future _chain_future
    _call_check_cancel _call_set_state _get_loop is_running is_closed get_debug time _lazy_init _is_debug_mode
    _check_closed _check_running __enter__ __exit__ __init__ __repr__ run_coroutine_threadsafe run_until_complete
    run_forever _run_forever_setup _run_forever_cleanup _set_coroutine_origin_tracking close _cancel_all_tasks
    """
THREAD_SAFE: Final = frozenset(_FUNCTIONS.split())
"""Functions of the modules that run loops that do not touch a running loop of another thread."""


def is_of_asyncio(file: str) -> bool:
    """Whether a file is part of asyncio."""
    return file.startswith(_FOLDER)


def runs_loops(file: str) -> bool:
    """Whether a file of asyncio creates loops and tasks and runs them; others have locks, queues and streams.

    This code touches its own loop only, and what it does to the order of callbacks is an event of the loop.
    """
    return file in _RUNNING
