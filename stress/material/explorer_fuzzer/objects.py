"""Attributes, however one comes to them; classes, modules, closures."""

from __future__ import annotations

from .vocabulary import part

ATTRIBUTE = part(
    "attribute",
    "s.a = 0; s.kept = vars(s)",
    "s.a",
    """
    s.a = NUM
    s.a += NUM
    setattr(s, "a", NUM)
    [setattr][0](s, "a", NUM)
    object.__setattr__(s, "a", NUM)
    s.__setattr__("a", NUM)
    s.__dict__["a"] = NUM
    vars(s)["a"] = NUM
    s.kept["a"] = NUM
    s.__dict__.update(a=NUM)
    s.put_a(NUM)
    list(map(setattr, [s], ["a"], [NUM]))
    """,
    """
    s.a
    s.a, s.a
    getattr(s, "a", None)
    [getattr][0](s, "a")
    object.__getattribute__(s, "a")
    s.__dict__["a"]
    s.__dict__.get("a")
    vars(s)["a"]
    s.kept["a"]
    operator.attrgetter("a")(s)
    "{0.a}".format(s)
    f"{s.a}"
    s.get_a()
    functools.reduce(getattr, ["a"], s)
    """,
    methods="""
    def put_a(self, number):
        self.a = number
    def get_a(self):
        return self.a
    """,
)

PAIR = part(
    "pair",
    "s.p = Pair(); s.q = s.p",
    "(s.p.low, s.p.high)",
    """
    s.p.low = NUM
    s.p.high = NUM
    s.p.low, s.p.high = NUM, NUM
    s.p.put(NUM)
    s.p.reset()
    s.p.__init__()
    Plain.__init__(s.p)
    type(s.p).__init__(s.p)
    s.p.__dict__ = {"low": NUM, "high": NUM}
    s.p.__dict__.update(low=NUM, high=NUM)
    s.p.__setstate__({"low": NUM, "high": NUM})
    ff.write(s.p, NUM)
    s.p.low += 1; s.p.high += 1
    """,
    """
    (s.p.low, s.p.high)
    s.p.both()
    ff.read(s.p)
    (lambda p: (p.low, p.high))(copy.copy(s.p))
    "{0.low}{0.high}".format(s.p)
    tuple(vars(s.p).values())
    operator.attrgetter("low", "high")(s.p)
    [getattr(s.p, name) for name in ("low", "high")]
    tuple(map(s.p.__getattribute__, ("low", "high")))
    """,
    top="""
    class Plain:
        def __init__(self):
            self.low = 0
            self.high = 0
    class Pair(Plain):
        def reset(self):
            Plain.__init__(self)
        def put(self, number):
            self.low = number
            self.high = number
        def both(self):
            low = self.low
            return low, self.high
        def __setstate__(self, state):
            self.low = state["low"]
            self.high = state["high"]
    """,
)

INHERITED = part(
    "foreign base",
    "s.f = Derived(); s.shown = []",
    "(s.f.low, s.f.high, len(s.shown))",
    """
    s.f.fill(NUM)
    s.f.low = NUM
    s.f.high = NUM
    s.f.again(NUM)
    s.f.__init__(NUM)
    ff.Base.fill(s.f, NUM)
    Shown(s.shown, NUM)
    """,
    """
    (s.f.low, s.f.high)
    s.f.both()
    ff.Base.both(s.f)
    [getattr(shown, "number", None) for shown in list(s.shown)]
    """,
    top="""
    class Derived(ff.Base):
        def again(self, number):
            super().__init__(number)
    class Shown(ff.Registered):
        def __init__(self, where, number):
            super().__init__(where)
            nop()
            self.number = number
    """,
)

DATA = part(
    "dataclass",
    "s.t = Data(0, 0); s.w = [Data(1, 1), Data(2, 2)]",
    "(s.t.low, s.t.high, [(w.low, w.high) for w in s.w])",
    """
    s.t.low = NUM
    s.t.high = NUM
    s.t.low = NUM; s.t.high = NUM
    s.t.__init__(NUM, NUM)
    s.w[0].low = NUM
    s.w[1].low = NUM
    s.w[0].low = NUM; s.w[1].low = NUM
    s.w.append(dataclasses.replace(s.t))
    s.w.sort()
    """,
    """
    (s.t.low, s.t.high)
    repr(s.t)
    s.t == Data(0, 0)
    s.t < Data(NUM, 0)
    dataclasses.astuple(s.t)
    dataclasses.asdict(s.t)
    (lambda t: (t.low, t.high))(dataclasses.replace(s.t))
    (lambda t: (t.low, t.high))(copy.deepcopy(s.t))
    min(s.w).low
    Data(1, 1) in s.w
    """,
    top="""
    @dataclasses.dataclass(order=True)
    class Data:
        low: int
        high: int
    """,
)

