"""Replay tokens of strangers: a token is checked before anything runs; without --trust only the project is run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kcache import testing as kt
from kcache.cli import main
from kcache_conformance.targets.token_trust import UntrustedError, require_trusted
from kcache_model.blob import pack
from kcache_model.errors import FormatError, TargetError

CACHE = """
import os, subprocess
from os import system
from textwrap import dedent as smoothed

run = system
run_too = os.system

class Cache:
    tool = os

    def __init__(self, size=1):
        self.data = {}

    def put(self, key: str, value: int):
        self.data[key] = value

    def get(self, key: str):
        return self.data.get(key)

if True:
    Nested = Cache

def make_cache():
    return Cache()

class Process(subprocess.Popen):
    pass

def test_nothing(): pass
"""
EVIL = "from pathlib import Path\nPath({marker!r}).touch()\nclass C:\n    def get(self): pass\ndef f(): pass\n"
CALLS = {"prefix": [], "threads": [[{"op": "get", "arguments": ["a"]}], [{"op": "get", "arguments": ["a"]}]]}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module, the current one; beside it, a folder with a module that leaves a mark when it runs."""
    folder, outside = tmp_path / "project", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (folder / "mycache.py").write_text(CACHE, encoding="utf-8")
    (folder / "time.py").write_text(CACHE, encoding="utf-8")
    evil = EVIL.format(marker=str(tmp_path / "mark"))
    (outside / "evilmodule.py").write_text(evil, encoding="utf-8")
    packages = folder / ".venv" / "lib" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "evilpackage.py").write_text(evil, encoding="utf-8")
    (folder / "link.py").symlink_to(outside / "evilmodule.py")
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(outside))
    return folder


def command(*arguments: str) -> Result:
    return CliRunner(env={"NO_COLOR": "1", "COLUMNS": "100"}).invoke(main, arguments, prog_name="kcache")


def token(name: str, target: str = "mycache:Cache", program: Any = CALLS, **more: Any) -> str:
    return pack(name, {"t": target, "p": program, "k": "exception", **more})


def of_class(target: str, **more: Any) -> str:
    return token(f"ko1.class={target}.", target, **more)


MARKING = "import pathlib; pathlib.Path('../mark').touch()"
STRANGERS = {
    "nothing to unpack": f"ko1.class=os:system({'touch ../mark'!r}).abc",
    "a function of the standard library": of_class("os:system('touch ../mark')"),
    "a module of the project and one of the standard library have one name": of_class("time:Cache"),
    "code as text": of_class(f"builtins:exec({MARKING!r})"),
    "what a module of the project imports": of_class("mycache:system('touch ../mark')"),
    "within what it imports": of_class("mycache:os.system('touch ../mark')"),
    "another name for it": of_class("mycache:run('touch ../mark')"),
    "another dotted name for it": of_class("mycache:run_too('touch ../mark')"),
    "a module in a class": of_class("mycache:Cache.tool.system('touch ../mark')"),
    "names with underscores": of_class("mycache:Cache.put.__globals__"),
    "inherited and called with arguments": of_class("mycache:Process.communicate('touch ../mark')"),
    "arguments that are calls": of_class("mycache:Cache(__import__('os').system('touch ../mark'))"),
    "a starred argument": of_class("mycache:Cache(*exit())"),
    "arguments in a dict": of_class("mycache:Cache(**{'size': 1})"),
    "the result is called": of_class("mycache:make_cache()(1)"),
    "deep brackets": of_class("mycache:Cache(" + "[" * 3000 + "]" * 3000 + ")"),
    "control characters": of_class("\x1b]0;evil\x07.py:f", k="exception", i=["evilmodule.part"]),
    "a function of kcache that imports": of_class("kcache_stress.loading:load_object('evilmodule:f')"),
    "a file elsewhere": of_class("../outside/evilmodule.py:C"),
    "a link to a file elsewhere": of_class("link.py:C"),
    "a module that is installed": of_class("evilmodule:C"),
    "a package within the folder": of_class(".venv/lib/site-packages/evilpackage.py:C"),
    "a model": token("ko1.class=mycache:Cache==evilmodule:C.", "mycache:Cache"),
    "a target behind another name": token("ko1.class=mycache:Cache.", "evilmodule:C"),
    "a type": token("ko1.evilmodule:TYPE.", "mycache:Cache"),
    "a specification": token("ko1.spec=evilmodule:SPEC.", "mycache:Cache"),
    "a part of a package to instrument": of_class("mycache:Cache", i=["evilmodule.part"]),
    "an argument": of_class(
        "mycache:Cache",
        program={
            "prefix": [{"op": "get", "arguments": [{"made": {"$": "object", "class": "site:_Helper", "fields": {}}}]}],
            "threads": [],
        },
    ),
    "a test": token("kt1.", "evilmodule:f", {}),
    "a test with modules from elsewhere": token("kt1.", "mycache.py:test_nothing", {"path": [".", "..", ""]}),
    "a test with modules of a package": token("kt1.", "mycache:test_nothing", {"path": [".venv/lib/site-packages"]}),
    "a test of the standard library": token("kt1.", "webbrowser:main", {}),
    "an indexer": token("kx1.", "evilmodule:f", {}),
    "an informer": token("ki1.", "evilmodule:f", {}),
    "a queue": token("kq1.", "evilmodule:f", {}),
    "an index function": pack("kf1.", {"t": "evilmodule:f", "k": "index", "r": "total", "e": "adversarial", "o": [{}]}),
}


