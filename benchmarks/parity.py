"""Compares two states of the project: ``python benchmarks/parity.py BEFORE AFTER``, each the folder of a checkout.

A redesign loses nothing if the examples keep their verdicts, replay tokens of the state before are understood by the
state after, `verify` does the same executions, and nothing has become slower. Both states take turns, so that a busy
moment of the machine hits both alike. It runs what each state has for a command line, and its own :func:`rates`.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any, Final

import click
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.sheet import Sheet, shown

HERE: Final = Path(__file__).resolve().parent.parent

FOLDERS: Final = {
    "targets": ("target", "indexer", "new_indexer"),
    "queues": ("queue", "", "new_queue"),
    "informers": ("informer", "informer", "make"),
    "index_funcs": ("function", "function", "index_func"),
}
"""Folder of examples -> table of its catalog, what they make (empty: it says so itself), name of the factory."""

HAS_RESULT: Final = (0, 1, 3)
"""Exit codes of commands that have come to a result."""

SECONDS: Final = 240
"""The most time that one command may take."""


@dataclass(frozen=True)
class Example:
    """One example that both states have.

    Attributes:
        kind: what it makes: ``indexer``, ``fifo``, ..., ``informer``, or ``function``.
        path: of its file, relative to the checkout.
        factory: its name in that file.
    """

    kind: str
    path: str
    factory: str


@dataclass(frozen=True)
class Verdict:
    """What one state says of one example.

    Attributes:
        status: ``ok``, ``violation``, ...
        findings: their kinds, or the rules broken, sorted; without repetitions.
        seconds: of wall-clock time.
        tokens: one replay token for each finding.
    """

    status: str
    findings: tuple[str, ...]
    seconds: float
    tokens: tuple[str, ...] = ()


def examples(root: Path) -> Iterator[Example]:
    """All examples of a checkout."""
    for folder, (table, kind, factory) in FOLDERS.items():
        catalog = tomllib.loads((root / "examples" / folder / "catalog.toml").read_text(encoding="utf-8"))
        for entry in catalog[table]:
            yield Example(kind or entry["makes"], f"examples/{folder}/{entry['name']}.py", factory)


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a checkout, with its own packages."""
    folders = (root, root / "model", root / "stress", root / "stateful_tests")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders)), "COLUMNS": "200", "NO_COLOR": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def verdict(root: Path, example: Example, seed: int, budget: str) -> Verdict:
    """What `check` or `fuzz` says of an example."""
    target = f"{example.path}:{example.factory}"
    command = ["fuzz", target] if example.kind == "function" else ["check", target, "--kind", example.kind]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.json"
        ended = run(root, "-m", "kcache", *command, "--seed", str(seed), "--budget", budget, "--json", str(file))
        if ended.returncode not in HAS_RESULT:
            return Verdict(f"exit {ended.returncode}", (), 0.0)
        result: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    kinds = {finding.get("kind") or finding["rule"] for finding in result["findings"]}
    tokens = [re.search(r"k[a-z]\d\.[\w-]+", str(finding.get("replay"))) for finding in result["findings"]]
    return Verdict(
        result["status"],
        tuple(sorted(kinds)),
        result["seconds"],
        tuple(found.group() for found in tokens if found is not None),
    )


def gallery(before: Path, after: Path, seeds: int, budget: str) -> tuple[Sheet, dict[str, str]]:
    """Verdicts and times of all examples, and one token of each prefix and kind of finding."""
    rows: list[tuple[str, ...]] = []
    tokens: dict[str, str] = {}
    times: dict[str, list[tuple[float, float]]] = {}
    count = 0
    for example in examples(before):
        for seed in range(seeds):
            old, new = (verdict(root, example, seed, budget) for root in (before, after))
            count += 1
            times.setdefault(example.kind, []).append((old.seconds, new.seconds))
            for token in old.tokens:
                tokens.setdefault(f"{token.split('.')[0]} {' '.join(old.findings)}", token)
            if (old.status, old.findings) != (new.status, new.findings):
                said = (f"{one.status} {' '.join(one.findings)}" for one in (old, new))
                rows.append((example.path, str(seed), *said))
    for kind, pairs in times.items():
        old_time, new_time = (statistics.median(column) for column in zip(*pairs, strict=True))
        rows.append((f"median seconds: {kind}", "", f"{old_time:.2f}", f"{new_time:.2f}"))
    title = f"Gallery: {count} runs with a budget of {budget}; those with another verdict, and times"
    return Sheet(title, ("", "seed", "before", "after"), rows), tokens


def replays(before: Path, after: Path, tokens: dict[str, str]) -> Sheet:
    """What `replay` answers to tokens of the state before."""
    rows = []
    for name, token in sorted(tokens.items()):
        codes = [str(run(root, "-m", "kcache", "replay", token).returncode) for root in (before, after)]
        rows.append((name, *codes, "" if codes[0] == codes[1] else "differs"))
    return Sheet("Replay tokens of the state before: exit codes", ("", "before", "after", ""), rows)


