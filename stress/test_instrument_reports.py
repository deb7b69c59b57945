"""Every construct reports exactly its accesses, in the order in which they happen, each before it happens."""

import ast
import collections
import contextlib
import io
import sys
import textwrap

import pytest

from kcache_stress.engine.events import UnknownAccess
from kcache_stress.instrument import collect_facts, make_hooks, rewrite
from stress.material.gate_support import gate_of

PREAMBLE = """
import collections, functools, heapq, itertools, bisect, random
from functools import partial

class Box:
    def __init__(self):
        self.fixed = 1
    def spoil(self):
        # makes these names mutable
        self.x = self.y = self.z = self.it = None

class Sub(dict):
    def get(self, key, default=None):
        return super().get(key, default)

class Plain(list):
    pass

def own(*args, **kwargs):
    return None

hot = 0
def spoil():
    global hot
    hot += 1

def run(o, l, d, s, q, m, f, t):
"""


class Names:
    """Gives the objects that a snippet works on their names, everything else that of its type."""

    def __init__(self, named):
        self.named = named

    def __call__(self, item):
        for name, value in self.named.items():
            if value is item:
                return name
        return type(item).__name__


def load(source, report, *, pause=None, together=None, name="snippet"):
    tree = ast.parse(source)
    facts = collect_facts(tree)
    code = compile(rewrite(tree, facts, pauses=pause is not None), f"{name}.py", "exec")
    namespace = {"__name__": name, **make_hooks(report, gate_of(code), pause, together)}
    exec(code, namespace)
    return namespace


def reports(body, **given):
    """Run the body of a function and return what it reported, as "r o.x", "w d['k']", "w l"."""
    log = []

    def report(item, slot, write):
        text = names(item)
        if write and text.endswith("iterator"):
            return  # that it moves is of no interest here
        if isinstance(slot, UnknownAccess):
            text += " ~"
        elif slot is not None:
            plain = (
                isinstance(slot, str) and type(item).__name__ in {"Box", "Cell", "type", "Sub"}
            ) or text == "globals"
            text += f".{slot}" if plain else f"[{slot!r}]"
        log.append(f"{'w' if write else 'r'} {text}")

    namespace = load(PREAMBLE + textwrap.indent(textwrap.dedent(body).strip(), "    "), report)
    box = namespace["Box"]()
    arguments = {"o": box, "l": [3, 1, 2], "d": {"k": 1, "j": 2}, "s": {1}, "q": collections.deque([1, 2])}
    arguments |= {"m": collections.defaultdict(int, a=1), "f": len, "t": io.StringIO()}
    box.x, box.y, box.z, box.it = 1, 2, 3, iter([1])
    arguments |= given
    names = Names({**arguments, "globals": namespace})
    log.clear()
    namespace["run"](**arguments)
    return log