@pytest.mark.parametrize("what", STRANGERS)
def test_a_token_runs_nothing_that_is_not_the_projects(what: str, project: Path) -> None:
    done = command("replay", STRANGERS[what])
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert done.stderr.count("\n") == 1
    assert done.stderr.rstrip("\n").isprintable()
    assert "add --trust" in done.stderr or "copy all of it" in done.stderr or "must be plain values" in done.stderr
    assert not (project.parent / "mark").exists()
    assert "evilmodule" not in sys.modules
    with pytest.raises((UntrustedError, FormatError, TargetError)):
        kt.replay(STRANGERS[what])
    assert not (project.parent / "mark").exists()


@pytest.mark.parametrize(
    "seed", [-1, 2**32, "1", True, 1.5], ids=["negative", "too large", "a text", "a truth", "no whole number"]
)
def test_a_hash_seed_that_no_process_takes_is_refused(seed: object, project: Path) -> None:
    done = command("replay", token("kt1.", "mycache.py:test_nothing", {"hash_seed": seed}))
    assert done.exit_code == 2
    assert "hash seed" in done.stderr


@pytest.mark.parametrize(
    "target",
    ["mycache:Cache", "mycache.py:Cache", "mycache:Cache(2)", "mycache:make_cache", "mycache:Nested"],
)
def test_the_token_of_a_target_in_this_folder_is_trusted(target: str, project: Path) -> None:
    require_trusted([of_class(target)])


def test_the_token_of_a_test_with_modules_of_this_folder_is_trusted(project: Path) -> None:
    (project / "src").mkdir()
    require_trusted([token("kt1.", "mycache.py:test_nothing", {"path": ["src", ".", ""]})])


def test_a_token_within_the_folder_is_replayed(project: Path) -> None:
    done = command("replay", of_class("mycache.py:Cache"), "--budget", "1s")
    assert done.exit_code in (0, 3), done.output
    assert done.stdout.startswith(("FIXED", "CHANGED", "UNKNOWN"))


def test_a_token_of_code_elsewhere_is_replayed_with_trust(project: Path) -> None:
    word = of_class("../outside/evilmodule.py:C", program={"prefix": [{"op": "get", "arguments": []}], "threads": []})
    assert command("replay", word).exit_code == 2
    assert not (project.parent / "mark").exists()
    done = command("replay", word, "--trust", "--budget", "5s")
    assert done.exit_code in (0, 3), done.output
    assert (project.parent / "mark").exists()


def test_what_the_configuration_names_is_trusted(project: Path) -> None:
    word = of_class("evilmodule:C")
    with pytest.raises(UntrustedError, match="runs evilmodule:C"):
        require_trusted([word])
    require_trusted([word], named=["evilmodule:C"])
    (project / "kcache.toml").write_text('[targets.mine]\nfactory = "evilmodule:C"\n', encoding="utf-8")
    require_trusted([word])
    with pytest.raises(UntrustedError):
        require_trusted([of_class("evilmodule:f")])


@pytest.mark.parametrize("words", [["evilmodule:f", "kc1.abc"], [STRANGERS["a module that is installed"]]])
def test_saved_failures_run_nothing_else(words: list[str], project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCACHE_SAVED", "1")
    request = {"words": words, "strict_errors": False, "contract": "client-go"}
    saved = {"class=mycache.py:Cache mycache.py:Cache": {"requests": [request], "not_tested": []}}
    (project / ".kcache").mkdir()
    document = {"schema": "kcache/failures/1", "targets": saved, "last": request}
    (project / ".kcache" / "failures.json").write_text(json.dumps(document), encoding="utf-8")
    done = command("replay", "--last")
    assert done.exit_code == 2
    assert "add --trust" in done.stderr
    checked = command("check", "mycache.py:Cache", "--programs", "5")
    assert checked.exit_code in (0, 3), checked.output
    assert not (project.parent / "mark").exists()