OF_CLASS = part(
    "class attribute",
    "S.c = 0; s.kind = type(s); s.z = Other(); s.z.__class__ = Other",
    "(S.c, s.z.who())",
    """
    S.c = NUM
    S.c += NUM
    type(s).c = NUM
    s.__class__.c += NUM
    s.kind.c = NUM
    s.kind.c += 1
    setattr(type(s), "c", NUM)
    s.bump_c()
    change_c(type(s), NUM)
    s.z.__class__ = Another
    type.__setattr__(s.kind, "c", NUM)
    """,
    """
    S.c
    s.c
    type(s).c
    s.kind.c
    getattr(s.kind, "c")
    (S.c, s.c)
    S.__dict__["c"]
    vars(type(s))["c"]
    s.z.who()
    isinstance(s.z, Another)
    """,
    top="""
    class Other:
        def who(self):
            return "other"
    class Another:
        def who(self):
            return "another"
    def change_c(kind, number):
        kind.c = number
    """,
    methods="""
    c = 0
    @classmethod
    def bump_c(cls):
        cls.c += 1
    """,
)

GLOBAL = part(
    "module global",
    'globals()["g"] = 0; s.module = sys.modules.get(__name__) or types.SimpleNamespace(); s.names = globals()',
    "g",
    """
    globals()["g"] = NUM
    put_g(NUM)
    add_g(NUM)
    s.names["g"] = NUM
    globals().update(g=NUM)
    exec("g = NUM", globals())
    """,
    """
    g
    (g, g)
    globals()["g"]
    s.names["g"]
    eval("g")
    get_g()
    """,
    top="""
    g = 0
    def put_g(number):
        global g
        g = number
    def add_g(number):
        global g
        g += number
    def get_g():
        return g
    """,
)

CELL = part(
    "closure",
    "s.put_v, s.get_v, s.add_v = cells(); s.function = lambda a=0: a; s.cell = s.put_v.__closure__[0]",
    "(s.get_v(), s.function())",
    """
    s.put_v(NUM)
    s.add_v(NUM)
    s.cell.cell_contents = NUM
    s.put_v.__closure__[0].cell_contents = NUM
    s.function.__defaults__ = (NUM,)
    s.function.mark = NUM
    """,
    """
    s.get_v()
    s.cell.cell_contents
    s.get_v.__closure__[0].cell_contents
    s.function()
    s.function.__defaults__
    getattr(s.function, "mark", None)
    """,
    top="""
    def cells():
        v = 0
        def put(number):
            nonlocal v
            v = number
        def get():
            return v
        def add(number):
            nonlocal v
            v += number
        return put, get, add
    """,
)

PROPERTIES = part(
    "descriptor",
    "s.o = Owner()",
    "(s.o._x, s.o._y)",
    """
    s.o.x = NUM
    s.o.x += NUM
    del s.o.x
    s.o.any = NUM
    s.o._x = NUM
    s.o._y = NUM
    s.o.__dict__.pop("lazy", None)
    """,
    """
    s.o.x
    s.o.lazy
    s.o.missing
    (s.o._x, s.o._y)
    getattr(s.o, "x")
    s.o.lazy, s.o._x
    hasattr(s.o, "lazy_"), "lazy" in s.o.__dict__
    """,
    top="""
    class Owner:
        def __init__(self):
            self._x = 0
            self._y = 0
        @property
        def x(self):
            return self._x, self._y
        @x.setter
        def x(self, number):
            self._x = number if isinstance(number, int) else 1
            self._y = self._x
        @x.deleter
        def x(self):
            self._x = 0
            self._y = 0
        @functools.cached_property
        def lazy(self):
            x = self._x
            return x, self._y
        def __getattr__(self, name):
            if name == "missing":
                return self._x + self._y
            raise AttributeError(name)
    """,
)

OBJECTS = (ATTRIBUTE, PAIR, INHERITED, DATA, OF_CLASS, GLOBAL, CELL, PROPERTIES)
