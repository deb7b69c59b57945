"""Containers of any origin, operations that call back, iterators, objects of packages that nobody instruments."""

from __future__ import annotations

from .vocabulary import part

_CALLS_BACK = """
class Item:
    def __init__(self, s, number):
        self.s = s
        self.number = number
    def __eq__(self, other):
        return isinstance(other, Item) and self.number == other.number and self.s.n >= 0
    def __hash__(self):
        return hash(self.number) if self.s.n < 50 else 7
    def __lt__(self, other):
        return (self.number < other.number) == (self.s.n % 2 == 0)
    def __index__(self):
        return self.s.n
    def __repr__(self):
        return f"<{self.s.n} {self.number} {self.s.n}>"
    def __bool__(self):
        return self.s.n > 0
"""

DICT = part(
    "dict",
    's.d = {"p": 1}',
    "sorted(s.d.items())",
    """
    s.d[KEY] = NUM
    s.d[KEY] = len(s.d)
    s.d.pop(KEY, None)
    s.d.pop("p" + "", None)
    s.d.setdefault(KEY, NUM)
    s.d.update({"p": NUM, "q": NUM})
    s.d.update(p=NUM)
    s.d |= {"r": NUM}
    s.d.clear()
    s.d = {KEY: NUM}
    s.d.popitem()
    """,
    """
    s.d.get(KEY)
    KEY in s.d
    len(s.d)
    s.d[KEY]
    sorted(s.d)
    list(s.d.items())
    dict(s.d)
    {**s.d}
    s.d == {"p": 1}
    [key for key in s.d]
    next(iter(s.d), None)
    max(s.d.values(), default=0)
    s.d.pop(KEY, 0)
    s.d.keys() & {"p", "q"} == {"p"}
    """,
)

SUBCLASS = part(
    "dict subclass",
    's.m = KIND(); s.m["p"] = 1',
    "sorted(s.m.items())",
    """
    s.m[KEY] = NUM
    s.m.pop(KEY, None)
    s.m.pop("p" + "", None)
    s.m.setdefault(KEY, NUM)
    s.m.update({"p": NUM, "q": NUM})
    s.m.update(q=NUM)
    s.m.clear()
    """,
    """
    s.m.get(KEY)
    KEY in s.m
    len(s.m)
    s.m[KEY]
    sorted(s.m)
    sorted(s.m.items())
    s.m.setdefault(KEY, NUM)
    """,
    top="""
    class Own(dict):
        def __setitem__(self, key, value):
            super().__setitem__(key, value)
        def __missing__(self, key):
            return len(self)
    class OwnUser(collections.UserDict):
        def __setitem__(self, key, value):
            super().__setitem__(key, value)
    class OwnForeign(ff.Dict):
        pass
    """,
)
KINDS = (
    "Own", "OwnUser", "OwnForeign", "ff.Dict", "ff.User", "collections.OrderedDict", "collections.UserDict",
    "collections.Counter", "collections.ChainMap", "functools.partial(collections.defaultdict, int)",
)  # fmt: skip
"""What stands for KIND."""

LIST = part(
    "list",
    "s.l = [1, 2]",
    "list(s.l)",
    """
    s.l.append(NUM)
    s.l.insert(0, NUM)
    s.l.extend([NUM, NUM])
    s.l.extend(number for number in (NUM, NUM))
    s.l.pop()
    s.l.pop(0 + 0)
    s.l[0] = NUM
    s.l[:] = [NUM]
    s.l += [NUM]
    s.l.sort(reverse=True)
    s.l.reverse()
    del s.l[0]
    s.l = [NUM]
    operator.methodcaller("append", NUM)(s.l)
    ff.put(s.l, NUM)
    list(map(s.l.append, [NUM]))
    """,
    """
    list(s.l)
    len(s.l)
    s.l[0]
    s.l[-1]
    sum(s.l)
    sorted(s.l)
    [*s.l]
    1 in s.l
    s.l.index(1)
    s.l[:1]
    list(reversed(s.l))
    ",".join(map(str, s.l))
    list(zip(s.l, s.l))
    (lambda first, *rest: (first, rest))(*s.l)
    max(s.l, default=0)
    """,
)

