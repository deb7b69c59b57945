"""The tables: what is measured, and in which words it is shown."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from statistics import median as middle
from time import perf_counter

from benchmarks.sheet import Sheet
from kcache_stress.engine.granularity import Granularity
from kcache_stress.engine.search import SearchLimits

from . import gallery
from .ours import Explorer, MakeStrategy, Ran, dpor, median, sampling
from .peers import PEERS, installed
from .profiling import profile
from .programs import CONTROLS, READ_WRITE_LOCK, SIMPLE, SMALL_BUGS, TEXTBOOK, bug, reverse, writers_and_readers

NOT_INSTALLED = "not installed"


@dataclass(frozen=True)
class Effort:
    """How much is done.

    Attributes:
        seconds: of processor time for one measurement of speed.
        repetitions: of each measurement; the median counts.
        executions: the most executions of another tool for one program.
        seeds: of the gallery.
        faults: how many small bugs, and faults of the gallery; all if ``None``.
        bound: what is verified.
        search_seconds: the most time to exhaust a program.
    """

    seconds: float = 1.0
    repetitions: int = 5
    executions: int = 300
    seeds: int = 5
    faults: int | None = None
    bound: str = "2x1"
    search_seconds: float = 60.0


def speed(effort: Effort) -> Sheet:
    """Executions per second, judgement included."""
    program, rows = writers_and_readers(2, 2), []
    stores = {"simple store": SIMPLE, "textbook": TEXTBOOK}
    subjects: list[tuple[str, str, MakeStrategy, Granularity, str]] = [
        (f"{how}, {where}", store, make, granularity, goal if store == "simple store" else "")
        for store in stores
        for how, where, make, granularity, goal in (
            ("sampling", "accesses", sampling, Granularity.FREE, "8,000"),
            ("DPOR", "accesses", dpor, Granularity.FREE, "6,000"),
            ("sampling", "synchronisation", sampling, Granularity.SYNC, "40,000"),
            ("DPOR", "synchronisation", dpor, Granularity.SYNC, "40,000"),
        )
    ]
    explorers = [Explorer(stores[store], granularity) for _, store, _, granularity, _ in subjects]
    runs: list[list[Ran]] = [[] for _ in subjects]
    for _ in range(effort.repetitions):
        for (_, _, make, _, _), explorer, measured in zip(subjects, explorers, runs, strict=True):
            measured.append(explorer.keep_on(program, make, effort.seconds / 5))
    for (name, store, _, _, goal), measured in zip(subjects, runs, strict=True):
        rows.append((name, store, *_rates(median(measured)), goal))
    for label, (package, peer, strategy) in PEERS.items():
        if not installed(package):
            rows.append((label, "simple store", NOT_INSTALLED, "", ""))
            continue
        count = max(4, effort.executions // 4)
        measured = [peer(SIMPLE, program, strategy, count) for _ in range(min(3, effort.repetitions))]
        rows.append((label, "simple store", *_rates(median(measured)), ""))
    title = "Speed: executions per second, 2 threads x 2 operations"
    return Sheet(title, ("", "on", "per CPU second", "per second", "goal"), rows)


def _rates(ran: Ran) -> tuple[str, str]:
    return f"{ran.rate:,.0f}", f"{ran.executions / ran.wall:,.0f}"


def exhaustion(effort: Effort) -> Sheet:
    """What it takes to cover all interleavings."""
    rows = []
    cases: tuple[tuple[str, str, tuple[int, int], MakeStrategy, Granularity, str], ...] = (
        ("simple store", SIMPLE, (2, 2), dpor, Granularity.FREE, "3 ms"),
        ("simple store", SIMPLE, (3, 2), dpor, Granularity.FREE, "40 ms"),
        ("simple store", SIMPLE, (3, 3), dpor, Granularity.FREE, "1 s"),
        ("textbook", TEXTBOOK, (2, 2), dpor, Granularity.FREE, "3 ms"),
        ("textbook", TEXTBOOK, (3, 2), dpor, Granularity.FREE, "40 ms"),
        ("textbook", TEXTBOOK, (3, 3), dpor, Granularity.FREE, "1 s"),
        ("read_write_lock", READ_WRITE_LOCK, (2, 2), dpor, Granularity.FREE, "20 ms"),
        ("read_write_lock", READ_WRITE_LOCK, (3, 2), dpor, Granularity.FREE, "2 s"),
    )
    for name, spec, size, make, granularity, goal in cases:
        explorer, program = Explorer(spec, granularity), writers_and_readers(*size)
        explorer.search(writers_and_readers(2, 1), make, SearchLimits(5))
        runs: list[Ran] = []
        began = perf_counter()
        while not runs or (len(runs) < effort.repetitions and perf_counter() - began < effort.search_seconds / 4):
            runs.append(explorer.search(program, make, SearchLimits(seconds=effort.search_seconds)))
        ran = median(runs)
        claim = ran.found or ran.claim
        rows.append(
            (name, f"{size[0]}x{size[1]}", "DPOR", f"{ran.executions:,}", _ms(ran.cpu), _ms(ran.wall), claim, goal)
        )
    columns = ("", "program", "search", "executions", "CPU ms", "ms", "it says", "goal")
    return Sheet("Exhaustion: all interleavings of one program", columns, rows)


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:,.1f}" if seconds < 1 else f"{1000 * seconds:,.0f}"


def detection(effort: Effort) -> Sheet:
    """Each small bug, with each tool, threads in the order listed / reversed; then what they say of correct code."""
    ours: dict[str, MakeStrategy] = {"sampling": sampling, "DPOR": dpor}
    rows = []
    for name, program in islice(SMALL_BUGS.items(), effort.faults):
        row, explorer = [name], Explorer(bug(name))
        for make in ours.values():
            limits = SearchLimits(effort.executions * 10, effort.search_seconds)
            row.append(" / ".join(_shown(explorer.search(each, make, limits)) for each in (program, reverse(program))))
        for package, peer, strategy in PEERS.values():
            if not installed(package):
                row.append(NOT_INSTALLED)
                continue
            each_way = (peer(bug(name), each, strategy, effort.executions) for each in (program, reverse(program)))
            row.append(" / ".join(map(_shown, each_way)))
        rows.append(tuple(row))
    rows.append(("found", *(_found(rows, column) for column in range(1, len(rows[0])))))
    rows.append(_claims(effort, ours))
    title = "Detection: executions (ms) until found, threads in the order listed / reversed; - is not found"
    return Sheet(title, ("", *ours, *PEERS), rows)


def _shown(ran: Ran) -> str:
    return f"{ran.executions} ({1000 * ran.wall:.0f})" if ran.found else f"- {ran.claim}"


def _found(rows: list[tuple[str, ...]], column: int) -> str:
    cells = [row[column].split(" / ") for row in rows if row[column] != NOT_INSTALLED]
    counts = (sum(not cell[way].startswith("-") for cell in cells) for way in (0, 1))
    return " / ".join(map(str, counts)) if cells else NOT_INSTALLED


def _claims(effort: Effort, ours: dict[str, MakeStrategy]) -> tuple[str, ...]:
    """What each tool says of the same programs on the correct store."""
    explorer, limits = Explorer(SIMPLE), SearchLimits(effort.executions, effort.search_seconds)
    row = ["correct store"]
    row += [_summary([explorer.search(program, make, limits) for program in CONTROLS]) for make in ours.values()]
    for package, peer, strategy in PEERS.values():
        if not installed(package):
            row.append(NOT_INSTALLED)
        else:
            row.append(_summary([peer(SIMPLE, program, strategy, effort.executions) for program in CONTROLS]))
    return tuple(row)


def _summary(runs: list[Ran]) -> str:
    words = [ran.found or ran.claim for ran in runs]
    return ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))


def found_in_gallery(effort: Effort, note: Callable[[str], None]) -> Iterator[Sheet]:
    """Each concurrent fault from generated programs, slowest first; then the correct designs."""
    hunts: dict[str, list[gallery.Hunt]] = {}
    for order, turn in gallery.ORDERS.items():
        for name in gallery.names(faults=True)[: effort.faults]:
            note(f"{name}, {order}")
            hunts.setdefault(name, []).append(gallery.hunt(name, range(effort.seeds), turn))
    rows = []
    for name, pair in sorted(hunts.items(), key=lambda entry: -max(each.median for each in entry[1])):
        cells = [(_ms(each.median), _ms(each.worst), f"{middle(each.programs):.0f}", f"{each.missed}") for each in pair]
        spent = sum(sum(each.seconds) for each in pair) / sum(sum(each.executions) for each in pair)
        each_program = sum(sum(each.executions) for each in pair) / sum(sum(each.programs) for each in pair)
        rows.append((name, *cells[0], *cells[1], f"{each_program:.0f}", f"{1e6 * spent:.0f}"))
    sides = [[pair[side] for pair in hunts.values()] for side in (0, 1)]
    totals = [
        (
            _ms(middle([each.median for each in side])),
            _ms(max(each.worst for each in side)),
            f"{middle([middle(each.programs) for each in side]):.0f}",
            str(sum(each.missed for each in side)),
        )
        for side in sides
    ]
    rows.append((f"all {len(hunts)}", *totals[0], *totals[1], "", ""))
    half = ("median ms", "worst ms", "programs", "missed")
    columns = ("", *half, *(f"{name}, reversed" for name in half), "executions each", "us each")
    yield Sheet(f"Gallery: CPU time until found, {effort.seeds} seeds", columns, rows)
    tried = sum(sum(each.programs) for side in sides for each in side)
    count = max(1, tried // max(1, 2 * len(hunts)))
    yield _alarms(effort, count, note)


def _alarms(effort: Effort, count: int, note: Callable[[str], None]) -> Sheet:
    rows = []
    for name in gallery.names(faults=False)[: effort.faults]:
        note(name)
        found = [alarm for turn in gallery.ORDERS.values() for alarm in gallery.false_alarms(name, count, turn)]
        rows.append((name, str(2 * count), str(len(found)), ", ".join(sorted(set(found)))))
    rows.append(("all", str(2 * count * len(rows)), str(sum(int(row[2]) for row in rows)), ""))
    return Sheet("Correct designs: as many programs as a fault took", ("", "programs", "false alarms", ""), rows)


def verification(effort: Effort) -> Sheet:
    """`kcache verify` as a user runs it."""
    command = [sys.executable, "-m", "kcache", "verify", TEXTBOOK, "--bound", effort.bound]
    before, began = os.times(), perf_counter()
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    wall, after = perf_counter() - began, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    row = (f"textbook, {effort.bound}", f"{wall:.1f}", f"{cpu:.1f}", str(ended.returncode))
    return Sheet("kcache verify", ("", "seconds", "CPU seconds", "exit status"), [row])


def profiles(effort: Effort) -> Sheet:
    """Where the time of an execution goes."""
    program = writers_and_readers(2, 2)
    columns, shares, around = [""], [], ["set-up and final reads, of all that"]
    for name, make, granularity in (
        ("sampling", sampling, Granularity.FREE),
        ("DPOR", dpor, Granularity.FREE),
        ("sampling, synchronisation", sampling, Granularity.SYNC),
    ):
        spent, part = profile(Explorer(TEXTBOOK, granularity), program, make, 3 * effort.seconds)
        columns.append(name)
        shares.append(spent)
        around.append(f"{part:.0%}")
    groups = dict.fromkeys(group for each in shares for group in each)
    rows = [(group, *(f"{each.get(group, 0):.0%}" for each in shares)) for group in groups]
    return Sheet("Where the time goes (cProfile, textbook, 2x2)", tuple(columns), [*rows, tuple(around)])
