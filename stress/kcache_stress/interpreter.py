"""Name and version of the interpreter, and whether it has a GIL."""

from __future__ import annotations

import platform
import sys
import sysconfig


def has_gil() -> bool:
    """Whether the GIL is on now; importing a module can turn the GIL on in a free-threaded build."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def version() -> str:
    """Return the version, such as ``3.14.0``, ``3.14.0 (free-threaded)`` or ``3.14.0 (free-threaded, GIL on)``."""
    is_free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    build = (" (free-threaded, GIL on)" if has_gil() else " (free-threaded)") if is_free else ""
    return f"{platform.python_version()}{build}"


def name() -> str:
    """Return the implementation and the version, such as ``CPython 3.14.0``."""
    return f"{platform.python_implementation()} {version()}"