OTHERS = part(
    "other containers",
    's.u = {1}; s.k = collections.deque([1]); s.y = bytearray(b"a"); s.r = array.array("i", [1]); s.h = []',
    "sorted(s.u), list(s.k), bytes(s.y), s.r.tolist(), s.h",
    """
    s.u.add(NUM)
    s.u.discard(1 + 0)
    s.u |= {NUM}
    s.u.update([NUM])
    s.k.append(NUM)
    s.k.appendleft(NUM)
    s.k.popleft()
    s.k.rotate(1 + 0)
    s.y.append(NUM)
    s.y.extend(b"bc")
    s.r.append(NUM)
    s.r.extend(array.array("i", [NUM]))
    heapq.heappush(s.h, NUM)
    bisect.insort(s.h, NUM)
    memoryview(s.y)[0] = NUM
    """,
    """
    len(s.u), 1 in s.u
    sorted(s.u)
    s.u & {1}
    len(s.k)
    list(s.k)
    s.k[-1]
    len(s.y)
    bytes(s.y)
    len(s.r)
    s.r.tolist()
    heapq.nsmallest(1, s.h)
    bisect.bisect(s.h, 3)
    s.k.pop()
    """,
)

CALLBACKS = part(
    "calls back",
    "s.n = 0; s.i = [Item(s, 1), Item(s, 2)]; s.e = {Item(s, 1): 1}; s.v = collections.defaultdict(s.count_n)",
    "s.n, [item.number for item in s.i], len(s.e), sorted(s.v.items())",
    """
    s.n = NUM
    s.n += 1
    s.i.append(Item(s, NUM))
    s.i.remove(Item(s, 1))
    s.i.sort()
    s.i.sort(key=s.key_n)
    s.i.extend(s.items_n())
    s.e[Item(s, NUM)] = NUM
    s.e.pop(Item(s, 1), None)
    s.v["q"] = NUM
    heapq.heappush(s.i, Item(s, NUM))
    bisect.insort(s.i, Item(s, NUM))
    s.e.update((item, NUM) for item in s.items_n())
    """,
    """
    s.n
    Item(s, 1) in s.i
    s.i.index(Item(s, 2))
    s.i.count(Item(s, 1))
    s.e.get(Item(s, 1))
    s.v["p"]
    [item.number for item in sorted(s.i)]
    max(s.i, key=s.key_n).number
    [repr(item) for item in s.i]
    [1, 2, 3][Item(s, 1)]
    any(s.i)
    list(map(s.key_n, s.i))
    json.dumps(s.i, default=s.key_n)
    [item.number for item in filter(s.key_n, s.i)]
    sum(map(s.key_n, s.i))
    functools.reduce(s.both_n, s.i, 0)
    """,
    top=_CALLS_BACK,
    methods="""
    def count_n(self):
        n = self.n
        return n, self.n
    def key_n(self, item):
        return self.n + item.number
    def items_n(self):
        for _ in (1, 2):
            yield Item(self, self.n)
    def both_n(self, total, item):
        return total + self.n + item.number
    """,
)

