"""Several targets at once: the same output as one after another."""

from __future__ import annotations

import _thread
import itertools
import json
import re
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kcache.cli import main
from kcache_conformance.isolation import supervisor
from kcache_conformance.targets.gallery import gallery

EXAMPLES = {example.name: f"{example.path}:new_indexer" for example in gallery()}
NAMES = ("textbook", "empty_sets_left", "read_write_lock")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with three targets, of which the second is wrong."""
    monkeypatch.chdir(tmp_path)
    targets = "".join(f'[targets.{name}]\nfactory = "{EXAMPLES[name]}"\n' for name in NAMES)
    (tmp_path / "kcache.toml").write_text(targets, encoding="utf-8")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield tmp_path
    signal.signal(signal.SIGINT, before)


def check(*arguments: str) -> Result:
    command = ("check", "--only", "smoke", "--no-saved", *arguments)
    return CliRunner(env={"NO_COLOR": "1"}).invoke(main, command, prog_name="kcache", terminal_width=98)


def test_targets_at_once_are_told_in_the_order_of_the_file(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    at_work, most = 0, []
    lock, listen = threading.Lock(), supervisor._listen

    def counting(*arguments: Any) -> Any:
        nonlocal at_work
        with lock:
            at_work += 1
            most.append(at_work)
        try:
            return listen(*arguments)
        finally:
            with lock:
                at_work -= 1

    one_by_one = check()
    monkeypatch.setattr(supervisor, "_listen", counting)
    at_once = check("-j", "3", "--json", "out.json")
    assert max(most) > 1
    assert (one_by_one.exit_code, at_once.exit_code) == (1, 1)
    told = [re.sub(r"after \d+\.\d s", "after N s", done.stdout) for done in (one_by_one, at_once)]
    assert told[0] == told[1]
    statuses = [json.loads((folder / f"out-{name}.json").read_text())["status"] for name in NAMES]
    assert statuses == ["ok", "violation", "ok"]


@pytest.mark.parametrize(("more", "code"), [(NAMES[2], 2), (NAMES[1], 1)])
def test_a_target_that_cannot_be_loaded_ends_none_of_the_others(more: str, code: int, folder: Path) -> None:
    factories = {"first": "nosuch:factory", NAMES[0]: EXAMPLES[NAMES[0]], more: EXAMPLES[more]}
    targets = "".join(f'[targets.{name}]\nfactory = "{factory}"\n' for name, factory in factories.items())
    (folder / "kcache.toml").write_text(targets, encoding="utf-8")
    done = check("-j", "4")
    assert done.exit_code == code
    assert "first: there is no module nosuch" in done.stderr
    rows = [line.split()[1:4] for line in done.stdout.splitlines() if line.startswith("│")]
    assert [row[0] for row in rows] == [*factories]
    assert [row[2] for row in rows] == ["cannot", "ok", "violation" if code == 1 else "ok"]


@pytest.mark.parametrize("at_once", ["2", "3"])
def test_an_interrupt_ends_all_of_them(at_once: str, monkeypatch: pytest.MonkeyPatch) -> None:
    listen, loaded = supervisor._listen, itertools.count(1)

    def interrupting(child: Any, job: Any, on_event: Callable[[Any], None], *bounds: float) -> Any:
        def told(event: Any) -> None:
            on_event(event)
            if event["event"] == "TargetLoaded" and next(loaded) == 2:
                _thread.interrupt_main()

        return listen(child, job, told, *bounds)

    monkeypatch.setattr(supervisor, "_listen", interrupting)
    done = check("-j", at_once, "--only", "stateful", "--budget", "600s")
    assert done.exit_code == 130, done.output
    assert done.stdout.count("interrupted after") >= 1
    assert "smoke" not in done.stderr
