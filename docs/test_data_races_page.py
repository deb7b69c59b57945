"""The page about data races: its sample shows what the page says, and mended nothing."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from kcache.cli import main
from kcache_conformance.targets.target_types import trusted_type_of_token

PAGE = (Path(__file__).parent / "data-races.md").read_text(encoding="utf-8")
(CODE,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
(EXPECTED,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
(CHECK, EXPLORE) = re.findall(r"^\$ kcache (.*)$", PAGE, re.MULTILINE)
MENDED = CODE.replace(
    "    def left(self):\n        return", "    def left(self):\n        with self._lock:\n            return"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_race_of_the_page_is_told_and_may_fail(folder: Path) -> None:
    (folder / "stock.py").write_text(CODE, encoding="utf-8")
    command = [*CHECK.split(), "--only", "explorer", "--programs", "20"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert "ADVICE data-race (found by: explorer)" in done.output
    told = " ".join(done.output.split())
    places = re.findall(r"stock\.py:\d+ in \w+", " ".join(EXPECTED.split()))
    assert len(places) == 2
    assert all(place in told for place in places)  # which thread comes first is of no interest
    (token,) = re.findall(r"kcache replay (ko1\.\S+)", done.output)
    assert CliRunner().invoke(main, ["replay", token]).output.startswith("REPRODUCED")
    cut_off = _without_schedule(token)  # reported if the budget ends before the race is repeated
    assert CliRunner().invoke(main, ["replay", cut_off]).output.startswith("REPRODUCED")
    assert CliRunner().invoke(main, [*command, "--contract", "strict"]).exit_code == 1
    (folder / "stock.py").write_text(MENDED, encoding="utf-8")
    for word in (token, cut_off):  # without a schedule, real threads run the calls until the budget ends
        assert CliRunner().invoke(main, ["replay", word, "--budget", "5s"]).output.startswith("FIXED")


def _without_schedule(word: str) -> str:
    target_type = trusted_type_of_token(word, is_trusted=True)
    assert target_type is not None
    token = target_type.tokens.decode(word)
    return target_type.tokens.encode(replace(token, schedule=()))


def test_the_same_without_the_race_is_ok(folder: Path) -> None:
    assert MENDED != CODE
    (folder / "stock.py").write_text(MENDED, encoding="utf-8")
    done = CliRunner().invoke(main, [*EXPLORE.split(), "--budget", "1s"])
    assert done.exit_code == 0, done.output
    assert "data-race" not in done.output
