"""The observer sees what the instrumentation overlooks: with any of its hooks silenced, nothing is called exhausted."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from kcache_stress.engine.granularity import Granularity
from kcache_stress.engine.strategy import Coverage
from kcache_stress.instrument.names import PREFIX
from kcache_stress.modules import sandbox
from kcache_stress.modules.copies import Copies
from kcache_stress.target import investigation
from kcache_stress.target.observing import gap_in_reports
from kcache_stress.target.scenario_runner import Scenario, ScenarioRunner
from kcache_stress.target.scenarios import explore_scenario

PROGRAM = """
import threading
from collections import deque
from types import SimpleNamespace

LOCK = threading.Lock()
BEFORE

class Box:
    def __init__(self):
        self.value = MAKE

def make():
    return Box()

def work(box):
    HELD:
        STEP

THREADS = [work, work]
"""

STEPS = {
    # hook or hooks that are silenced -> what is shared, the step, and the line that the observer names
    "setitem getitem": ("{'n': 0}", "box.value['n'] = box.value['n'] + 1"),
    "getitem setitem, in place": ("[0]", "box.value[0] += 1"),
    "getitem, after a store": ("{'n': 0}", "box.value['n'] = 1\n        box.number = box.value['n']"),
    "call call1 read, after a store": ("{'n': 0}", "box.value['n'] = 1\n        box.number = len(box.value)"),
    "delitem contains": ("{'n': 0}", "if 'n' in box.value: del box.value['n']"),
    "call call1 read": ("[]", "box.value.append(len(box.value))"),
    "method method1, popleft": ("deque([1])", "box.value.popleft() if box.value else None"),
    "method method1, discard": ("set([1])", "box.value.discard(1) or box.value.add(2)"),
    "read method method1": ("[]", "if not box.value: box.value.append(1)"),
    "iterate method method1": ("[1]", "for each in box.value: pass\n        box.value.append(2)"),
    "advance": ("iter([1, 2, 3])", "next(box.value, None)"),
    "by_name": ("SimpleNamespace(n=0)", "setattr(box, 'n', getattr(box, 'n', 0) + 1)"),
    "setattribute attribute": ("type('Made', (), {'kept': 0})", "box.value.kept = box.value.kept + 1"),
    "call call1, unbound": ("[]", "list.append(box.value, 1)"),
    "call call1, in C": (
        "{}",
        "setdefault = box.value.setdefault\n        setdefault(1, 2)\n        box.value.update(a=1)",
    ),
    "compare": ("[1]", "box.value[:] = [2] if box.value == [1] else [3]"),
    "inplace": ("[1]", "held = box.value\n        held += [2]"),
    "read, and add": ("[1]", "box.value[:] = box.value + [1]"),
    "deep": ("[1]", "box.value[0] = len(f'{box.value}')"),
    "double_star": ("{'a': 1}", "box.value['a'] = dict(**box.value)['a'] + 1"),
    "read unpacked": ("[1]", "box.value[0] = max(0, *box.value) + 1"),
}


def program(folder: Path, step: str, made: str, *, held: bool, before: str = "") -> str:
    text = PROGRAM.replace("HELD", "with LOCK" if held else "if True").replace("MAKE", made)
    text = text.replace("STEP", step).replace("BEFORE", before)
    (folder / "observed_step.py").write_text(textwrap.dedent(text), encoding="utf-8")
    return text


def scenario() -> Scenario:
    def setup(load):
        module = load("observed_step")
        box = module.make()
        return [lambda work=work: work(box) for work in module.THREADS]

    return Scenario(("observed_step",), setup)


@pytest.fixture
def silence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """A function that silences hooks of the instrumentation."""
    monkeypatch.syspath_prepend(tmp_path)
    make = sandbox.make_hooks

    def silence(names: str) -> None:
        silenced = {f"{PREFIX}{name}" for name in names.split(",")[0].split()}

        def make_hooks(*arguments, **named):
            hooks = make(*arguments, **named)
            quiet = sandbox.silent(hooks)
            return {name: quiet[name] if name in silenced else hook for name, hook in hooks.items()}

        monkeypatch.setattr(sandbox, "make_hooks", make_hooks)

    return silence


@pytest.mark.parametrize("hooks", STEPS)
def test_an_access_without_a_report_is_no_proof(hooks, silence, tmp_path):
    silence(hooks)
    made, step = STEPS[hooks]
    program(tmp_path, step, made, held=False)
    result = explore_scenario(scenario())
    assert result.problem is not None or result.coverage is Coverage.NO_PROOF, "called exhausted"
    if result.problem is None:
        assert result.note.startswith("observed_step.py:"), result.note
        assert "the search did not see both" in result.note


@pytest.mark.parametrize("hooks", STEPS)
def test_under_a_lock_it_does_not_matter(hooks, silence, tmp_path):
    silence(hooks)
    made, step = STEPS[hooks]
    program(tmp_path, step, made, held=True)
    assert explore_scenario(scenario()).coverage is Coverage.EXHAUSTED


@pytest.mark.parametrize("hooks", STEPS)
def test_with_all_reports_there_is_no_gap(hooks, silence, tmp_path, monkeypatch):
    made, step = STEPS[hooks]
    monkeypatch.syspath_prepend(tmp_path)
    program(tmp_path, step, made, held=False)
    gaps = []
    monkeypatch.setattr(investigation, "gap_in_reports", lambda *given: gaps.append(gap_in_reports(*given)) or gaps[-1])
    explore_scenario(scenario())
    assert gaps in ([], [""])
    runner = ScenarioRunner(scenario(), Copies(scenario().instrument, Granularity.FREE))
    assert gap_in_reports(runner) == ""


CLASSES = """
import dataclasses

@dataclasses.dataclass
class Data:
    n: int

class Own(dict):
    def __init__(self, **items):
        super().__init__(items)
        self.n = 0

class Hooked:
    def __init__(self):
        self.n = 0
    def __getattribute__(self, name):
        return super().__getattribute__(name)
"""
REPORTED = {
    # what is shared, and a step that reports all that it touches
    "a change through the dictionary of an object": ("0", "box.__dict__.update(value=box.__dict__.get('value'))"),
    "a change of the variables of a module": ("0", "globals().update(number=1)"),
    "a method of a dict that has attributes": ("Own()", "box.value['n'] = box.value.get('n', 0)"),
    "an attribute of a dict": ("Own(n=0)", "box.value.n = box.value.setdefault('n', 1)"),
    "an attribute of an object that looks its attributes up": ("Hooked()", "box.value.n = box.value.n + 1"),
    "an entry of the dictionary of an object": ("Hooked()", "vars(box.value)['n'] = vars(box.value).get('n')"),
    "an entry by way of vars": ("Hooked()", "vars(box.value)['n'] = 1\n        vars(box.value)['n'] = 2"),
    "printing a dataclass": ("Data(1)", "repr(box.value)"),
    "lists behind an iterator": ("[1]", "two = zip(box.value, box.value)\n        box.value.append(len(list(two)))"),
    "the sizes of dicts behind an iterator": ("{1: 1}", "box.value[2] = len(list(zip(box.value, box.value)))"),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_report_is_recognised(name, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    made, step = REPORTED[name]
    program(tmp_path, step, made, held=False, before=CLASSES)
    runner = ScenarioRunner(scenario(), Copies(scenario().instrument, Granularity.FREE))
    assert gap_in_reports(runner) == ""
