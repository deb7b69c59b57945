"""Wrong usage: each error is one line that says what is wrong and what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kcache.cli import main


def kcache(*arguments: str) -> Result:
    return CliRunner(env={"NO_COLOR": "1", "COLUMNS": "100"}).invoke(main, arguments, prog_name="kcache")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["chek"], "No such command 'chek'; did you mean check?"),
        (["fly"], "No such command 'fly'; known are check, explore"),
        (["check", "--budgt", "3s"], "No such option '--budgt'. Did you mean '--budget'?"),
        (["check", "--zzz"], "No such option '--zzz'. `kcache check --help` lists the options and arguments"),
        (["check", "--semantics", "clasic"], "'clasic' is not one of 'classic', 'current'; did you mean classic?"),
        (["check", "--reference", "--only", "smke"], "there is no phase smke; the phases of --type indexer are: smoke"),
        (["check", "--reference", "--only", "smke"], "did you mean smoke?"),
        (["check", "--type", "indxer", "a:b"], "did you mean indexer?"),
        (["check", "stor"], "kcache.toml has no target stor"),
        (["check", "stor"], "did you mean store?"),
        (["check", "modul.py:f"], "did you mean module.py?"),
        (["check", "modul:f"], "did you mean module?"),
        (["check", "module.py:Cach"], "did you mean Cache?"),
        (["check", "broken.py:f"], "importing broken.py failed: ZeroDivisionError: division by zero ("),
        (["rules", "lost-updat"], "did you mean lost-update?"),
        (["report"], "Missing argument 'RESULT.json...'. `kcache report --help` lists the options and arguments"),
        (["judge"], "Missing argument 'FILE'"),
        (["replay"], "write a WORD, TARGET and PROGRAM, or --last"),
        (["explore"], "give a TARGET, or --reference for kcache's own implementation"),
        (["init", "module.py"], "module.py"),
        (["run", "nose", "--", "x"], "kcache run runs only pytest, not nose"),
    ],
)
def test_an_error_is_one_line_that_says_what_to_do(
    arguments: list[str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "module.py").write_text("class Cache:\n    pass\n", encoding="utf-8")
    (tmp_path / "broken.py").write_text("\n1 / 0\n", encoding="utf-8")
    (tmp_path / "kcache.toml").write_text("[targets.store]\nfactory = 'module.py:Cache'\n", encoding="utf-8")
    done = kcache(*arguments)
    assert done.exit_code == 2
    assert done.stderr.startswith("kcache: error: ")
    assert done.stderr.count("\n") == 1
    assert text in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.kcache]\n\nbudget = 30", 'tool.kcache.budget must be a text, not 30; write budget = "30s" (line 3)'),
        ("[tool.kcache]\npatience = 2.5", 'tool.kcache.patience must be a text, not 2.5; write patience = "2.5s"'),
        ("[tool.kcache]\nbudget = true", 'write budget = "30s"'),
        ("[tool.kcache]\nseed = '5'", "must be an integer, not '5'; write seed = 5"),
        ("[tool.kcache]\ninstrument = 'x'", "must be a list of texts, not 'x'; write instrument = [\"x\"]"),
        ("[tool.kcache]\nbudgt = '30s'", "did you mean budget? (line 2)"),
        ("[tool.kcache]\ncontract = 'strct'", "known are client-go, strict; did you mean strict? (line 2)"),
        (
            "[tool.kcache]\nbudget='1s'\n[tool.kcache.targets.a]\nfactory='m:f'\nbudgt = '30s'",
            "did you mean budget? (line 5)",
        ),
    ],
)
def test_a_wrong_setting_is_named_with_its_place_and_what_to_write(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    done = kcache("check")
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_right_usage_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[tool.kcache]\nbudget = "30s"\n', encoding="utf-8")
    for arguments in (["--help"], ["check", "-h"], ["--version"], ["rules", "lost-update"], ["targets"]):
        done = kcache(*arguments)
        assert (done.exit_code, done.stderr) == (0, "")


LATE = """
import kcache
made = []

def new_indexer(key_func, indexers):
    made.append(0)
    if len(made) > MOST:
        raise RuntimeError("no more")
    return kcache.new_indexer(key_func, indexers)
"""


@pytest.mark.parametrize(("most", "exit_code"), [(0, 2), (60, 3)], ids=["at once", "after some work"])
def test_what_turns_up_after_work_began_is_no_wrong_usage(
    most: int, exit_code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "late.py").write_text(f"MOST = {most}\n{LATE}", encoding="utf-8")
    done = kcache("check", "late.py:new_indexer", "--only", "smoke", "--only", "recorded", "--budget", "5s")
    assert done.exit_code == exit_code, done.output
    assert "RuntimeError: no more" in done.output
    assert ("smoke test" in done.stdout) == bool(most)
