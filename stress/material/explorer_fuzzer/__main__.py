"""Compares the programs of modules, and prints a table: ``python -m stress.material.explorer_fuzzer FIRST COUNT``."""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from pathlib import Path

from .generator import PARTS
from .tallying import Found, Tally, described


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser(prog="python -m stress.material.explorer_fuzzer", description=__doc__)
    parser.add_argument("first", type=int, help="number of the first module")
    parser.add_argument("count", type=int, help="how many modules; each has 55 programs")
    parser.add_argument("--found", type=Path, help="a folder for what is found")
    parser.add_argument("--parts", nargs="*", help="only modules about these")
    parser.add_argument("--kinds", type=int, default=10, help="how many kinds of differences of a part are made small")
    parser.add_argument("--progress", type=Path, help="a file for the table as it stands")
    given = parser.parse_args()
    gc.disable()
    tally = Tally(most_kinds=given.kinds)

    def note(found: Found) -> None:
        text = described(found)
        print(text, flush=True)
        if given.found is not None:
            kind = f"{found.comparison.verdict.name.lower()}_{found.comparison.granularity.value}"
            given.found.mkdir(parents=True, exist_ok=True)
            (given.found / f"{kind}_{len(tally.found):03}.txt").write_text(text)

    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        for seed in range(given.first, given.first + given.count):
            if given.parts and PARTS[seed % len(PARTS)].name not in given.parts:
                continue
            tally.run(seed, Path(folder), note)
            if given.progress is not None:
                head = f"{tally.programs} programs of modules {given.first} to {seed}, {time.process_time():.0f} CPU s"
                given.progress.write_text(f"{head}\n{tally.table()}\n")
    print(tally.table())
    print(f"{tally.programs} programs, {len(tally.found)} kinds of differences, {time.process_time():.0f} CPU s")


if __name__ == "__main__":
    main()
