"""Findings as pytest tests: ``kcache replay WORD --pytest FILE``."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kcache.cli.test_issue import kcache, word_of
from kcache.testing import ConformanceError
from kcache_conformance.report.pytest_file import pytest_files
from kcache_model.finding import Finding, FindingKind
from kcache_model.object_types.method_call import Form
from kcache_model.object_types.plain import MethodCall, ObjectProgram
from kcache_stress.loading import load_module
from kcache_stress.target.replay_token import ReplayToken

STOCK = """
class Stock:
    def __init__(self, count=1):
        self._count = count

    def sell(self):
        self._count = self._count - 1
        return self._count

    def refill(self, count: int):
        self._count = self._count + count
"""
MENDED = STOCK.replace("class", "import threading\n\n\nclass").replace(
    "        self._count = count\n", "        self._count, self._lock = count, threading.Lock()\n"
)
MENDED = re.sub(
    r"(def (?:sell|refill).*\n)((?:        .*\n)+)",
    lambda found: f"{found[1]}        with self._lock:\n{re.sub('(?m)^', '    ', found[2]).rstrip(' ')}",
    MENDED,
)
BODY = """
import time
from kcache import testing as kt
from shelf import Stock


def sells_two():
    stock = Stock(2)
    kt.run(stock.sell, stock.sell)
    assert stock._count == 0


def sells_two_with_help():
    assert sold() == 0


def sold():
    stock = Stock(2)
    kt.run(stock.sell, stock.sell)
    return stock._count
"""
MACHINE = """
from hypothesis import strategies as st
from kcache import testing as kt
from shelf import Stock


class Machine(kt.Machine):
    def subject(self):
        return Stock()

    @kt.rule()
    def sell(self, stock):
        return stock.sell()

    @kt.rule(count=st.sampled_from([2]))
    def refill(self, stock, count):
        return stock.refill(count)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "shelf", raising=False)  # of another test
    for name, text in (("shelf", STOCK), ("selling", BODY), ("ruled", MACHINE)):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    return tmp_path


def told(file: Path) -> str:
    """What is written, without what differs from machine to machine."""
    text = file.read_text(encoding="utf-8")
    ast.parse(text)
    assert all(len(line) <= 88 or re.search(r"\bk[a-z]1\.", line) for line in text.splitlines())
    text = re.sub(r"\b(k[a-z]1\.)[\w=.:-]+", r"\1WORD", text)
    text = re.sub(r"\n# (?!kcache replay)", " ", text)
    text = re.sub(r": [^:\n]*, kcache \S+$", ": VERSIONS", text, flags=re.MULTILINE)
    return re.sub(r"thread \d", "thread N", text)


def run_test(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("shelf", file.stem):
        sys.modules.pop(name, None)
    module = load_module(file)
    (test,) = (found for name, found in vars(module).items() if name.startswith("test_"))
    test(*[monkeypatch] * ("monkeypatch" in test.__code__.co_varnames))


@pytest.mark.parametrize(
    ("golden_name", "target", "marks"),
    [
        ("class", "shelf.py:Stock", "serializable=True"),
        ("body", "selling.py:sells_two", "@kt.interleaved"),
        pytest.param("body_with_help", "selling.py:sells_two_with_help", "kt.replay(", marks=pytest.mark.nightly),
        ("machine", "ruled.py:Machine", "serializable=True"),
    ],
)
def test_a_finding_as_a_test_fails_until_it_is_mended(
    golden_name: str,
    target: str,
    marks: str,
    folder: Path,
    golden: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = folder / "test_found.py"
    assert kcache("replay", word_of("explore", "-x", target), "--pytest", str(file)).stdout == f"wrote {file}\n"
    assert marks in file.read_text(encoding="utf-8")
    golden(f"pytest_{golden_name}", told(file))
    with pytest.raises(ConformanceError):
        run_test(file, monkeypatch)
    (folder / "shelf.py").write_text(MENDED, encoding="utf-8")
    run_test(file, monkeypatch)


def program(*threads: tuple[MethodCall, ...], before: tuple[MethodCall, ...] = ()) -> str:
    """The first test of a finding of these calls."""
    target = "shelf.py:Stock(1)"
    token = ReplayToken(target, ObjectProgram(before, threads), FindingKind.NONLINEARIZABLE)
    finding = Finding(FindingKind.NONLINEARIZABLE, "explorer", "it is wrong; or so")
    first = next(pytest_files(Path("test_it.py"), f"ko1.class={target}.abc", token, finding))
    return first.text


def test_calls_are_written_as_python_does() -> None:
    text = program(
        (MethodCall("__getitem__", ("a",)),),
        (MethodCall("left", (), form=Form.READ),),
        before=(MethodCall("__setitem__", ("a", 1)), MethodCall("put", (None, 'say "a"'))),
    )
    assert '    stock = Stock(1)\n    stock.__setitem__("a", 1)\n    stock.put(None, \'say "a"\')\n' in text
    assert '    kt.run(lambda: stock["a"], lambda: stock.left, serializable=True)\n' in text


def test_threads_of_several_calls_are_not_compared_as_a_whole() -> None:
    text = program((MethodCall("sell"), MethodCall("sell")), (MethodCall("sell"),))
    assert "serializable" not in text
    assert '"""thread 1: sell(), sell(); thread 2: sell()"""' in text
