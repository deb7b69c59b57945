"""Check of a certificate with choice trees: the programs are those of the bound, the trees are complete and true.

The rules (:mod:`.choice_tree_rules`) find what is missing in a tree. They cannot see whether the recorded events are
what the code does; so recorded executions are run again, all of them or a sample. The certificate is not trusted.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path
from typing import Any, Final

from kcache_model.bound import parse_bound
from kcache_model.decoding import text_of
from kcache_model.errors import FormatError
from kcache_stress.engine.granularity import Granularity
from kcache_stress.engine.recorded_search import PlainTrace, UncheckableError
from kcache_stress.engine.schedule import as_runs
from kcache_stress.engine.schedule_replay import Replay

from ..isolation.supervisor import STARTUP_SECONDS, raise_if_failed, run_job
from ..isolation.worker import Outlet
from ..phases.suite_options import decode_options
from ..targets.target_types import target_type_named
from .batch import exploring_of
from .choice_tree_files import Header, read_header, read_programs
from .choice_tree_rules import Event, ForgedTreeError, check_tree

MOST_REPLAYED: Final = 20_000
"""Number of executions that are all run again, which takes some seconds; of more, a sample of this size."""

_REPORT_EVERY: Final = 50
"""Number of programs after which the parent process hears that the check goes on."""


@dataclass(frozen=True)
class Checked:
    """Result of a check.

    Attributes:
        programs: number of programs.
        executions: number of executions in their trees.
        replayed: number of executions that were run again.
        unchecked: reason -> number of programs whose trees the rules do not cover.
        refused: why the certificate is refused; empty if it holds.
    """

    programs: int = 0
    executions: int = 0
    replayed: int = 0
    unchecked: dict[str, int] = field(default_factory=dict)
    refused: str = ""

    @property
    def covered(self) -> int:
        """Number of programs whose trees the rules cover."""
        return self.programs - sum(self.unchecked.values())


def check_certificate(file: Path) -> Checked:
    """Check a certificate in a child process, because its target may hang or crash.

    Raises:
        FormatError: the file is no certificate with choice trees.
        TargetError: the target cannot be loaded.
        HarnessError: the harness failed.
    """
    header = read_header(file)
    patience = decode_options(header.options).patience_seconds
    results: list[Checked] = []
    end = run_job(
        f"{__name__}:_check_job",
        {"file": str(file.resolve())},
        on_event=lambda event: results.append(Checked(**event["checked"])) if event["event"] == "checked" else None,
        deadline_seconds=STARTUP_SECONDS,
        patience_seconds=patience,
        is_over=lambda _: False,
    )
    raise_if_failed(end)
    return results[-1] if results else Checked(refused=f"the target did not return while it was run again: {end.how}")


def _check_job(outlet: Outlet, file: str) -> None:
    path = Path(file)
    header = read_header(path)
    try:
        checked = _checked(header, path, outlet)
    except ForgedTreeError as error:
        checked = Checked(refused=str(error))
    except FormatError as error:
        checked = Checked(refused=f"it cannot be read: {error}")
    outlet.send({"event": "checked", "checked": asdict(checked)})


def _checked(header: Header, path: Path, outlet: Outlet) -> Checked:
    options = decode_options(header.options)
    codec, exploring = target_type_named(options.kind).codec, exploring_of(options.kind)
    target = exploring.exploration_target(header.target, options.instrument, Granularity.FREE)
    stand_in = exploring.stand_in(header.target, frozenset(target.target.unsupported))
    scope = exploring.small_scope(parse_bound(header.bound), stand_in, options, inf)
    wanted = (json.dumps(codec.encode_program(program), sort_keys=True) for program in scope)
    share = min(1.0, MOST_REPLAYED / max(header.executions, 1))
    chance = random.Random(time.time_ns())  # not in the certificate: a forger must not know which are run again
    programs = executions = replayed = 0
    unchecked: dict[str, int] = {}
    for encoded, tree in read_programs(path):
        if programs % _REPORT_EVERY == 0:
            outlet.send({"event": "progress"})
        if json.dumps(encoded, sort_keys=True) != next(wanted, None):
            raise ForgedTreeError(f"program {programs + 1} is not the program of the bound that comes there")
        programs += 1
        program = codec.decode_program(encoded)
        if "unchecked" in tree:
            unchecked[text_of(tree["unchecked"])] = unchecked.get(text_of(tree["unchecked"]), 0) + 1
            continue
        try:
            if any(len({repr(program.threads[actor]) for actor in group}) > 1 for group in tree["equal"]):
                raise ForgedTreeError("threads that do different calls are called equal")
            runs = check_tree(tree, len(program.threads))
            some = [number for number in range(len(runs)) if chance.random() < share]
            target.announce(program, outlet.watch)
            ends = [tree["executions"][number]["end"] for number in some]
            _replay(target, program, [runs[number] for number in some], ends, outlet.watch.alive)
            outlet.watch.rest()
        except ForgedTreeError as error:
            raise ForgedTreeError(f"program {programs}: {error}") from None
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
            raise FormatError(f"program {programs}: {error!r}") from error
        executions, replayed = executions + len(runs), replayed + len(some)
    if next(wanted, None) is not None:
        raise ForgedTreeError(f"it has {programs} programs, and the bound has more")
    if executions != header.executions:  # the share of executions that run again depends on this number
        raise ForgedTreeError(f"it has {executions} executions, and its first line says {header.executions}")
    return Checked(programs, executions, replayed, unchecked)


def _replay(target: Any, program: Any, runs: list[list[Event]], ends: list[str], alive: Callable[[], None]) -> None:
    """Run recorded executions again: they must have the same events, and nothing may be wrong with them.

    Raises:
        ForgedTreeError: an execution does something else, or is wrong.
    """
    if not runs:
        return
    with target.open_runner(program, pulse=alive) as (runner, judge):
        for run, end in zip(runs, ends, strict=True):
            execution = runner.run(Replay(as_runs(event[0] for event in run)))
            try:
                events = PlainTrace().events(execution.trace[: len(run)])
            except UncheckableError:
                events = []
            if events != run:
                raise ForgedTreeError("an execution that was run again does something else than the certificate says")
            if end != "redundant" and (len(execution.trace) != len(run) or execution.ending.value != end):
                raise ForgedTreeError(f"an execution that was run again goes on: it is not {end}")
            problem = judge.judge(execution, None)
            if problem is not None:
                raise ForgedTreeError(f"an execution is wrong: {problem.summary}")
