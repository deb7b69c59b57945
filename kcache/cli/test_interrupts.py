"""Ctrl-C: what was done by then is shown and written, and nothing is left running."""

from __future__ import annotations

import _thread
import itertools
import json
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kcache.cli import main
from kcache_conformance.isolation import supervisor
from kcache_conformance.targets.gallery import gallery
from kcache_stress.interruption import heeding_interrupts, is_interrupted

EXAMPLES = {example.name: f"{example.path}:new_indexer" for example in gallery()}


@pytest.fixture(autouse=True)
def usual_interrupts() -> Iterator[None]:
    """Whoever runs tests in the background may have SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs a command that gets a SIGINT as soon as an event of a child is of a kind."""

    def run(kind: str, *arguments: str) -> Result:
        listen = supervisor._listen
        ways = itertools.count()

        def interrupting(child: Any, job: Any, on_event: Callable[[Any], None], *bounds: float) -> Any:
            def told(event: Any) -> None:
                on_event(event)
                if event["event"] == kind and next(ways) == 0:
                    _thread.interrupt_main()

            return listen(child, job, told, *bounds)

        monkeypatch.setattr(supervisor, "_listen", interrupting)
        done = CliRunner(env={"NO_COLOR": "1"}).invoke(main, arguments, prog_name="kcache", terminal_width=98)
        assert not is_interrupted()
        assert done.exit_code == 130, done.output
        return done

    return run


@pytest.mark.parametrize("command", ["stress", "check"])
def test_phases_tell_what_they_did(command: str, interrupted: Callable[..., Result], tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    only = ("--only", "stress") if command == "check" else ()
    target = EXAMPLES["textbook"]
    done = interrupted("PhaseProgress", command, target, *only, "--budget", "600s", "--json", str(file))
    assert re.search(r"stress with real threads +unknown +\d+ rounds", done.stdout)
    assert re.search(r"^unknown, interrupted after \d", done.stdout, re.MULTILINE)
    assert command == "check" or re.search(r"operation +outcome +calls", done.stdout)
    data = json.loads(file.read_text(encoding="utf-8"))
    assert (data["status"], data["interrupted"]) == ("unknown", True)
    assert data["reasons"] == ["stress: it was interrupted"]
    (phase,) = data["phases"]
    assert phase["counts"]["programs"] > 0
    assert phase["coverage"]
    assert phase["overlapped"]


def test_what_was_found_is_a_violation(interrupted: Callable[..., Result], tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    target = EXAMPLES["empty_sets_left"]
    done = interrupted("FindingAdded", "check", target, "--only", "smoke", "--only", "stateful", "--json", str(file))
    assert "INVARIANT empty-index-value-kept" in done.stdout
    assert re.search(r"^violation, interrupted after \d", done.stdout, re.MULTILINE)
    data = json.loads(file.read_text(encoding="utf-8"))
    assert (data["status"], data["interrupted"]) == ("violation", True)


def test_the_next_target_is_not_begun(
    interrupted: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    targets = "".join(f'[targets.{name}]\nfactory = "{EXAMPLES["textbook"]}"\n' for name in ("one", "two"))
    Path("kcache.toml").write_text(targets, encoding="utf-8")
    done = interrupted("TargetLoaded", "check", "--only", "stateful", "--write-baseline", "base.json")
    assert done.stdout.count("kcache check") == 1
    assert not Path("base.json").exists()


@pytest.mark.parametrize("arguments", [("explore",), ("explore", "-j", "2"), ("verify", "--bound", "2x1")])
def test_the_explorer_tells_its_sum(
    arguments: tuple[str, ...], interrupted: Callable[..., Result], tmp_path: Path
) -> None:
    file = tmp_path / "out.json"
    done = interrupted("tally", *arguments, EXAMPLES["textbook"], "--budget", "600s", "--json", str(file))
    assert "it was interrupted" in done.stdout
    data = json.loads(file.read_text(encoding="utf-8"))
    assert (data["status"], data["interrupted"]) == ("unknown", True)
    assert data["phases"][0]["counts"]["executions"] > 0
    if arguments[0] == "verify":
        assert data["certificate"]["missing"] == "it was interrupted"
        assert data["certificate"]["programs"]["all"] > data["certificate"]["programs"]["explored"]
        explored = data["certificate"]["programs"]["explored"]
        assert data["certificate"]["resume"]["done"] == ([[0, explored]] if explored else [])
        assert f"--resume {file}" in done.stdout


def test_the_fuzzer_tells_what_its_engine_did(interrupted: Callable[..., Result], tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    function = "kcache:meta_namespace_index_func"
    done = interrupted("progress", "fuzz", function, "--budget", "600s", "--json", str(file))
    assert "it was interrupted" in done.stdout
    data = json.loads(file.read_text(encoding="utf-8"))
    assert (data["status"], data["interrupted"], data["reasons"]) == ("unknown", True, ["it was interrupted"])
    assert data["engines"]


def test_a_second_interrupt_and_one_before_anything_was_done_are_not_heeded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with heeding_interrupts():
        _thread.interrupt_main()
        assert is_interrupted()
        with pytest.raises(KeyboardInterrupt):
            _thread.interrupt_main()
    assert not is_interrupted()
    monkeypatch.setattr("kcache.cli.explore.describe", lambda *_: _thread.interrupt_main())
    done = CliRunner().invoke(main, ["explore", EXAMPLES["textbook"]], prog_name="kcache")
    assert done.exit_code == 130
    assert "interrupted before the first result" in done.stderr