def verified(before: Path, after: Path, bound: str) -> Sheet:
    """What `verify` of the reference counts."""
    rows: dict[str, list[str]] = {}
    for root in (before, after):
        printed = run(root, "-m", "kcache", "verify", "--reference", "--bound", bound).stdout
        for name in ("programs", "executions", "audited", "seconds"):
            found = re.search(rf"^\s*{name}\s+(\S+)", printed, re.MULTILINE)
            rows.setdefault(name, []).append(found.group(1) if found else "?")
    return Sheet(
        f"verify --reference --bound {bound}",
        ("", "before", "after"),
        [(name, *figures) for name, figures in rows.items()],
    )


def speeds(before: Path, after: Path, repetitions: int) -> Sheet:
    """Rates of both states, in turns: medians, and the median of the ratios."""
    measured: list[list[dict[str, float]]] = [[], []]
    code = "import json; from benchmarks.parity import rates; print(json.dumps(rates()))"
    for turn in range(repetitions):
        order = ((0, before), (1, after)) if turn % 2 == 0 else ((1, after), (0, before))
        for side, root in order:
            ended = run(root, "-c", code)
            if ended.returncode:
                raise click.ClickException(f"the rates of {root} cannot be measured:\n{ended.stderr[-2000:]}")
            measured[side].append(json.loads(ended.stdout))
    rows = []
    for name in measured[0][0]:
        old, new = ([one[name] for one in side] for side in measured)
        ratio = statistics.median(two / one for one, two in zip(old, new, strict=True))
        rows.append((name, f"{statistics.median(old):,.0f}", f"{statistics.median(new):,.0f}", f"{ratio:.3f}"))
    return Sheet("Per second of processor time", ("", "before", "after", "ratio"), rows)


def rates(seconds: float = 1.0) -> dict[str, float]:
    """How much this state does in a second of processor time: executions of the explorer, calls judged."""
    from benchmarks.explorer.ours import Explorer, dpor
    from benchmarks.explorer.programs import GALLERY
    from benchmarks.linearizability.histories import Workload, simulate
    from benchmarks.linearizability.tables import judged
    from kcache_model.indexers import operations as op
    from kcache_model.indexers.items import Item
    from kcache_model.indexers.program import Program
    from kcache_stress.engine.granularity import Granularity

    made = (("a", "0", "x"), ("a", "1", "y"), ("b", "2", "x"))
    first, moved, second = (Item(key, version, {"node": (node,)}) for key, version, node in made)
    threads = ((op.update(moved), op.by_index("node", "x")), (op.add(second), op.by_index("node", "y")))
    program = Program(("node",), (op.add(first),), threads)
    found: dict[str, float] = {}
    for name in ("textbook", "copy_on_write", "read_write_lock"):
        for granularity in (Granularity.FREE, Granularity.GIL):
            explorer = Explorer(f"{GALLERY / name}.py:new_indexer", granularity)
            explorer.keep_on(program, dpor, seconds / 4)
            found[f"executions, {name}, {granularity}"] = explorer.keep_on(program, dpor, seconds).rate
    for writes in (0.1, 0.9):
        history = simulate(Workload(20_000, writes=writes))
        began = process_time()
        judged(history, 3)
        found[f"calls judged, {writes:.0%} of them writes"] = 3 * 20_000 / (process_time() - began)
    return found


PARTS: Final = ("gallery", "verify", "speeds")


@click.command(help=__doc__)
@click.argument("before", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("after", type=click.Path(exists=True, file_okay=False, path_type=Path), default=HERE)
@click.option("--only", multiple=True, type=click.Choice(PARTS), help="Only this part; may be repeated.")
@click.option("--seeds", default=3, show_default=True, help="How many runs of each example.")
@click.option("--budget", default="10s", show_default=True, help="Of each run.")
@click.option("--bound", default="2x2", show_default=True, help="Of verify.")
@click.option("--repetitions", default=5, show_default=True, help="Of the rates.")
def main(
    before: Path, after: Path, only: tuple[str, ...], seeds: int, budget: str, bound: str, repetitions: int
) -> None:
    before, after = before.resolve(), after.resolve()
    console = Console(width=160)
    parts: dict[str, Callable[[], Iterator[Sheet]]] = {
        "gallery": lambda: _gallery(before, after, seeds, budget),
        "verify": lambda: iter([verified(before, after, bound)]),
        "speeds": lambda: iter([speeds(before, after, repetitions)]),
    }
    for part in only or PARTS:
        for sheet in parts[part]():
            console.print(shown(sheet))


def _gallery(before: Path, after: Path, seeds: int, budget: str) -> Iterator[Sheet]:
    sheet, tokens = gallery(before, after, seeds, budget)
    yield sheet
    yield replays(before, after, tokens)


if __name__ == "__main__":
    main()
