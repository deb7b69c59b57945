"""Parts about iterators in C: over shared sources, and shared themselves."""

from __future__ import annotations

from .vocabulary import part

CHAINED_ITERATORS = part(
    "chained iterators",
    "s.la = [1, 2]; s.lb = [3, 4]; s.ch = itertools.chain(s.la, s.lb); s.re = reversed(s.la);"
    " s.ac = itertools.accumulate(s.la); s.is_ = itertools.islice(s.la, 1, None); s.pw = itertools.pairwise(s.la);"
    " s.tw = itertools.takewhile(bool, s.lb); s.en = enumerate(s.lb); s.mp = map(operator.add, s.la, s.lb)",
    "s.la, s.lb, list(s.ch), list(s.en), list(s.mp)",
    """
    s.la.append(NUM)
    s.lb.append(NUM)
    s.la.insert(0, NUM)
    s.lb[0] = NUM
    s.la.reverse()
    s.la.clear()
    next(s.ch, None)
    next(s.en, None)
    s.ch = itertools.chain(s.la, [NUM])
    s.mp = map(operator.sub, s.la, s.la)
    s.lb.extend(itertools.chain(s.la, s.la))
    s.lb[:] = map(operator.add, s.la, s.lb)
    """,
    """
    list(map(operator.add, s.la, s.lb))
    list(itertools.chain(s.la, s.lb))
    list(itertools.chain.from_iterable([s.la, s.lb]))
    list(itertools.islice(s.la, 1))
    list(itertools.accumulate(s.la))
    list(itertools.takewhile(bool, s.la))
    list(itertools.dropwhile(bool, s.lb))
    list(itertools.pairwise(s.la))
    list(itertools.zip_longest(s.la, s.lb))
    list(itertools.starmap(pow, zip(s.la, s.lb)))
    list(itertools.compress(s.la, s.lb))
    list(itertools.product(s.la, s.lb))
    [key for key, _ in itertools.groupby(s.la)]
    [list(each) for each in itertools.tee(s.la)]
    list(reversed(s.la))
    list(enumerate(s.la))
    next(s.ch, None)
    next(s.re, None)
    next(s.ac, None)
    next(s.is_, None)
    next(s.pw, None)
    next(s.en, None)
    next(s.mp, None)
    list(s.ac)
    list(s.pw)
    list(s.tw)
    sum(s.ch)
    [number for number in s.mp]
    """,
)

SOURCES = part(
    "iterator sources",
    's.at = 0; s.gg = counted(s); s.st = iter("abc"); s.ra = iter(range(3)); s.ix = iter(Indexed(s));'
    ' s.dv = {"p": 1, "q": 2}; s.ks = s.dv.keys(); s.vs = s.dv.values(); s.mv = iter(memoryview(b"ab"));'
    " s.cs = iter(s.upwards, 3); s.un = struct.iter_unpack('b', b'ab')",
    "s.at, sorted(s.dv.items()), list(s.st)",
    """
    s.at = NUM
    s.at += 1
    s.dv[KEY] = NUM
    s.dv["r"] = NUM
    s.dv.pop(KEY, None)
    s.dv.clear()
    next(s.st, None)
    next(s.ix, None)
    next(s.gg, None)
    s.gg = counted(s)
    s.gg.close()
    s.ks = {"p": NUM}.keys()
    """,
    """
    list(zip(s.gg, s.gg))
    next(s.gg, None)
    list(s.gg)
    list(iter(s.upwards, 3))
    next(s.cs, None)
    list(itertools.islice(s.cs, 2))
    next(s.st, None)
    "".join(s.st)
    list(zip(s.st, s.st))
    next(s.ra, None)
    list(s.ra)
    next(s.ix, None)
    list(s.ix)
    next(s.mv, None)
    next(s.un, None)
    [key for key in s.ks]
    sorted(s.ks)
    len(s.ks), "q" in s.ks
    s.ks & {"p", "r"} == {"p"}
    sum(s.vs)
    list(s.vs)
    list(reversed(s.dv))
    dict(zip(s.ks, s.vs))
    dict(map(reversed, s.dv.items()))
    """,
    top="""
    class Indexed:
        def __init__(self, s):
            self.s = s
        def __getitem__(self, index):
            if index > 1:
                raise IndexError(index)
            return self.s.at + index
    def counted(s):
        for _ in (1, 2):
            yield s.at
    """,
    methods="""
    def upwards(self):
        self.at = min(self.at + 1, 3)
        return self.at
    """,
)

C_ITERATORS = (CHAINED_ITERATORS, SOURCES)
