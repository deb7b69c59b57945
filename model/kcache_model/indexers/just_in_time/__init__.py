"""Linearizability of long histories, judged response by response, with all configurations that are still possible.

The checker accepts one kind of history: histories of an indexed cache whose written objects carry unique stamps, so
that the result of a read identifies the writes that it saw.

* Calls are processed in the order of their responses, and writes take effect as late as possible: just in time.
  G. Lowe: Testing for linearizability (2016), "just-in-time linearization".
* Stamps allow to look ahead: a version that a later read returns must not be overwritten before that read.
* A write that no read saw may have been hidden by another write of its key. One configuration represents both cases,
  key by key. If two orders differ only in the versions under a key, one configuration represents both as well.
* The past is forgotten: only the possible contents of the store and the open calls are kept.
"""

from .core import small_core
from .history_monitor import HistoryMonitor
from .judgement import MOST_CONFIGURATIONS, HistoryVerdict, judge_history
from .suitability import Unsuitable, why_not

__all__ = [
    "MOST_CONFIGURATIONS",
    "HistoryMonitor",
    "HistoryVerdict",
    "Unsuitable",
    "judge_history",
    "small_core",
    "why_not",
]