CASES = {
    # attributes
    "o.fixed": [],
    "o.x": ["r o.x"],
    "o.x = 5": ["w o.x"],
    "o.x = o.y": ["r o.y", "w o.x"],
    "del o.x": ["w o.x"],
    "o.x += 1": ["r o.x", "w o.x"],
    "o.x: int = 1": ["w o.x"],
    "o.x = o.y = 1": ["w o.x", "w o.y"],
    "o.x, o.y = o.y, o.x": ["r o.y", "r o.x", "w o.x", "w o.y"],
    "(o.x, [o.y, *o.z]) = 1, (2, 3)": ["w o.x", "w o.y", "w o.z"],
    "for o.x in (1, 2): pass": ["w o.x", "w o.x"],
    "for o.x, d['n'] in ((1, 2),): pass": ["w o.x", "w d['n']"],
    "import contextlib\nwith contextlib.nullcontext(1) as o.x: pass": ["w o.x"],
    "getattr(o, 'x')": ["r o.x"],
    "setattr(o, 'x', 1)": ["w o.x"],
    "delattr(o, 'x')": ["w o.x"],
    "hasattr(o, 'x')": ["r o.x"],
    "object.__setattr__(o, 'x', 1)": ["w o.x"],
    "[o.x for _ in (1, 2)]": ["r o.x", "r o.x"],
    "[0 for o.x in (1,)]": ["w o.x"],
    "(lambda: o.x)()": ["r o.x"],
    # subscripts
    "d['k']": ["r d['k']"],
    "d['k'] = 2": ["w d['k']"],
    "del d['k']": ["w d['k']"],
    "d['k'] += 1": ["r d['k']", "w d['k']"],
    "d[(1, 'a')] = 2": ["w d[(1, 'a')]"],
    "d[o] = 2": ["w d"],
    "l[0]": ["r l[0]"],
    "l[-1]": ["r l[2]"],
    "l[0] = 2": ["w l[0]"],
    "del l[0]": ["w l"],
    "l[0:2]": ["r l"],
    "l[:] = q": ["r q", "w l"],
    "l[::2] = [1, 2]": ["w l"],
    "del l[1:]": ["w l"],
    "l[0:1] += [1]": ["r l", "w list", "w l"],
    "m['a']": ["r m['a']"],
    "m['new']": ["w m['new']"],
    "m['new'] += 1": ["w m['new']", "w m['new']"],
    "o.x = d['k'] = 1": ["w o.x", "w d['k']"],
    "o.x, d['n'] = l[0], l[1]": ["r l[0]", "r l[1]", "w o.x", "w d['n']"],
    "d[o.x] = o.y": ["r o.y", "r o.x", "w d[1]"],
    "[d[k] for k in ('k', 'j')]": ["r d['k']", "r d['j']"],
    "del d['k'], o.x": ["w d['k']", "w o.x"],
    # membership, comparison, operators, truth
    "'k' in d": ["r d['k']"],
    "'k' not in d": ["r d['k']"],
    "1 in l": ["r l"],
    "1 in s": ["r s[1]"],
    "1 in d.values()": ["r d"],
    "1 < 2 in l": ["r l"],
    "0 < o.x < 5": ["r o.x"],
    "l == q": ["r l", "r q"],
    "l is q": [],
    "l == 1": [],
    "l + l": ["r l"],
    "l + [1]": ["r l"],
    "[1] + l": ["r l"],
    "l * 2": ["r l"],
    "s | {2}": ["r s"],
    "frozenset([1]) | s": ["r s"],
    "'%s' % l": ["r l"],
    "l += [1]": ["w l"],
    "l += q": ["r q", "w l"],
    "l *= 2": ["w l"],
    "s |= s": ["w s"],
    "if l: pass": ["r l"],
    "while not l: pass": ["r l"],
    "not d": ["r d"],
    "l and d": ["r l"],
    "bool(l and d)": ["r l", "r d"],
    "1 if l else 2": ["r l"],
    "assert l": ["r l"],
    "[1 for _ in (1,) if l]": ["r l"],
    "if l and not s or o.x: pass": ["r l", "r s", "r o.x"],
    # iteration
    "for _ in l: pass": ["r l"] * 4,
    "for _ in d: pass": ["r d"] * 4,
    "for _ in d.items(): pass": ["r d"] * 4,
    "for _ in s: pass": ["r s"] * 3,
    "for _ in q: pass": ["r q"] * 4,
    "for _ in l: break": ["r l"],
    "[_ for _ in l]": ["r l"] * 4,
    "{k: v for k, v in d.items()}": ["r d"] * 4,
    "[1 for _ in (1,) for _ in q]": ["r q"] * 4,
    "sum(_ for _ in q)": ["r q"] * 4,
    "for _ in enumerate(q): pass": ["r q"] * 4,
    "for _ in zip(q, l): pass": ["r q"] + ["r q", "r l"] * 3,
    "for _ in map(str, d.values()): pass": ["r d"] * 4,
    "for _ in itertools.chain(q, s): pass": ["r q", "r s"] + ["w chain", "r q", "r s"] * 4,
    "for _ in range(3): pass": [],
    "for a, b in [q]: pass": ["r q"],
    "next(iter(d))": ["r d", "r d"],
    "list(yields(l)) if 0 else None": [],
    "a, b, c = l": ["r l"],
    "a, *b = o.x, 2": ["r o.x"],
    "a, (b, c) = 1, q": [],
    # methods
    "d.get('k')": ["r d['k']"],
    "d.get(o.x, 5)": ["r o.x", "r d[1]"],
    "d.pop('k')": ["w d['k']"],
    "d.setdefault('k', [])": ["w d['k']"],
    "d.setdefault('k', []).append(1) if 0 else 0": [],
    "d.update({'a': 1})": ["w d"],
    "d.update(m)": ["r m", "w d"],
    "d.clear()": ["w d"],
    "d.copy()": ["r d"],
    "d.values()": [],
    "list(d.values())": ["r d"],
    "len(d.keys())": ["r d"],
    "l.append(1)": ["w l"],
    "l.append(o.x)": ["r o.x", "w l"],
    "l.sort()": ["w l"],
    "l.extend(d.values())": ["r d", "w l"],
    "l.index(1)": ["r l"],
    "s.add(2)": ["w s[2]"],
    "s.discard(o)": ["w s"],
    "s.union(l, q)": ["r l", "r q", "r s"],
    "q.popleft()": ["w q"],
    "dict.get(d, 'k')": ["r d['k']"],
    "list.append(l, 1)": ["w l"],
    "d.__getitem__('k')": ["r d['k']"],
    "a = l.append\na(1)": ["w l"],
    "a = d.pop\na('k')": ["w d['k']"],
    "o.x = l.append\no.x(1)": ["w o.x", "r o.x", "w l"],
    "list(map(d.get, l))": ["w map", "r l", "r d"],
    "list(map(d.pop, ('k',)))": ["w map", "w d"],
    "partial(l.append)(1)": ["r dict", "w l"],
    "partial(heapq.heappush, l)(1)": ["r dict", "w l"],
    # builtins and foreign functions
    "len(l)": ["r l"],
    "sorted(l)": ["r l"],
    "sorted(d, key=d.get)": ["r d"],
    "min(l, default=1)": ["r l"],
    "str(l)": ["r l"],
    "print(end='', *l)": ["r l", "r dict['stdout']"],
    "print(1, file=t)": ["r dict['stdout']", "w t"],
    "print(1)": ["r dict['stdout']"],
    "isinstance(l, list)": [],
    "own(l, d)": [],
    "own(*l)": ["r l"],
    "own(**d)": ["r d"],
    "own(1, *l, a=d)": ["r l"],
    "heapq.heappush(l, 1)": ["w l"],
    "bisect.insort(l, 1)": ["w l"],
    "random.shuffle(l)": ["w l"],
    "heapq.nsmallest(1, l)": ["r l"],
    "heapq.heappush(a := [], 1)": [],
    "f(l)": ["r l"],
    "f(*[l])": ["r l"],
    "', '.join(d)": ["r d"],
    "f'{l}'": ["r l"],
    "[*d]": ["r d"],
    "{**d}": ["r d"],
    "Box()": [],
    "collections.Counter(l)": ["r l"],
    "match l:\n    case [a, *_]: pass": ["r l"],
    # globals
    "hot": ["r globals.hot"],
    "[hot for _ in (1,)]": ["r globals.hot"],
    "spoil()": ["r globals.hot", "w globals.hot"],
}


