"""The interpreter: its name, and whether its threads take turns."""

from __future__ import annotations

import platform
import sys
import sysconfig


def has_gil() -> bool:
    """Whether one thread runs at a time; a module that is imported can turn that on in a free-threaded build."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def version() -> str:
    """Such as ``3.14.0``, ``3.14.0 (free-threaded)`` or ``3.14.0 (free-threaded, GIL on)``."""
    is_free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    build = (" (free-threaded, GIL on)" if has_gil() else " (free-threaded)") if is_free else ""
    return f"{platform.python_version()}{build}"


def name() -> str:
    """Such as ``CPython 3.14.0``."""
    return f"{platform.python_implementation()} {version()}"
