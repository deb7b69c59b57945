"""A child process of the supervisor, forked where all that children import is imported already; for the suite.

``streams`` are its standard streams, ``environment`` its variables: the ``conftest.py`` of the root hands them over.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import Any

streams: list[Any] = globals()["streams"]
environment: dict[str, str] = globals()["environment"]

for number, stream in enumerate(streams):
    os.dup2(stream.detach(), number)
sys.stdin, sys.stdout, sys.stderr = (
    os.fdopen(number, mode, encoding="utf-8", errors="replace", closefd=False) for number, mode in enumerate("rww")
)
os.setsid()
os.environ.clear()
os.environ.update(environment)

from kcache_conformance.isolation import worker  # noqa: E402

gc.freeze()
gc.set_threshold(20_000)  # 700 by default: collections take a twentieth of the time, as in the tests themselves
worker.main()