@pytest.mark.parametrize("body", CASES, ids=str)
def test_reports(body):
    assert reports(body) == CASES[body]


def trace(source, *, pauses=False):
    """Execute a module and its `main()`; return the reports that main caused, with names of types for objects."""
    log = []

    def report(item, slot, write):
        shown = "" if slot is None else " ~" if isinstance(slot, UnknownAccess) else f" {slot}"
        log.append(("w " if write else "r ") + type(item).__name__ + shown)

    namespace = load(source, report, pause=(lambda: log.append("pause")) if pauses else None)
    log.clear()
    namespace["main"]()
    return log


CELLS = {
    "n = 0\ndef inner():\n  nonlocal n\n  n += 1\ninner()": ["w Cell n", "r Cell n", "w Cell n"],
    "n = 0\ndef inner():\n  return n\nn = 1\ninner()": ["w Cell n", "w Cell n", "r Cell n"],
    "n = 0\nn = 1\ndef inner():\n  return n\ninner()": [],
    "n = 0\ndef inner():\n  return n\ninner()": [],
    "for n in (1, 2):\n  inner = lambda: n\ninner()": ["w Cell n", "w Cell n", "r Cell n"],
    "for n in (1, 2):\n  pass\ninner = lambda: n\ninner()": [],
    "def inner():\n  return inner\ninner()": [],
    "n = 0\n[n for _ in (1,)]\nn = 2": [],
    "def inner():\n  return n\nn = 0\ndel n": ["w Cell n", "w Cell n"],
    "def inner():\n  return n\nwith open(__import__('os').devnull) as n: pass": ["w Cell n"],
    "def inner():\n  return n\nif (n := 3): pass": ["w Cell n", "r Cell n"][:1],
    "def inner():\n  return n\nimport os as n": ["w Cell n"],
    "def inner():\n  return n\ndef n(): pass\nn()": ["w Cell n", "r Cell n"],
    "def inner():\n  return n\nclass n: pass\nn()": ["w Cell n", "r Cell n"],
    "def inner():\n  return n\nn, m = 1, 2": ["w Cell n"],
    "def inner():\n  return n\ntry: 1 / 0\nexcept ZeroDivisionError as n: pass": ["w Cell n", "w Cell n"],
    "def inner():\n  return n\nn: int = 1": ["w Cell n"],
}


