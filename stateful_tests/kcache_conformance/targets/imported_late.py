"""Late imports: functions whose module is imported at the first call, so that runs without the call do not wait."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from typing import Any


def imported_late(name: str) -> Callable[..., Any]:
    """Return a function that calls ``package.module:function``; the module is imported at the first call."""

    def call(*arguments: Any, **options: Any) -> Any:
        return pkgutil.resolve_name(name)(*arguments, **options)

    return call
