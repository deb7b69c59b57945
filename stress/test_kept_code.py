"""Code kept on disk is what would be made; it is made anew where it is damaged, unwanted, or not to be trusted."""

import ast
import marshal
import os
import queue
import sched
import threading
from pathlib import Path

import pytest

from kcache_stress.engine.granularity import Granularity
from kcache_stress.instrument import code, code_cache
from kcache_stress.instrument.facts import collect_facts


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KCACHE_CODE", str(tmp_path))
    code_cache._folder.cache_clear()
    yield tmp_path
    code_cache._folder.cache_clear()


def made_by(key, *values):
    """How often something is made when it is asked for so often."""
    calls = []

    def make(value):
        calls.append(value)
        return value

    for value in values:
        assert code_cache.kept(key, lambda value=value: make(value)) is not None
    return len(calls)


def entries(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


def test_what_was_made_is_read_back(folder):
    assert made_by(("a", 1), 7, 8, 9) == 1
    assert made_by(("a", 2), 7) == 1
    assert len(entries(folder)) == 2


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data + b"x", lambda _: b""])
def test_a_damaged_entry_is_made_anew(folder, damage):
    assert made_by("key", 7) == 1
    (file,) = entries(folder)
    file.write_bytes(damage(file.read_bytes()))
    assert made_by("key", 7, 7) == 1


def test_nothing_is_kept_if_that_is_not_wanted(folder, monkeypatch):
    monkeypatch.setenv("KCACHE_CODE", "0")
    assert made_by("key", 7, 7) == 2
    assert entries(folder) == []


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="who may write is told in another way there")
def test_what_others_can_write_is_not_run(folder):
    assert made_by("key", 7) == 1
    (version,) = folder.iterdir()
    version.chmod(0o777)
    code_cache._folder.cache_clear()
    assert made_by("key", 7, 7) == 2


def test_a_folder_that_cannot_be_made_is_done_without(folder, monkeypatch):
    (folder / "file").write_text("")
    monkeypatch.setenv("KCACHE_CODE", str(folder / "file" / "below"))
    assert made_by("key", 7, 7) == 2


def test_another_explorer_finds_nothing(folder, monkeypatch):
    assert made_by("key", 7) == 1
    (folder / "explorer").mkdir()
    monkeypatch.setattr(code_cache, "_SOURCES", (folder / "explorer",))
    code_cache._folder.cache_clear()
    assert made_by("key", 7) == 1


def test_what_is_old_goes(folder, monkeypatch):
    monkeypatch.setattr(code_cache, "_ENTRIES_KEPT", 10)
    for number in range(11):
        made_by(number, 7)
    code_cache._folder.cache_clear()
    code_cache._make_room.cache_clear()
    assert made_by("one more", 7) == 1
    assert len(entries(folder)) == 5 + 1


@pytest.mark.parametrize("granularity", [Granularity.FREE, Granularity.GIL, Granularity.SYNC])
@pytest.mark.parametrize("module", [queue, sched, threading])
def test_the_code_is_the_same(folder, module, granularity):
    path = module.__file__
    source = Path(path).read_bytes()
    facts = collect_facts(ast.parse(source, path))
    seen = []
    for _ in range(2):
        code._instrumented.cache_clear()
        code.read.cache_clear()
        assert code.read(source, path).facts == facts
        seen.append(code.instrumented(source, path, granularity, facts))
    made = code.instrument(ast.parse(source, path), path, granularity, facts.about(code.read(source, path).words))
    assert seen[0] == seen[1] == made
    assert marshal.loads(marshal.dumps(made)) == seen[1]
    assert len(entries(folder)) == 2


def test_other_facts_are_another_key(folder):
    source, path = Path(queue.__file__).read_bytes(), queue.__file__
    facts = collect_facts(ast.parse(source, path))
    code._instrumented.cache_clear()
    code.instrumented(source, path, Granularity.FREE, facts)
    before = len(entries(folder))
    more = facts.merge(collect_facts(ast.parse("def f(q):\n    q.mutex = q.maxsize = 1\n")))
    code.instrumented(source, path, Granularity.FREE, more)
    assert len(entries(folder)) == before + 1