@pytest.mark.parametrize("body", CELLS, ids=str)
def test_closure_variables(body):
    assert trace("def main():\n" + textwrap.indent(body, "  ")) == CELLS[body]


def test_each_activation_has_its_own_variables():
    tokens = []
    source = """
def make():
    n = 0
    def up():
        nonlocal n
        n += 1
        return n
    return up
"""
    make = load(source, lambda item, slot, write: tokens.append(item))["make"]
    first, second = make(), make()
    tokens.clear()
    assert (first(), first(), second()) == (1, 2, 1)
    assert len(set(tokens)) == 2


CLASSES = {
    # a class attribute is found on the class that holds it
    "class C:\n  n = 0\n  def up(self): C.n += 1\nclass D(C): pass\ndef main(): D().n": ["r type n", "r D n"],
    "class C:\n  n = 0\n  def up(self): C.n += 1\ndef main(): C().up()": ["r type n", "w type n"],
    "class C:\n  def __init__(self): self.n = 0\n  def up(self): self.n = 1\ndef main(): C()": [],
    "class C:\n  def __init__(self):\n    print(self, end='', file=None)\n    self.n = 0\n"
    "  def __str__(self): return ''\n  def up(self): self.n = 1\ndef main(): C()": ["r dict stdout", "w C n"],
    "class C:\n  def __init__(self): self.__n = 0\n  def up(self): self.__n += 1\ndef main(): C().up()": [
        "r C _C__n",
        "w C _C__n",
    ],
    "class C:\n  @property\n  def n(self): 1\n  @n.setter\n  def n(self, v): self._n = v\ndef main(): C().n = 1": [
        "w C n",
        "w C _n",
    ],
    "class C(dict):\n  def get(self, k): return super().get(k)\ndef main(): C(a=1).get('a')": ["r C a"],
    "class C(dict):\n  def get(self, k): return super().get(k)\ndef main(): C(a=1)['a']": ["r C a"],
    "class C(dict):\n  def __getitem__(self, k): return super().__getitem__(k)\ndef main(): C(a=1)['a']": ["r C a"],
    "class C(list): pass\ndef main():\n  c = C()\n  c.append(1)\n  len(c)": ["w C", "r C"],
    "class C:\n  def __init__(self): self.l = []\n  def add(self, x): self.l.append(x)\n  def all(self): self.add(1)\n"
    "def main(): C().all()": ["w list"],
    "from functools import cached_property\nclass C:\n  @cached_property\n  def n(self): return 1\n"
    "def main():\n  c = C()\n  c.n\n  c.n": ["w C n", "r C n"],
    "class C:\n  def __init__(self): self.f = [].append\n  def go(self): self.f(1)\ndef main(): C().go()": ["w list"],
    "class C:\n  def __init__(self): self.key = len\n  def go(self, d): self.key(d)\nD = {}\ndef main(): C().go(D)": [
        "r dict"
    ],
    "import heapq\nclass C:\n  push = staticmethod(heapq.heappush)\n  def go(self, d): self.push(d, 1)\nD = []\n"
    "def main(): C().go(D)": ["w list"],
    "from dataclasses import dataclass\nL = []\n@dataclass\nclass C:\n  a: list\ndef main(): C(L)": [],
    "import itertools\nC = itertools.count()\ndef main(): next(C)": ["w count"],
    "def gen(l):\n  yield from l\nL = [1, 2]\ndef main(): list(gen(L))": ["w generator ~", "w generator"]
    + ["r list"] * 3,
    "L = [1, 2]\ndef main():\n  o = []\n  for x in L:\n    o.append(x)\n  return o, len(o)": ["r list"] * 3,
    "L = [1, 2]\ndef main():\n  o = []\n  o.append(L)\n  L.append(o)\n  return o": ["w list", "w list"],
    # what is stored into something that nobody else can know is known to nobody else, as long as nobody gets it there
    "def main():\n  by = {}\n  row = by['k'] = []\n  row.append(1)\n  return by": [],
    "def main():\n  by = {}\n  row = by['k'] = []\n  D['l'] = by\n  row.append(1)\nD = {}": [
        "w dict k",
        "w dict l",
        "w list",
    ],
    "def main():\n  by = {}\n  row = by['k'] = []\n  D['l'] = by['k']\n  row.append(1)\nD = {}": ["w dict l", "w list"],
    "def main():\n  row = D['k'] = []\n  row.append(1)\nD = {}": ["w dict k", "w list"],
    "def main():\n  by = {}\n  row = by['k'] = []\n  own = lambda: by\n  row.append(1)": ["w dict k", "w list"],
    "D = {'l': []}\ndef main(): D['l'].append(1)": ["r dict l", "w list"],
    "D = {'l': []}\ndef main(): D['l'] += [1]": ["r dict l", "w list", "w dict l"],
    "D = {}\nclass E:\n  def __enter__(self): return D\n  def __exit__(self, *a): pass\n"
    "def main():\n  with E() as d, E() as d['k']: pass": ["w dict k"],
}


