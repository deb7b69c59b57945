"""Which attributes are found to be immutable, and hence not reported: each rule with a faulty and a correct twin."""

import ast
import functools
from dataclasses import replace
from pathlib import Path

import pytest

import kcache
from kcache_stress.instrument import collect_facts, rewrite
from kcache_stress.instrument.code import read
from kcache_stress.instrument.facts import Facts


def mutable(source, *names):
    facts = collect_facts(ast.parse(source))
    return {name for name in names if facts.is_mutable(name)}


INIT = """
import threading
class Store:
    LIMIT = 5
    def __init__(self, key):
        {body}
    def method(self):
        {method}
"""

BODIES = {
    "self.a = 1": set(),
    "self.a = self.b = key": set(),
    "self.a, self.b = key": set(),
    "self.a = 1; self.a = 2": set(),
    "self.a = 1; self.b = self.a": set(),
    "self.a = []; self.a.append(1); self.b = 2": set(),
    "self.b = threading.Condition(); self.a = threading.Lock(self.b)": set(),
    "self.a = self.LIMIT": set(),
    "self.a = key(); self.b = print(key)": set(),
    "self.a = 1; self.a += 1": set(),
    "self.a = 1; threading.Thread(target=self.method).start(); self.b = 2": {"b"},
    "self.a = 1; key(self); self.b = 2": {"b"},
    "self.method(); self.a = 1": {"a"},
    "self.a = lambda: self.b; self.b = 1": {"a", "b"},
    "key[0] = self; self.a = 1": {"a"},
    "other = self; self.a = 1": {"a"},
    "key.a = 1": {"a"},
    "del self.a": {"a"},
    "self.a += 1": {"a"},
    "super().__init__(); self.a = 1": set(),
    "dict.__init__(self); self.a = 1": set(),
    "super().__init__(); key(self); self.a = 1": {"a"},
    "setattr(self, 'a', 1)": {"a"},
    "object.__setattr__(self, 'a', 1)": {"a"},
    "super().__setattr__('a', 1)": {"a"},
    "setattr(self, key, 1)": {"a", "b"},
    "object.__setattr__(self, key, 1)": {"a", "b"},
    "self.__dict__.update(key)": {"a", "b"},
    "vars(self)['a'] = 1": {"a", "b"},
    "list(map(setattr, key))": {"a", "b"},
}


@pytest.mark.parametrize("body", BODIES, ids=str)
def test_what_a_constructor_stores(body):
    assert mutable(INIT.format(body=body, method="return self.a, self.b"), "a", "b") == BODIES[body]


def test_a_store_after_the_loop_came_round_is_not_private():
    loop = "for k in key:\n            self.a = k\n            {use}"
    assert mutable(INIT.format(body=loop.format(use="pass"), method="pass"), "a") == set()
    assert mutable(INIT.format(body=loop.format(use="k(self)"), method="pass"), "a") == {"a"}


@pytest.mark.parametrize(
    "method",
    ["self.a = 1", "self.a += 1", "del self.a", "self.b, (self.a, c) = 1, (2, 3)", "for self.a in (): pass",
     "with x as self.a: pass", "self.a: int = 1", "def f(o): o.a = 1", "self.__init__(1)"],
)  # fmt: skip
def test_a_store_outside_the_constructor(method):
    assert mutable(INIT.format(body="self.a = 1; self.k = 1", method=method), "a") == {"a"}
    assert mutable(INIT.format(body="self.a = 1; self.k = 1", method="return self.a"), "a") == set()


def test_private_names_are_mangled():
    source = INIT.format(body="self.__a = 1; self.__b__ = 1", method="self.__a = self.__b__ = 2")
    assert mutable(source, "_Store__a", "__a", "__b__") == {"_Store__a", "__b__"}


def test_a_singleton_is_constructed_again():
    source = INIT.format(body="self.a = 1", method="pass")
    assert mutable(source, "a") == set()
    assert mutable(source + "    def __new__(cls, key): return ONE", "a") == {"a"}


def test_dataclass_fields_are_constants():
    source = """
from dataclasses import dataclass
@dataclass
class Point:
    a: int = 0
    b: int = 1
    def __post_init__(self):
        self.c = self.a
    def move(self):
        self.b = 2
"""
    assert mutable(source, "a", "b", "c") == {"b"}


def test_facts_of_modules_are_merged():
    quiet = collect_facts(ast.parse(INIT.format(body="super().__init__(); self.a = 1", method="pass")))
    escaping = collect_facts(ast.parse(INIT.format(body="key(self)", method="pass")))
    writer = collect_facts(ast.parse("def f(store): store.b = 1"))
    assert not quiet.is_mutable("a")
    assert not quiet.merge(writer).is_mutable("a")
    assert quiet.merge(writer).is_mutable("b")
    assert quiet.merge(escaping).is_mutable("a")
    assert quiet.merge(escaping).merge(writer) == writer.merge(quiet.merge(escaping))
    assert quiet.merge(quiet) == quiet


@pytest.mark.parametrize(
    "store",
    ["Store.a = 1", "type(self).a = 1", "self.__class__.a = 1", "kind = type(self); kind.a = 1"],
)
def test_attributes_of_classes(store):
    facts = collect_facts(ast.parse(INIT.format(body="pass", method=store)))
    assert facts.is_class_level("a")
    assert facts.is_mutable("a")
    assert not collect_facts(ast.parse(INIT.format(body="pass", method="self.a = 1"))).is_class_level("a")


def test_classes_of_classes():
    facts = collect_facts(ast.parse("class A(Generic[T]): pass\nclass B(A, abc.ABC): pass\nclass C(type): pass"))
    other = collect_facts(ast.parse("class D(C): pass\nclass E(abc.ABCMeta): pass\nclass F(make()): pass"))
    defined = set("ABCDEF")
    assert facts.metaclasses & defined == {"C"}
    assert facts.merge(other).metaclasses & defined == {"C", "D", "E", "F"}


@pytest.mark.nightly
def test_facts_about_a_module_are_all_that_it_needs():
    """Of all that is known of a hundred modules, what each of them names."""
    folders = [Path(kcache.__file__).parent, Path(__file__).parent / "material" / "races"]
    sources = [
        file.read_text() for folder in folders for file in folder.glob("*.py") if not file.name.startswith("test_")
    ]
    sources.append("class _Own__Box:\n    def up(self):\n        self.__count += self.__size\n")
    sources.append("class Other:\n    def up(self):\n        self.__size = self.__slots__\n")
    facts = functools.reduce(Facts.merge, (collect_facts(ast.parse(source)) for source in sources))
    for known in (facts, replace(facts, everything_mutable=False, everything_global=False, reconstructs=False)):
        for source in sources:
            about = known.about(read(source.encode(), "module.py").words)
            whole, part = (ast.dump(rewrite(ast.parse(source), given)) for given in (known, about))
            assert whole == part
    few = [len(known.about(read(source.encode(), "module.py").words).mutable_names) for source in sources]
    assert max(few) < len(known.mutable_names) / 2


def test_globals():
    facts = collect_facts(
        ast.parse("import m\na = b = c = 0\ndef f():\n  global a, b\n  a = b\ndef g():\n  m.d = 1\n  c = 2")
    )
    assert [name for name in "abcd" if facts.is_written_global(name)] == ["a", "d"]
