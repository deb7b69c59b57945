"""Lets CrossHair follow the paths of a law. Imported in a child process alone: CrossHair need not be installed."""

from __future__ import annotations

import re
import time
from collections import Counter

from crosshair.core_and_libs import analyze_function, run_checkables  # pyright: ignore[reportMissingImports]
from crosshair.options import AnalysisKind, AnalysisOptionSet  # pyright: ignore[reportMissingImports]

from .law import Law

_SECONDS_A_LAW = 100.0
_SECONDS_A_PATH = 30.0
"""Limits in CPU time, far above what any law takes: what ends a search is the number of paths."""


def search(law: Law) -> dict[str, object]:
    """What CrossHair says, the call that refutes the law if there is one, the paths followed and the CPU seconds."""
    stats: Counter[str] = Counter()
    options = AnalysisOptionSet(
        analysis_kind=[AnalysisKind.PEP316],
        max_iterations=law.paths,
        per_condition_timeout=_SECONDS_A_LAW,
        per_path_timeout=_SECONDS_A_PATH,
        report_all=True,
        stats=stats,
    )
    started = time.process_time()
    (message,) = run_checkables(analyze_function(law.function, options))
    seconds = time.process_time() - started
    _, *call = re.split(r" ?when calling ", message.message, maxsplit=1)
    return {
        "state": message.state.value,
        "message": message.message,
        "call": _readable(call[0]) if call else None,
        "paths": stats["num_paths"],
        "seconds": seconds,
    }


def _readable(call: str) -> str:
    """The call as Python text in ASCII, without what CrossHair adds to it."""
    return re.sub(r" \(which returns .*\)$", "", call).encode("ascii", "backslashreplace").decode()