@pytest.mark.parametrize("source", CLASSES, ids=str)
def test_classes_and_objects(source):
    assert trace(source) == CLASSES[source]


PAUSES = {
    "def main():\n  'doc'\n  x = 1": ["pause"],
    "def main():\n  for _ in (1, 2): pass": ["pause"] * 3,
    "def main():\n  n = 2\n  while n:\n    n -= 1": ["pause"] * 3,
    "def main():\n  [1 for _ in (1, 2)]": ["pause"] * (3 + (sys.version_info < (3, 12))),
    "def f(): pass\ndef main(): f()": ["pause"] * 3,
    "L = []\ndef main(): L.append(1)": ["pause", "w list", "pause"],
}


@pytest.mark.parametrize("source", PAUSES, ids=str)
def test_pauses(source):
    assert trace(source, pauses=True) == PAUSES[source]


def test_a_report_comes_before_its_access():
    seen = []
    source = "class C: pass\nC.x = 0\nc = C()\ndef main(l, d):\n  c.x = 1\n  l.append(1)\n  d['k'] = 1\n  del d['k']"
    namespace = load(source, lambda *_: seen.append((namespace["c"].__dict__.get("x"), len(l), len(d))))
    l, d = [], {}  # noqa: E741
    namespace["main"](l, d)
    assert seen == [(None, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1)]


def test_only_the_named_classes_are_rewritten():
    source = "class A:\n  def f(self): self.x = 1\nclass B:\n  def f(self): self.x = 1\ndef g(o): o.x = 1"
    tree = ast.parse(source)
    log = []
    code = compile(rewrite(tree, collect_facts(tree), only_classes=frozenset({"B"})), "m.py", "exec")
    namespace = {
        "__name__": "m",
        **make_hooks(lambda item, slot, write: log.append(type(item).__name__), gate_of(code)),
    }
    exec(code, namespace)
    namespace["A"]().f()
    namespace["B"]().f()
    namespace["g"](namespace["A"]())
    assert log == ["B"]


def test_tables_name_only_methods_that_exist():
    from kcache_stress.knowledge.tables import CONTAINERS

    for kind in (dict, list, set, collections.deque):
        public = {name for name in dir(kind) if not name.startswith("_")} - {"fromkeys", "maxlen"}
        assert public <= set(CONTAINERS[kind]), kind


DELEGATING = """
def inner():
    yield 1
    yield 2
def outer():
    yield from inner()
def loop():
    for x in outer(): pass
"""


def test_who_goes_on_in_a_generator_goes_on_in_those_that_it_delegates_to():
    seen = []
    module = load(DELEGATING, lambda item, slot, write: seen.append(item.gi_code.co_name) if write else None)
    started, resumed = ["outer", "outer", "inner", "inner"], ["outer", "inner"]
    module["loop"]()
    assert seen == [*started, *resumed * 2, *resumed * 2]  # each is said before it goes on, and when it does


def test_an_iterator_of_c_with_holes_in_it_can_be_looked_into():
    source = """
import itertools
L = [1]
def main():
    ended, started = itertools.zip_longest([], L), itertools.product(L, [])
    next(ended), next(started, None)
    seen = []
    for step in (*ended, *started): seen.append(step)
    return sum(x or 0 for x in itertools.chain(ended, started)), list(map(len, [ended] if 0 else []))
"""
    module = load(source, lambda *_: None)
    assert module["main"]() == (0, [])


def test_what_is_printed_where_somebody_reads_it_is_written_there():
    stream = io.StringIO()
    log = []
    main = load("def main(*all):\n    print(*all)\n", lambda item, _slot, write: log.append((item, write)))["main"]
    main()
    which = (sys.__dict__, 0)
    assert log == [which]
    log.clear()
    with contextlib.redirect_stdout(stream):
        main()
    assert log == [which, (stream, 1)]
