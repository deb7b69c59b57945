"""``kcache run``: it runs an unchanged test suite, and explores the interleavings of each test with threads."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import click

from kcache_model.call_program import Cancelled
from kcache_model.interleaved_program import Timeouts

from .options import cancel_any_option, cancel_option, duration, instrument_option, seed_option, timeouts_option

_PLUGIN = "kcache.pytest_interleaving"


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--budget-per-test",
    callback=duration,
    metavar="DURATION",
    default="2s",
    show_default=True,
    help="Time for searching the interleavings of one test and for minimising its finding.",
)
@click.option(
    "--patience",
    callback=duration,
    metavar="DURATION",
    default="30s",
    show_default=True,
    help="If a test, run as it is, makes no progress for this time, it is stopped and then explored.",
)
@seed_option("Seed of the first samples.")
@timeouts_option
@cancel_option
@cancel_any_option
@instrument_option
def run(
    program: str,
    arguments: tuple[str, ...],
    budget_per_test: float,
    patience: float,
    seed: int,
    timeouts: Timeouts | None,
    cancel: int | None,
    cancelled: Cancelled | None,
    instrument: tuple[str, ...],
) -> None:
    """Run a test suite as it is: kcache run pytest -- ARGUMENTS of pytest.

    Each test runs once. One that starts threads and passes, or does not come back, is then explored: it fails if it
    fails in any order. The summary says of each how far that went, and what could not be controlled. Exit codes are
    those of pytest.
    """
    if program != "pytest":
        raise click.UsageError(f"kcache run runs only pytest, not {program}; write kcache run pytest -- tests")
    if importlib.util.find_spec("pytest") is None:
        raise click.UsageError('pytest is not installed where kcache is: pip install "kcache[pytest]"')
    command = [sys.executable, "-m", "pytest", "-p", _PLUGIN, f"--kcache-test-budget={budget_per_test}"]
    command += [f"--kcache-test-patience={patience}", f"--kcache-test-seed={seed}"]
    # Patient, because suites have timeouts that are not meant to end, which other tests need not have.
    command += [f"--kcache-test-timeouts={timeouts or Timeouts.PATIENT}", f"--kcache-test-cancel={cancel or 0}"]
    command += [f"--kcache-test-cancelled={cancelled or Cancelled.USUAL}"]
    command += [f"--kcache-test-instrument={package}" for package in instrument]
    command += arguments
    if os.name == "nt":  # on Windows, exec starts another process and ends this one
        sys.exit(subprocess.run(command, check=False).returncode)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, command)  # signals, such as Ctrl-C's, reach only pytest
