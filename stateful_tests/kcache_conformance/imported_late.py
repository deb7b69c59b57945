"""Functions that are imported when they are called, so that nobody waits for what a run does not come to."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from typing import Any


def imported_late(name: str) -> Callable[..., Any]:
    """The function ``package.module:function``; its module is imported when it is first called."""

    def call(*arguments: Any, **options: Any) -> Any:
        return pkgutil.resolve_name(name)(*arguments, **options)

    return call
