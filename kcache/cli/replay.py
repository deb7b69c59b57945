"""``kcache replay``: run the program of a finding again."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import click
from rich.text import Text

from kcache_conformance.phases.suite_options import DEFAULT_TYPE, SuiteOptions
from kcache_conformance.report.issue_text import issue_text
from kcache_conformance.report.pytest_file import pytest_files
from kcache_conformance.report.run_report import RunReport
from kcache_conformance.report.standalone_file import placed_in, shows_finding
from kcache_conformance.results.events import PhaseFinished, SuiteResult
from kcache_conformance.runs.replays import replay_in_child, token_of_program
from kcache_conformance.runs.saved_failures import read_failures
from kcache_conformance.runs.stored_replays import StoredReplay, is_short_name, last_replay, stored_replay
from kcache_conformance.runs.suite import run_suite
from kcache_conformance.targets.target_type import TargetType
from kcache_conformance.targets.target_types import target_type_named, trusted_type_of_token
from kcache_conformance.targets.token_trust import require_trusted
from kcache_model.errors import TargetError
from kcache_model.finding import Finding, FindingKind
from kcache_model.render import printable
from kcache_model.rules import Contract
from kcache_model.verdict import Status
from kcache_stress.target.debugging import debug

from .console import seconds_so_far, show_finding, stdout_console
from .exits import EXIT_CODES, clear_errors
from .options import budget_option, contract_option, patience_option, strict_errors_option, verbosity_options
from .outputs import Outputs, outputs_option
from .programs import read_program

_WORD = re.compile(r"k[a-z]\d\..+(?<!\.py)")
"""Texts that look like a replay token, or the word of a program, and not like the name of a Python file."""

_TRYING_SECONDS: Final = 10.0
"""The time limit for a trial run of a written test, which has to fail."""

_STYLES = {Status.VIOLATION: "bold red", Status.OK: "bold green"}


@click.command()
@click.argument("words", nargs=-1, metavar="WORD | TARGET PROGRAM")
@click.option(
    "--trust",
    is_flag=True,
    help="Run the target of WORD even if it is neither in this folder nor named in the configuration. A WORD can name "
    "any code that is installed here.",
)
@click.option(
    "--last",
    is_flag=True,
    help="Replay the finding of the last run in this folder; if there are several, the most important one.",
)
@budget_option("20s", "Time for a search if the schedule does not fail any more, and for a PROGRAM of several threads.")
@click.option("--pdb", is_flag=True, help="Stop in the debugger where the schedule of WORD fails.")
@click.option(
    "--pytest",
    "test_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the finding of WORD as a test of a few lines, which fails until the fault is fixed.",
)
@click.option(
    "--issue",
    "issue_file",
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    help="Write the finding of WORD as the text of an issue, in Markdown; - is standard output.",
)
@click.option(
    "--standalone",
    "standalone_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the finding of WORD as a test that needs no kcache, only Python and pytest: for findings about event "
    "loops. It is written only if it fails as the finding does.",
)
@strict_errors_option
@contract_option
@patience_option
@verbosity_options
@outputs_option
def replay(
    words: tuple[str, ...],
    trust: bool,
    last: bool,
    budget_seconds: float,
    pdb: bool,
    test_file: Path | None,
    issue_file: Path | None,
    standalone_file: Path | None,
    strict_errors: bool,
    contract: Contract,
    patience_seconds: float,
    outputs: Outputs,
) -> None:
    """Run a finding again: its WORD (1a2b3c4d, kx1..., kq1..., ki1..., kf1..., kt1..., ko1...), or PROGRAM on TARGET.

    A short WORD stands for a finding that is kept in .kcache of this folder. The long one works everywhere.

    A PROGRAM is a word (kc1...) or a JSON file.

    A WORD carries the schedule. Says reproduced (exit code 1), fixed (0), changed (3) if all that the program does now
    cannot be tried within the budget, or unknown (3) if real threads did not fail again within the budget, which is no
    proof. A PROGRAM without a schedule is searched: all its interleavings, then real threads.
    """
    written = {"--pytest": test_file, "--issue": issue_file, "--standalone": standalone_file}
    if outputs.files and (pdb or any(written.values())):
        raise click.UsageError(
            f"--{next(iter(outputs.files))} writes the outcome of a run; leave out --pdb and {', '.join(written)}"
        )
    with clear_errors():
        if last or (len(words) == 1 and is_short_name(words[0])):
            stored = _last(words) if last else stored_replay(words[0])
            request, is_own = stored.request, stored.is_own
            words, strict_errors, contract = request.words, request.strict_errors, request.contract
            if not (trust or is_own):
                require_trusted(words)
            trust = trust or is_own
        for option, file in written.items():
            if file is not None and _WORD.fullmatch(file.name):
                raise click.UsageError(f"{option} needs a FILE after it: kcache replay WORD {option} FILE")
            if file is not None and file.exists():
                raise click.UsageError(f"{file} exists; write another name after {option}")
        if not words:
            raise click.UsageError("write a WORD, TARGET and PROGRAM, or --last")
        outputs.touch()
        target_type = trusted_type_of_token(words[0], is_trusted=trust)
        if len(words) == 1 and target_type is not None:
            if any(written.values()):
                _write(target_type, words[0], test_file, issue_file, standalone_file, patience_seconds)
                return
            if pdb:
                _debug(target_type, words[0])
            _follow(target_type, words[0], budget_seconds, patience_seconds, outputs)
        if len(words) == 2 and words[1].startswith(target_type_named(DEFAULT_TYPE).tokens.prefix):
            raise click.UsageError("a WORD that begins with kx1. names its target itself: leave out TARGET")
        if len(words) != 2:
            raise click.UsageError(
                "write one WORD that begins with kx1., kq1., ki1., kf1., kt1. or ko1., or TARGET and PROGRAM"
            )
        if pdb or any(written.values()):
            raise click.UsageError(f"--pdb, {', '.join(written)} need the WORD at the end of a finding")
        program_type = target_type_named(DEFAULT_TYPE)
        program = read_program(words[1], program_type)
        word = token_of_program(program_type, words[0], program, strict_errors=strict_errors, contract=contract)
        _follow(program_type, word, budget_seconds, patience_seconds, outputs)


def _last(words: tuple[str, ...]) -> StoredReplay:
    if words:
        raise click.UsageError("write either --last or a WORD")
    stored = last_replay()
    if stored is not None:
        return stored
    saved = read_failures().last
    if saved is None:
        raise click.UsageError(
            ".kcache of this folder holds no finding: `kcache check TARGET` saves its findings there"
        )
    return StoredReplay(saved, is_own=False)


def _write(
    target_type: TargetType,
    word: str,
    test_file: Path | None,
    issue_file: Path | None,
    standalone_file: Path | None,
    patience: float,
) -> None:
    token = target_type.tokens.decode(word)
    outcome = replay_in_child(target_type, word, patience_seconds=patience)
    has_own_test = (issue_file or standalone_file) and outcome.finding is not None and shows_finding(outcome.finding)
    if standalone_file is not None:
        if outcome.finding is None or not has_own_test:
            raise click.UsageError(
                "no test without kcache shows this finding: there are such tests for findings about event loops whose "
                "test takes no arguments of pytest, and starts no threads"
            )
        standalone_file.write_text(placed_in(standalone_file.parent, outcome.finding.standalone), encoding="utf-8")
        click.echo(f"wrote {standalone_file}")
    if issue_file is not None:
        if outcome.finding is None:
            raise click.UsageError(
                f"there is no finding for --issue, {outcome.answer.value}: {printable(outcome.note)}"
            )
        finding = outcome.finding if has_own_test else replace(outcome.finding, standalone="")
        text = issue_text(word, token, finding)
        if str(issue_file) == "-":
            click.echo(text, nl=False)
        else:
            issue_file.write_text(text, encoding="utf-8")
            click.echo(f"wrote {issue_file}")
    if test_file is not None:
        for written in pytest_files(test_file, word, token, outcome.finding):
            test_file.write_text(written.text, encoding="utf-8")
            if written.is_search and _fails(f"{test_file.absolute()}:{written.test}", token.kind, patience):
                break
        click.echo(f"wrote {test_file}{'' if outcome.finding is not None else f'; {outcome.note}'}")


def _fails(test: str, kind: FindingKind, patience: float) -> bool:
    """Whether a run of the test has a finding of the kind for which the test was written."""
    options = SuiteOptions(kind="test", budget_seconds=_TRYING_SECONDS, patience_seconds=patience, most_findings=1)
    try:
        return any(finding.kind is kind for finding in run_suite(test, options).findings)
    except TargetError:
        return False


def _debug(target_type: TargetType, word: str) -> None:
    token = target_type.tokens.decode(word)
    if target_type.exploring is None or not token.schedule:
        raise click.UsageError("--pdb needs a WORD that carries a schedule")
    debug(target_type.exploring.exploration_target(token.target, token.instrument, token.granularity), token)


def _follow(target_type: TargetType, word: str, seconds: float, patience: float, outputs: Outputs) -> None:
    outcome = replay_in_child(target_type, word, seconds=seconds, patience_seconds=patience)
    token = target_type.tokens.decode(word)
    status = outcome.status
    console = stdout_console()
    line = f"{outcome.answer.value.upper()}: {printable(outcome.note)}"
    console.print(Text(line, style=_STYLES.get(status, "bold yellow")), soft_wrap=True)
    if outcome.finding is not None:
        show_finding(console, outcome.finding, token.target)
    text = f"{outcome.answer.value.capitalize()}: {outcome.note}."
    options = SuiteOptions(
        strict_errors=token.strict_errors,
        budget_seconds=seconds,
        patience_seconds=patience,
        kind=target_type.name,
        instrument=token.instrument,
    )
    outputs.write(_report(f"kcache replay {word[:20]}...", token.target, options, status, outcome.finding, text))
    sys.exit(EXIT_CODES[status])


def _report(
    title: str, target: str, options: SuiteOptions, status: Status, finding: Finding | None, text: str
) -> RunReport:
    findings = () if finding is None else (finding,)
    phase = PhaseFinished("replay", {"programs": 1}, finding=finding)
    result = SuiteResult(status, findings, (phase,), (), (text,) if status is Status.UNKNOWN else (), seconds_so_far())
    return RunReport("replay", title, target, options, result, text, (text,) if findings else ())
