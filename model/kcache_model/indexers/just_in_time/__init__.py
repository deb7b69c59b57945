"""Linearizability of long histories, judged response by response, with all configurations that are still possible.

Made for one kind of history: that of an indexed cache whose written objects carry unique stamps, so that a read tells
which writes it saw.

* Calls are dealt with in the order of their responses, and writes take effect as late as possible: just in time.
  G. Lowe: Testing for linearizability (2016), "just-in-time linearization".
* Stamps look ahead: a version that a later read returns must not be overwritten before.
* A write that no read saw may have been hidden by another write of its key. Whether it was is kept open key by key, in
  one configuration. So is what different orders leave under a key, if all else is the same.
* What is past is forgotten: only what may be in the store, and the calls that are open, is kept.
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