ITERATORS = part(
    "iterator",
    "s.it = iter([1, 2, 3, 4]); s.ge = numbers(s); s.at = 0; s.ct = itertools.count(); s.zi = zip([1, 2], [4, 5])",
    "list(s.it), s.at, next(s.ct)",
    """
    s.it = iter([NUM, NUM])
    for _ in s.it: break
    next(s.it, None)
    s.it.__next__()
    s.at = NUM
    s.ge = numbers(s)
    s.it = itertools.chain(s.it, [NUM])
    next(s.ct)
    """,
    """
    next(s.it, None)
    next(s.it, 0), next(s.it, 0)
    [number for number in s.it]
    list(zip(s.it, s.it))
    list(itertools.islice(s.it, 2))
    sum(s.it)
    ",".join(map(str, s.it))
    (lambda first=0, *rest: (first, rest))(*s.it)
    max(s.it, default=0)
    2 in s.it
    s.it.__next__()
    next(s.ge, None)
    list(s.ge)
    next(s.ct)
    next(s.ct), next(s.ct)
    next(s.zi, None)
    dict(zip(s.it, s.it))
    list(map(operator.add, s.it, s.it))
    """,
    top="""
    def numbers(s):
        for _ in (1, 2):
            yield s.at
            s.at += 1
    """,
)

PUBLISHED = part(
    "published",
    's.rows = []; s.table = {"p": []}; s.by = {}',
    "s.rows, sorted(s.table.items()), sorted(s.by.items())",
    """
    s.rows = rows = []; rows.append(NUM); rows.append(NUM)
    rows = [NUM]; s.rows = rows; rows.append(NUM)
    s.by.setdefault("k", found := []); found.append(NUM)
    row = []; s.table["p"] = row; row.append(NUM)
    s.table["p"].append(NUM)
    s.by = by = {}; by["k"] = [NUM]; by["l"] = [NUM]
    by = {}; row = by["k"] = []; s.rows = by["k"]; row.append(NUM); row.append(NUM)
    by = {}; row = by["k"] = []; s.by = by; row.append(NUM); row.append(NUM)
    by = {}; row = by["k"] = []; row.append(NUM); row.append(NUM); s.by = by
    s.rows.append(NUM)
    row = {}; s.table["q"] = row; row["a"] = NUM; row["b"] = NUM
    s.rows, rows = [], s.rows; rows.append(NUM)
    """,
    """
    list(s.rows)
    len(s.rows)
    len(s.table["p"])
    list(s.table["p"])
    sorted(s.by)
    len(s.table.get("q", ()))
    [list(row) for row in s.table.values()]
    copy.deepcopy(s.table)
    """,
)

NESTED = part(
    "nested",
    's.ng = [[0], [0]]; s.nw = {"a": s.ng[0], "b": [5]}; s.np = (s.ng[0], s.ng[1]); s.nf = {1}; s.nj = {2}',
    "s.ng, s.nw, s.np, sorted(s.nf), sorted(s.nj)",
    """
    s.ng[0].append(NUM)
    s.ng[1].append(NUM)
    s.ng[0].insert(0, NUM)
    s.ng[1].insert(0, NUM)
    s.ng[0][0] = NUM
    s.ng[1][0] = NUM
    s.ng.append([NUM])
    s.ng.reverse()
    s.ng.sort()
    s.ng[0], s.ng[1] = s.ng[1], s.ng[0]
    s.ng[0].extend(s.ng[1])
    s.ng[1] += s.ng[0]
    s.nw["b"].append(NUM)
    s.nw["b"] = s.ng[1]
    s.np = ([NUM], s.ng[1])
    list(map(list.append, s.ng, [NUM, NUM]))
    for row in s.ng: row.append(NUM)
    s.nf.add(NUM)
    s.nj.add(NUM)
    s.nf |= s.nj
    s.nj.update(s.nf)
    """,
    """
    repr(s.ng)
    str(s.nw)
    f"{s.np}"
    "%s %s" % s.np
    "%s %s" % (s.ng[1], s.ng[0])
    "{} {}".format(s.ng, s.nw)
    s.ng == [[0], [0]]
    s.ng[0] == s.ng[1]
    s.np == ([0], [0])
    s.nw == {"a": [0], "b": [5]}
    (s.ng[0], s.ng[1]) < ([0], [1])
    [0] in s.ng
    [0] in s.np
    s.ng[0] in [[0], [1]]
    s.ng.count([0])
    [len(row) for row in sorted(s.ng)]
    max(s.ng)[0]
    sum(s.ng, [])
    list(map(len, s.ng))
    list(map(tuple, s.np))
    list(map(sum, s.nw.values()))
    list(itertools.chain(*s.ng))
    list(itertools.chain.from_iterable(s.ng))
    list(zip(*s.ng))
    [pair for pair in zip(s.ng[1], s.ng[0])]
    [*s.ng[0], *s.ng[1]]
    s.ng[0] + s.ng[1]
    functools.reduce(operator.add, s.ng)
    dict(zip("ab", map(tuple, s.ng)))
    any(map(len, s.ng))
    sorted(s.nf | s.nj)
    sorted(s.nf.union(s.nj))
    s.nf == s.nj
    s.nf.isdisjoint(s.nj), len(s.nf)
    """,
)

