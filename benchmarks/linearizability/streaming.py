"""Judges a history that is never kept: ``python streaming.py CALLS SHARE_OF_WRITES`` prints what it took, as JSON."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from benchmarks.linearizability.histories import INDEXES, Simulation, Workload
from kcache_model.indexers.just_in_time import MOST_CONFIGURATIONS, HistoryMonitor, HistoryVerdict
from kcache_model.linearizability import SearchBudget


def judged_as_it_goes_on(workload: Workload) -> HistoryVerdict:
    """The answer of the monitor; each call is made when it begins, and gone when it has been judged."""
    monitor = HistoryMonitor(INDEXES, budget=SearchBudget(3600, MOST_CONFIGURATIONS))
    positions: dict[int, int] = {}
    for thread, running, returned in Simulation(workload, seed=1).events():
        if returned is None:
            positions[thread] = monitor.begin(running.operation, running.invoked, thread=thread)
        else:
            monitor.end(positions.pop(thread), running.outcome, returned)
    return monitor.finish()


def peak_megabytes() -> float:
    """The most memory that this process had so far; without that of its parent, where the system tells it."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return int(status.partition("VmHWM:")[2].split()[0]) / 1e3


def main() -> None:
    workload = Workload(int(sys.argv[1]), writes=float(sys.argv[2]))
    began = process_time()
    for _ in Simulation(workload, seed=1).events():
        pass
    made, without = process_time() - began, peak_megabytes()
    began = process_time()
    result = judged_as_it_goes_on(workload)
    took = process_time() - began
    print(
        json.dumps(
            {
                "verdict": result.status.value,
                "judged": result.judged,
                "seconds": took - made,
                "megabytes": peak_megabytes(),
                "megabytes without the judge": without,
            }
        )
    )


if __name__ == "__main__":
    main()
