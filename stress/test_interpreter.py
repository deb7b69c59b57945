"""The name of the interpreter says whether there is a GIL, and kcache leaves it off."""

from __future__ import annotations

import platform
import subprocess
import sys
import sysconfig

import pytest

from kcache_stress import interpreter


@pytest.mark.parametrize(
    ("is_free_threaded", "has_gil", "build"),
    [(False, True, ""), (True, False, " (free-threaded)"), (True, True, " (free-threaded, GIL on)")],
)
def test_names(is_free_threaded: bool, has_gil: bool, build: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "get_config_var", {"Py_GIL_DISABLED": int(is_free_threaded)}.get)
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: has_gil, raising=False)
    assert interpreter.has_gil() is has_gil
    assert interpreter.name() == f"{platform.python_implementation()} {platform.python_version()}{build}"


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this build always has a GIL")
def test_neither_kcache_nor_what_it_needs_turns_the_gil_on() -> None:
    ours = ("kcache.cli.check", "kcache.cli.fuzz", "kcache.pytest_interleaving", "kcache.testing")
    others = ("click", "greenlet", "hypothesis", "jinja2", "rich", "time_machine", "yaml")
    code = f"import sys, {', '.join((*ours, *others))}; sys.exit(sys._is_gil_enabled())"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
