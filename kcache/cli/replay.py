"""``kcache replay``: run the program of a finding again."""

from __future__ import annotations

import json
import sys
from dataclasses import replace as with_changes
from pathlib import Path

import click

from kcache_conformance.jobs import run_program_in_child
from kcache_conformance.suite import HarnessError
from kcache_model.blob import decode_blob
from kcache_model.codec import decode_program
from kcache_model.errors import FormatError
from kcache_model.finding import Finding, FindingKind
from kcache_model.program import Program
from kcache_model.target import TargetError
from kcache_model.verdict import Status
from kcache_stress.report.finding_text import print_finding

from .console import stdout_console
from .exits import EXIT_CODES, clear_errors
from .options import duration, patience_option, strict_errors_option


@click.command()
@click.argument("target")
@click.argument("program")
@click.option(
    "--budget",
    callback=duration,
    metavar="DURATION",
    default="20s",
    show_default=True,
    help="How long to try a program with several threads, whose schedule cannot be repeated.",
)
@strict_errors_option
@patience_option
def replay(target: str, program: str, budget: float, strict_errors: bool, patience: float) -> None:
    """Run PROGRAM on TARGET again: the word that kcache printed with a finding, or a file with a program as JSON.

    Exit code 1 if it still fails, 0 if it does not, 3 if it has several threads and did not fail within the budget.
    """
    console = stdout_console()
    with clear_errors():
        decoded = read_program(program)
        findings: list[Finding] = []
        rounds = 0

        def count(number: int) -> None:
            nonlocal rounds
            rounds = number

        end = run_program_in_child(
            target,
            decoded,
            seconds=budget,
            patience_seconds=patience,
            strict_errors=strict_errors,
            on_finding=findings.append,
            on_round=count,
        )
        match end.how:
            case "target_error":
                raise TargetError(end.message)
            case "harness_error":
                raise HarnessError(end.message)
            case "hang":
                findings.append(
                    Finding(FindingKind.HANG, "replay", "a call did not return", decoded, detail=end.message)
                )
            case "crash":
                findings.append(Finding(FindingKind.CRASH, "replay", "the process ended", decoded, detail=end.message))
    if findings:
        finding = with_changes(findings[0], phase=findings[0].phase or "replay")
        console.print("It still fails.", style="bold red")
        print_finding(console, finding, target, strict_errors=strict_errors)
        sys.exit(EXIT_CODES[Status.VIOLATION])
    if decoded.is_sequential:
        console.print("It does not fail any more.", style="bold green")
        sys.exit(EXIT_CODES[Status.OK])
    no_proof = "real threads cannot repeat a schedule, so that is no proof"
    console.print(f"It did not fail in {rounds} runs; {no_proof}.", soft_wrap=True)
    sys.exit(EXIT_CODES[Status.UNKNOWN])


def read_program(text: str) -> Program:
    """The program of a word or a file.

    Raises:
        FormatError: it is neither.
    """
    if not text.startswith("kc1.") and Path(text).is_file():
        try:
            return decode_program(json.loads(Path(text).read_text(encoding="utf-8")))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise FormatError(f"{text} is no JSON file: {error}") from None
    return decode_blob(text)
