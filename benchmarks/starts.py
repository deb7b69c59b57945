"""How long commands take to start: ``python benchmarks/starts.py [--old CHECKOUT] [-n RUNS]``.

Each is a process of its own, with compiled modules; with ``--old`` those of another checkout take turns with these, so
that the ratios hold on a busy machine, too. Medians of wall-clock time and of processor time, children included.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
TARGET = f"{HERE / 'examples' / 'targets' / 'update_shortcut.py'}:new_indexer"

# Ends with the first phase that starts; the child is killed and waited for.
UNTIL_FIRST_PHASE = """
from kcache.cli import main
from kcache_conformance import suite
from kcache_conformance.results.events import PhaseStarted

run = suite.run_phases_in_child

def listening(target, options, known, log):
    def stopping(event):
        if isinstance(event, PhaseStarted):
            raise SystemExit
    return run(target, options, known, stopping)

suite.run_phases_in_child = listening
main()
"""

COMMANDS = {
    "`kcache --help`": ("-m", "kcache", "--help"),
    "`kcache check TARGET`, until its first phase starts": ("-c", UNTIL_FIRST_PHASE, "check", TARGET, "--no-saved"),
    "`kcache check TARGET -x --no-saved`, one thread shows the fault": (
        *("-m", "kcache", "check", TARGET, "-x", "--no-saved"),
    ),
    "`kcache check TARGET -x`, the fault is known from the last run": ("-m", "kcache", "check", TARGET, "-x"),
}


def seconds(command: tuple[str, ...], checkout: Path, folder: str) -> tuple[float, float]:
    """Wall-clock and processor time of one run."""
    roots = [str(checkout / root) for root in (".", "model", "stress", "stateful_tests")]
    # Nothing is measured unless compiled modules are kept.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(roots), "PYTHONDONTWRITEBYTECODE": ""}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([sys.executable, "-P", *command], cwd=folder, env=environment, capture_output=True, check=False)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--old", type=Path, help="another checkout to measure beside this one")
    parser.add_argument("-n", "--runs", type=int, default=15)
    asked = parser.parse_args()
    checkouts = [HERE] if asked.old is None else [asked.old.resolve(), HERE]
    print("wall-clock (processor) seconds:", "this checkout" if asked.old is None else "old -> this checkout, ratio")
    with tempfile.TemporaryDirectory() as folder:
        for name, command in COMMANDS.items():
            for checkout in checkouts:
                seconds(command, checkout, folder)  # compiles, and saves the failure
            runs = [[seconds(command, checkout, folder) for checkout in checkouts] for _ in range(asked.runs)]
            columns = [
                tuple(statistics.median(times) for times in zip(*of, strict=True)) for of in zip(*runs, strict=True)
            ]
            texts = [f"{wall:.2f} ({processor:.2f})" for wall, processor in columns]
            if len(columns) == 2:
                texts.append(f"{statistics.median(new[0] / old[0] for old, new in runs):.2f}")
            print("|", name, "|", " | ".join(texts), "|")


if __name__ == "__main__":
    main()
