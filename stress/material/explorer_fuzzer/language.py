"""Parts about the language: attribute methods, ``match``, modules, exceptions, partial functions."""

from __future__ import annotations

from .vocabulary import part

ATTRIBUTE_METHODS = part(
    "attribute methods",
    "s.sl = Slotted(); s.hk = Hooked(); Kinded.c = 0; s.kd = Kinded",
    "s.sl.x, s.sl.y, vars(s.hk), Kinded.c",
    """
    s.sl.x = NUM
    s.sl.x = NUM; s.sl.y = NUM
    object.__setattr__(s.sl, "x", NUM)
    object.__setattr__(s.hk, "n", NUM)
    Slotted.x.__set__(s.sl, NUM)
    type(s.sl).y.__set__(s.sl, NUM)
    s.hk.n = NUM
    s.hk.n += NUM
    s.hk.__setattr__("n", NUM)
    Hooked.__setattr__(s.hk, "n", NUM)
    object.__delattr__(s.hk, "n")
    type.__setattr__(s.kd, "c", NUM)
    type(s.kd).__setattr__(s.kd, "c", NUM)
    s.kd.c = NUM
    Kinded.c += NUM
    Kinded().__class__.c = NUM
    setattr(s.kd, "c" + "", NUM)
    """,
    """
    s.sl.x, s.sl.y
    object.__getattribute__(s.sl, "x")
    object.__getattribute__(s.hk, "n")
    Slotted.x.__get__(s.sl)
    Slotted.__dict__["y"].__get__(s.sl, Slotted)
    s.hk.n
    s.hk.n, s.hk.n
    getattr(s.hk, "n", None)
    hasattr(s.hk, "n")
    s.hk.__getattribute__("n")
    type.__getattribute__(s.kd, "c")
    Kinded.c, Kinded().c
    getattr(Kinded(), "c")
    operator.attrgetter("c")(s.kd)
    [name for name in dir(s.hk) if len(name) == 1]
    """,
    top="""
    class Slotted:
        __slots__ = ("x", "y")
        def __init__(self):
            self.x = 0
            self.y = 0
    class Hooked:
        def __init__(self):
            self.n = 0
        def __setattr__(self, name, value):
            super().__setattr__(name, value)
        def __getattribute__(self, name):
            return super().__getattribute__(name)
    class Kind(type):
        def __setattr__(cls, name, value):
            type.__setattr__(cls, name, value)
    class Kinded(metaclass=Kind):
        c = 0
    """,
)

MATCH = part(
    "match",
    's.pt = Point(0, 1); Point.LIMIT = 0; Point.__match_args__ = ("x", "y"); s.sq = [1, 2]; s.my = {"p": 1}',
    "s.pt.x, s.pt.y, s.sq, s.my",
    """
    s.pt.x = NUM
    s.pt.y = NUM
    s.pt = Point(NUM, NUM)
    Point.LIMIT = NUM
    Point.LIMIT = 1; s.pt.x = 1
    Point.__match_args__ = ("y", "x")
    s.sq.append(NUM)
    s.sq[0] = NUM
    s.sq.pop()
    s.my[KEY] = NUM
    s.my.pop(KEY, None)
    """,
    """
    by_position(s.pt)
    by_name(s.pt)
    by_value(s.pt.x)
    by_value(s.pt.y), by_value(1)
    by_shape(s.sq)
    by_shape(s.my)
    by_position(s.sq)
    """,
    top="""
    class Point:
        __match_args__ = ("x", "y")
        LIMIT = 0
        def __init__(self, x, y):
            self.x = x
            self.y = y
    def by_position(point):
        match point:
            case Point(first, second):
                return first, second
    def by_name(point):
        match point:
            case Point(y=1):
                return "one"
            case Point(x=x, y=y) if x < y:
                return x, y
    def by_value(number):
        match number:
            case Point.LIMIT:
                return "limit"
            case 1 | 2:
                return "few"
    def by_shape(item):
        match item:
            case [one, two]:
                return one, two
            case [one, *rest]:
                return one, rest
            case {"p": p, **rest}:
                return p, rest
    """,
)

