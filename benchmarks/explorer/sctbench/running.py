"""The main thread of the programs: it starts all others, then waits for them."""

from __future__ import annotations

import threading
from collections.abc import Callable


def run(*works: Callable[[], object]) -> None:
    """Run each in a thread of its own."""
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
