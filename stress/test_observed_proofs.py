"""Attributes that expose internals of Python: a proof where a lock orders their uses, and none where nothing does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kcache_stress.engine.strategy import Coverage
from kcache_stress.target import investigation
from kcache_stress.target.scenario_runner import Scenario
from kcache_stress.target.scenarios import ScenarioResult, explore_scenario

SAME_TWICE = """
def b(s):
    first = look(s)
    nop()
    return first == look(s)
"""
"""The second thread: what it sees must not change in between. The first thread is ``a``."""

CASES = {
    "annot": """
import typing
class C:
    n: int = 0
def make():
    C.__annotations__ = {"n": int}
    return C
def a(s): s.__annotations__ = {"n": str}

def look(s): return typing.get_type_hints(s)["n"]
""",
    "bases": """
class P: pass
class Q: pass
class C(P): pass
def make():
    C.__bases__ = (P,)
def a(s):
    C.__bases__ = (Q,)

def look(s): return issubclass(C, P)
""",
    "builtin": """
import builtins
def make():
    builtins.kc_flag = 1
def a(s):
    builtins.kc_flag = 2

def look(s): return kc_flag
""",
    "cause": """
def make():
    return ValueError("x")
def a(s):
    try:
        raise s from KeyError("k")
    except ValueError:
        pass

def look(s): return s.__cause__
""",
    "class_body": """
class Reg: items = 0
def make():
    Reg.items = 0
def a(s):
    class T:
        Reg.items = 5

def look(s): return Reg.items
""",
    "class_sorted": """
class A:
    def __lt__(self, other): return True
class B:
    def __lt__(self, other): return False
class S: pass
def make():
    s = S(); s.x = A(); s.y = A(); s.all=(s.x, s.y)
    return s
def a(s):
    s.x.__class__ = B
    nop()
    s.y.__class__ = B

def look(s): return sorted(s.all)[0] is s.x
""",
    "code_key": """
def k1(x): return x
def k2(x): return -x
def key(x): return x
first = k1.__code__
def make(): key.__code__ = first
def a(s): key.__code__ = k2.__code__

def look(s): return sorted([1, 2], key=key)
""",
    "comprehension_cell": """
def make(): return []
def a(s):
    [s.append(lambda: n) for n in (1, 2)]
def b(s):
    return not s or s[0]() == 2
""",
    "defaults_map": """
def g(x, d=1): return d
def make():
    g.__defaults__ = (1,)
def a(s):
    g.__defaults__ = (2,)

def look(s): return list(map(g, [1]))
""",
    "dict_attr": """
class C: pass
def make():
    c = C(); c.n = 0
    return c
def a(s):
    s.__dict__ = {"n": 1}

def look(s): return s.n
""",
    "doc_help": """
class C:
    "one"
def make():
    C.__doc__ = "one"
    return C
def a(s): s.__doc__ = "two"
import inspect

def look(s): return inspect.getdoc(s)
""",
    "enum_value": """
import enum
class E(enum.Enum):
    A = 1
def make():
    E.A._value_ = 1
    return E
def a(s): s.A._value_ = 2

def look(s): return s.A.value
""",
    "globals_in": """
X = 1
def make():
    globals()["X"] = 1
def a(s):
    globals()["X"] = 2

def look(s): return X
""",
    "match_args": """
class P:
    __match_args__ = ("x",)
    def __init__(self): self.x = 1; self.y = 2
def make():
    P.__match_args__ = ("x",)
    return P()
def a(s): P.__match_args__ = ("y",)
def inner(p):
    match p:
        case P(v): return v

def look(s): return inner(s)
""",
    "match_attr": """
class K: HIGH = 1
def make(): K.HIGH = 1
def a(s): K.HIGH = 2
def inner(x):
    match x:
        case K.HIGH: return 1
    return 0

def look(s): return inner(1)
""",
    "module_dict": """
import types
def make():
    m = types.ModuleType("m"); m.x = 1
    return m
def a(s):
    s.__dict__["x"] = 2

def look(s): return s.x
""",
    "name_in_error": """
class C: pass
def make():
    C.__name__ = "C"
    return C()
def a(s): C.__name__ = "D"

def look(s): return type(s).__name__
""",
    "notes": """
import traceback
def make():
    return ValueError("x")
def a(s):
    s.add_note("n")

def look(s): return len(traceback.format_exception(s))
""",
    "qualname_repr": """
def g(): pass
def make(): g.__qualname__ = "g"
def a(s): g.__qualname__ = "h"

def look(s): return repr(g).split()[1]
""",
    "setstate": """
class C:
    def __init__(self): self.n = 0
def make(): return C()
import copyreg
def a(s):
    s.__dict__.update({"n": 1})

def look(s): return s.__getstate__()["n"]
""",
    "slot_set": """
class C:
    __slots__ = ("n",)
put = C.n.__set__
def make():
    c = C(); c.n = 0
    return c
def a(s):
    put(s, 5)

def look(s): return s.n
""",
    "special_bool_in": """
class C:
    def __eq__(self, o): return False
    __hash__ = object.__hash__
first = C.__eq__
def second(self, o): return True
def make():
    C.__eq__ = first
    return [C()]
def a(s):
    C.__eq__ = second

def look(s): return 5 in s
""",
    "special_len": """
class C:
    def __len__(self): return 1
first = C.__len__
def second(self): return 2
def make():
    C.__len__ = first
    return C()
def a(s):
    C.__len__ = second

def look(s): return len(s)
""",
    "traceback": """
def make():
    return ValueError("x")
def a(s):
    try:
        raise s
    except ValueError:
        pass

def look(s): return s.__traceback__
""",
    "wrapped": """
import functools, inspect
def base(): pass
def other(): pass
@functools.wraps(base)
def w(): pass
def make(): w.__wrapped__ = base
def a(s): w.__wrapped__ = other

def look(s): return inspect.unwrap(w)
""",
}

AROUND = """
import threading

HELD = threading.Lock()

def nop():
    pass

{case}
{second}

def held(work):
    def run(s):
        with HELD:
            return work(s)
    return run

THREADS = {threads}
"""


@pytest.fixture
def explored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], ScenarioResult]:
    """A function that explores two threads of a case; without the audit, which would find small faults, too."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(investigation, "_audited", lambda *arguments: arguments[2])

    def explored(name: str, threads: str) -> ScenarioResult:
        case = CASES[name]
        text = AROUND.format(case=case, second="" if "def b(" in case else SAME_TWICE, threads=threads)
        (tmp_path / "observed_case.py").write_text(text, encoding="utf-8")

        def setup(load):
            module = load("observed_case")
            shared = module.make()
            return [lambda work=work: work(shared) for work in module.THREADS]

        return explore_scenario(Scenario(("observed_case",), setup, lambda results: None if results[1] else "changed"))

    return explored


@pytest.mark.parametrize("threads", ["[a, b]", "[held(a), b]"], ids=["no lock", "only the writer has a lock"])
@pytest.mark.parametrize("name", CASES)
def test_what_no_event_orders_is_never_called_exhausted(name, threads, explored):
    result = explored(name, threads)
    assert result.problem is not None or result.coverage is Coverage.NO_PROOF


@pytest.mark.parametrize("name", CASES)
def test_under_one_lock_it_is_proved(name, explored):
    result = explored(name, "[held(a), held(b)]")
    assert (result.problem, result.coverage) == (None, Coverage.EXHAUSTED), result.note