MODULES = part(
    "modules",
    "s.named = made_plugin(0)",
    'getattr(s.named, "value", None), getattr(sys.modules.pop("fuzzed_plugin", None), "value", None)',
    """
    sys.modules["fuzzed_plugin"].value = NUM
    import fuzzed_plugin; fuzzed_plugin.value = NUM
    sys.modules.pop("fuzzed_plugin", None)
    made_plugin(NUM)
    s.named.value = NUM
    setattr(s.named, "value", NUM)
    vars(s.named)["value"] = NUM
    importlib.import_module("fuzzed_plugin").value = NUM
    import fuzzed_plugin; s.named = fuzzed_plugin
    """,
    """
    sys.modules["fuzzed_plugin"].value
    "fuzzed_plugin" in sys.modules
    getattr(sys.modules.get("fuzzed_plugin"), "value", None)
    s.named.value
    s.named.value, s.named.value
    imported()
    imported_name()
    importlib.import_module("fuzzed_plugin").value
    vars(s.named)["value"]
    s.named is sys.modules.get("fuzzed_plugin")
    """,
    top="""
    def made_plugin(number):
        made = types.ModuleType("fuzzed_plugin")
        made.value = number
        sys.modules["fuzzed_plugin"] = made
        return made
    def imported():
        import fuzzed_plugin
        return fuzzed_plugin.value
    def imported_name():
        from fuzzed_plugin import value
        return value
    def imported_names():
        from fuzzed_plugin import value, value as again
        return value, again
    """,
)

EXCEPTIONS = part(
    "exceptions",
    's.ex = ValueError(1); s.os = OSError(1, "x"); s.si = StopIteration(1); s.gr = ExceptionGroup("g", [s.ex])',
    's.ex.args, getattr(s.ex, "__notes__", None), s.os.errno, s.si.value, repr(s.ex.__cause__)',
    """
    s.ex.args = (NUM,)
    s.ex.args = (NUM, NUM)
    s.ex.add_note("NUM")
    s.ex.extra = NUM
    s.ex.__cause__ = KeyError(NUM)
    s.ex.__init__(NUM)
    s.ex.__notes__ = ["NUM"]
    s.os.errno = NUM
    s.os.strerror = "NUM"
    s.si.value = NUM
    s.ex = ValueError(NUM)
    raised(s.ex)
    """,
    """
    s.ex.args
    s.ex.args, s.ex.args
    str(s.ex)
    repr(s.ex)
    f"{s.ex}"
    getattr(s.ex, "__notes__", None)
    getattr(s.ex, "extra", None)
    s.ex.__cause__ is None
    raised(s.ex)
    str(s.os)
    s.os.errno, s.os.strerror
    s.si.value
    [str(each) for each in s.gr.exceptions]
    traceback.format_exception_only(s.ex)
    """,
    top="""
    def raised(error):
        try:
            raise error
        except ValueError as caught:
            return caught.args
    """,
)

PARTIALS = part(
    "partial",
    's.pa = functools.partial(pair_of, x=1); s.nested = functools.partial(s.pa, y=2); s.gt = operator.itemgetter("p");'
    ' s.pd = {"p": 1}; s.pm = Methods()',
    "s.pa(), s.nested(), s.pd",
    """
    s.pa.keywords["x"] = NUM
    s.pa.keywords.update(x=NUM, y=NUM)
    s.pa.keywords.pop("x", None)
    s.nested.keywords["x"] = NUM
    s.pa = functools.partial(pair_of, y=NUM)
    s.pa = functools.partial(s.pa, y=NUM)
    s.pa.mark = NUM
    s.pm.put_number()
    s.pm.number = NUM
    s.pd["p"] = NUM
    """,
    """
    s.pa()
    s.pa(y=NUM)
    s.pa.keywords["x"]
    sorted(s.pa.keywords)
    s.nested()
    s.nested.keywords["x"]
    list(map(s.pa, [NUM]))
    copy.copy(s.pa)()
    functools.partial(s.pa, y=NUM)()
    getattr(s.pa, "mark", None)
    s.pm.number
    s.gt(s.pd)
    s.gt(s.pa.keywords | {"p": 0})
    """,
    top="""
    def pair_of(x=0, y=0):
        return x, y
    class Methods:
        number = 0
        def put(self, number):
            self.number = number
        put_number = functools.partialmethod(put, 7)
    """,
)

LANGUAGE = (ATTRIBUTE_METHODS, MATCH, MODULES, EXCEPTIONS, PARTIALS)