FOREIGN = part(
    "foreign object",
    's.b = ff.Store(); s.b.put("p", 1); s.names = ["p", "q"]; s.io = io.StringIO(); s.ns = types.SimpleNamespace(a=0)',
    "sorted(s.b.kept.items()), s.b.size, s.io.getvalue(), s.ns.a",
    """
    s.b.put(KEY, NUM)
    s.b[KEY] = NUM
    s.b.put(s.names[0], NUM)
    s.b.take(s.names[0])
    s.b.take("p" + "")
    s.b.take(KEY)
    s.b.grow(NUM)
    s.b.move("p", "q")
    s.b.size = NUM
    s.io.write("NUM")
    s.io.seek(0 + 0)
    s.ns.a = NUM
    s.ns.a += 1
    s.ns.__dict__["a"] = NUM
    """,
    """
    s.b.get(KEY)
    s.b.get("p" + "")
    s.b.get(s.names[0])
    s.b[KEY]
    KEY in s.b
    len(s.b)
    list(s.b)
    s.b.size
    s.b.size, s.b.size
    sorted(s.b.kept)
    s.b.each(str)
    s.io.getvalue()
    s.io.read(1)
    s.ns.a
    s.b.take(KEY)
    """,
)

LIBRARY = part(
    "standard library",
    "s.ra = random.Random(1); s.lo = Cached(); s.lo.get.cache_clear(); s.si = functools.singledispatch(str);"
    ' s.co = collections.Counter(a=1); s.cp = configparser.ConfigParser(); s.cp.read_dict({"x": {"a": "0"}});'
    " s.es = contextlib.ExitStack(); s.fr = []",
    's.ra.random(), s.lo.calls, sorted(s.co.items()), s.cp["x"]["a"], s.si(1), s.fr',
    """
    s.ra.random()
    s.ra.seed(NUM)
    s.lo.get(1)
    s.lo.get.cache_clear()
    s.lo.calls = NUM
    s.co.update("ab")
    s.co["a"] += NUM
    s.co.subtract(a=NUM)
    s.cp.set("x", "a", "NUM")
    s.cp["x"]["a"] = "NUM"
    s.si.register(int, lambda _: NUM)
    s.es.callback(s.fr.append, NUM)
    s.es.close()
    """,
    """
    s.ra.random()
    s.ra.randint(1, 9)
    s.lo.get(1)
    s.lo.calls
    s.co["a"]
    s.co.most_common(1)
    sum(s.co.values())
    s.cp.get("x", "a")
    dict(s.cp["x"])
    s.si(1)
    len(s.fr)
    """,
    top="""
    class Cached:
        def __init__(self):
            self.calls = 0
        @functools.lru_cache
        def get(self, number):
            self.calls += 1
            return number + self.calls
    """,
)

CONTAINERS = (DICT, SUBCLASS, LIST, OTHERS, CALLBACKS, ITERATORS, PUBLISHED, NESTED, FOREIGN, LIBRARY)
