"""What parameters with a default are given."""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcache_conformance.classes.optional_parameters import values_of_optional
from kcache_model.object_types.callbacks import Callback


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


def of_switches(block: bool = True, nowait: bool = False) -> None: ...


def of_numbers(amount: int = 1, share: float = 0.5, limit: Any = None, index: int | None = None) -> None: ...


def of_texts(name: str = "a", key: Any = None) -> None: ...


def of_waits(timeout: float | None = None, delay: int = 3) -> None: ...


def of_lives(ttl: float = 1.0, max_age: int | None = None) -> None: ...


def of_choices(colour: Colour = Colour.RED) -> None: ...


def of_unknown(
    path: str = "here", file: Any = None, now: float | None = None, seconds: int = 1, what: Any = None, names: Any = ()
) -> None: ...


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (of_switches, {"block": [False], "nowait": [True]}),
        (of_numbers, {"amount": [2, 3], "share": [2.0], "limit": [1, 2], "index": [1, 2]}),
        (of_texts, {"name": ["b", "c"], "key": ["a", "b"]}),
        (of_waits, {"timeout": [0.01], "delay": [0.01]}),
        (of_lives, {"ttl": [60.0], "max_age": [60]}),
        (of_choices, {"colour": [Colour.BLUE]}),
        (of_unknown, {"path": [], "file": [], "now": [], "seconds": [], "what": [], "names": []}),
    ],
)
def test_values(function: Callable[..., None], expected: dict[str, list[Any]]) -> None:
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    found = {one.name: list(values_of_optional(one)) for one in parameters}
    assert found == expected
    kinds = {name: list(map(type, values)) for name, values in found.items()}
    assert kinds == {name: list(map(type, values)) for name, values in expected.items()}


def test_callables_get_callbacks() -> None:
    def function(on_pop: Callable[[int], None] | None = None, factory: Any = None) -> None: ...

    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        values = values_of_optional(parameter, ["size"])
        assert values, parameter
        assert all(isinstance(value, Callback) for value in values)


def test_a_report_shows_them_and_its_token_repeats_them(tmp_path: Path, run_command: Callable[..., Any]) -> None:
    (tmp_path / "counting.py").write_text(
        "class Counter:\n"
        "    def __init__(self):\n"
        "        self._count = 0\n"
        "    def add(self, *, twice=False):\n"
        "        if not twice:\n"
        "            return 0\n"
        "        count = self._count\n"
        "        self._count = count + 2\n"
        "        return count\n",
        encoding="utf-8",
    )
    done = run_command(tmp_path, "kcache", "check", "-x", "--programs", "30", "counting.py:Counter")
    assert done.returncode == 1, done.stdout
    assert "add(twice=True)" in done.stdout
    token = re.search(r"kcache replay (\S+)", done.stdout)
    assert token is not None, done.stdout
    again = run_command(tmp_path, "kcache", "replay", token[1])
    assert again.returncode == 1, again.stdout
    assert "add(twice=True)" in again.stdout
