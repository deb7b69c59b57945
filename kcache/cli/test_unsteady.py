"""Findings that do not come each time: what was never touched is never said to be mended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kcache.cli import main
from kcache_model.indexers.codec import decode_blob, decode_program, encode_blob, encode_program
from kcache_model.indexers.items import Item
from kcache_model.indexers.operations import Operation, OperationName
from kcache_model.indexers.program import Program

STORE = """
import itertools

import kcache

CALLS = itertools.count(1)


class Store:
    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def list_keys(self):
        keys = self._inner.list_keys()
        return [*keys, "ghost"] if {fails} else keys


def new_indexer(key_func, indexers):
    return Store(kcache.new_indexer(key_func, indexers))
"""


def command(*arguments: str) -> Result:
    return CliRunner(env={"NO_COLOR": "1"}).invoke(main, arguments, prog_name="kcache", terminal_width=98)


def store(folder: Path, fails: str) -> str:
    (folder / "store.py").write_text(STORE.format(fails=fails), encoding="utf-8")
    return f"{folder / 'store.py'}:new_indexer"


def word(*, is_unsteady: bool) -> str:
    add = Operation(OperationName.ADD, item=Item("a", "v1"))
    return encode_blob(Program(prefix=(add, Operation(OperationName.LIST_KEYS)), is_unsteady=is_unsteady))


def test_a_word_says_that_it_is_unsteady() -> None:
    for is_unsteady in (False, True):
        program = decode_blob(word(is_unsteady=is_unsteady))
        assert program.is_unsteady is is_unsteady
        assert decode_program(json.loads(json.dumps(encode_program(program)))) == program


@pytest.mark.parametrize(
    ("fails", "is_unsteady", "code", "said"),
    [
        ("next(CALLS) % 60 == 0", True, 1, "the same calls still fail"),
        ("next(CALLS) > 5", False, 1, "the same calls still fail"),  # what earlier runs left behind
        ("False", True, 3, "which is no proof: it did not fail each time before either"),
        ("False", False, 0, "the same calls return the expected results"),
    ],
)
def test_a_replay_runs_it_several_times(tmp_path: Path, fails: str, is_unsteady: bool, code: int, said: str) -> None:
    budget = "60s" if code == 1 else "200ms"  # what fails ends it
    replayed = command("replay", store(tmp_path, fails), word(is_unsteady=is_unsteady), "--budget", budget)
    assert replayed.exit_code == code, replayed.output
    assert said in " ".join(replayed.output.split())


def test_what_fails_by_one_hash_seed_only_is_found_again(tmp_path: Path) -> None:
    target = store(tmp_path, "__import__('os').environ['PYTHONHASHSEED'] == '1'")
    assert command("replay", target, word(is_unsteady=True), "--budget", "400ms").exit_code == 1


def test_a_finding_that_came_once_is_not_told_as_mended(tmp_path: Path) -> None:
    target = store(tmp_path, "next(CALLS) == 400")
    found = command("check", target, "--only", "stateful", "-x", "--no-saved", "--json", str(tmp_path / "out.json"))
    assert found.exit_code == 1, found.output
    (finding,) = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["findings"]
    assert finding["kind"] == "nondeterminism"
    replayed = command(*finding["replay"].split()[1:], "--budget", "200ms")
    assert replayed.exit_code in (1, 3), replayed.output
    assert "FIXED" not in replayed.output
