"""Parts about the standard library: attributes that only it writes, copies, contexts, dispatch, collections."""

from __future__ import annotations

from .vocabulary import part

LIBRARY_ATTRIBUTES = part(
    "library attributes",
    's.qu = queue.Queue(3); s.th = threading.Thread(target=len, args=("",), name="first", daemon=False);'
    " s.se = threading.Semaphore(1); s.ba = threading.Barrier(1)",
    "s.qu.unfinished_tasks, s.qu.maxsize, s.th.name, s.th.daemon, s.se._value",
    """
    s.qu.put_nowait(NUM)
    s.qu.get_nowait()
    s.qu.task_done()
    s.qu.maxsize = NUM
    s.th.name = "NUM"
    s.th.daemon = True
    s.th.start(); s.th.join()
    s.se.release()
    s.se.acquire(blocking=False)
    s.ba.abort()
    s.ba.wait()
    """,
    """
    s.qu.unfinished_tasks
    s.qu.unfinished_tasks, s.qu.unfinished_tasks
    s.qu.maxsize
    s.qu.full()
    s.qu.empty(), s.qu.qsize()
    len(s.qu.queue)
    s.th.name
    s.th.daemon
    s.th.ident is None
    s.th.is_alive()
    repr(s.th.name), s.th.native_id is None
    s.se._value
    s.ba.broken
    s.ba.n_waiting, s.ba.parties
    """,
    locks=True,
)

COPIES = part(
    "copies",
    "s.og = Original(); s.memo = {}; s.li = [[1], [2]]; s.dd = Detail(0, [1]); s.fz = Frozen(0)",
    "s.og.low, s.og.high, len(s.memo), s.li, s.dd, s.fz",
    """
    s.og.low = NUM; s.og.high = NUM
    s.og.low = NUM
    s.li[0].append(NUM)
    s.li[0].append(NUM); s.li[1].append(NUM)
    s.li.append([NUM])
    copy.deepcopy(s.li, s.memo)
    s.memo.clear()
    s.dd.low = NUM
    s.dd.row.append(NUM)
    s.dd.row = [NUM]
    s.dd = dataclasses.replace(s.dd, low=NUM)
    object.__setattr__(s.fz, "low", NUM)
    """,
    """
    of_original(copy.copy(s.og))
    of_original(copy.deepcopy(s.og))
    copy.deepcopy(s.li)
    copy.copy(s.li)
    copy.deepcopy(s.li, s.memo)
    copy.deepcopy((s.li, s.li))
    s.li.copy()
    dataclasses.asdict(s.dd)
    dataclasses.astuple(s.dd)
    dataclasses.replace(s.dd, low=NUM)
    dataclasses.replace(s.dd).row
    copy.copy(s.dd)
    copy.deepcopy(s.dd)
    dataclasses.replace(s.fz).low
    hash(s.fz) == hash(Frozen(0))
    [field.name for field in dataclasses.fields(s.dd)]
    """,
    top="""
    class Original:
        def __init__(self):
            self.low = 0
            self.high = 0
    def of_original(copied):
        return copied.low, copied.high
    @dataclasses.dataclass
    class Detail:
        low: int
        row: list
    @dataclasses.dataclass(frozen=True)
    class Frozen:
        low: int
    """,
)

CONTEXTS = part(
    "contexts",
    "s.nc = contextlib.nullcontext(0); s.door = Door(); s.cl = contextlib.closing(s.door); s.level = 0;"
    " s.sp = contextlib.suppress(KeyError)",
    "s.nc.enter_result, s.door.closed, s.cl.thing.closed, s.level",
    """
    s.nc.enter_result = NUM
    s.nc.__init__(NUM)
    s.cl.thing = Door()
    s.nc = contextlib.nullcontext(NUM)
    s.level = NUM
    s.door.closed = NUM
    with s.cl: pass
    with s.cl as door: door.closed += NUM
    with s.nc as got: s.level = got
    with s.raised_level(): s.level += NUM
    with contextlib.closing(s.door): s.level += 1
    with contextlib.nullcontext(s.door) as door: door.closed = NUM
    s.sp._exceptions = (ValueError,)
    """,
    """
    s.nc.enter_result
    entered(s.nc)
    entered(s.cl).closed
    entered(s.raised_level())
    entered(contextlib.nullcontext(s.level))
    s.cl.thing.closed
    s.door.closed
    s.level
    suppressed(s.sp)
    """,
    top="""
    class Door:
        def __init__(self):
            self.closed = 0
        def close(self):
            self.closed += 1
    def entered(context):
        with context as got:
            return got
    def suppressed(context):
        with context:
            raise KeyError
        return "suppressed"
    """,
    methods="""
    @contextlib.contextmanager
    def raised_level(self):
        self.level += 1
        try:
            yield self.level
        finally:
            self.level -= 1
    """,
)

DISPATCH = part(
    "dispatch",
    "s.di = functools.singledispatch(lambda _: 0); s.lz = Lazy(); s.kept = functools.lru_cache(s.next_kept); s.ke = 0",
    "s.di(1), s.lz.base, s.lz.lazy, s.ke",
    """
    s.di.register(int, lambda _: NUM)
    s.di.register(object, lambda _: NUM)
    s.lz.base = NUM
    s.lz.base = NUM; s.lz.__dict__.pop("lazy", None)
    s.lz.__dict__.pop("lazy", None)
    vars(s.lz).pop("lazy", None)
    s.lz.lazy = NUM
    s.lz.forget()
    s.kept(1)
    s.kept.cache_clear()
    s.ke = NUM
    """,
    """
    s.di(1)
    s.di("1")
    s.di.dispatch(int)(1)
    int in s.di.registry, len(s.di.registry)
    s.lz.lazy
    s.lz.lazy, s.lz.base
    "lazy" in s.lz.__dict__
    s.kept(1)
    s.kept(1), s.kept(2)
    s.kept.cache_info()[:2]
    s.lz.of(1), s.lz.of("1")
    """,
    top="""
    class Lazy:
        def __init__(self):
            self.base = 0
        @functools.cached_property
        def lazy(self):
            return self.base + 1
        def forget(self):
            with contextlib.suppress(AttributeError):
                del self.lazy
        @functools.singledispatchmethod
        def of(self, item):
            return self.base
        @of.register
        def _(self, item: int):
            return self.base + item
    """,
    methods="""
    def next_kept(self, number):
        self.ke += 1
        return self.ke + number
    """,
)

COLLECTIONS = part(
    "collections",
    's.cn = collections.Counter("aab"); s.cm = collections.ChainMap({}, {"p": 1}); s.ud = collections.UserDict(p=1);'
    " s.ul = collections.UserList([1, 2]); s.od = collections.OrderedDict(p=1, q=2)",
    "sorted(s.cn.items()), sorted(s.cm.items()), sorted(s.ud.items()), list(s.ul), list(s.od.items())",
    """
    s.cn.update("a")
    s.cn.subtract("ab")
    s.cn["a"] += NUM
    s.cn += collections.Counter("b")
    s.cm[KEY] = NUM
    s.cm.pop(KEY, None)
    s.cm.maps.append({"r": NUM})
    s.cm.maps[1]["p"] = NUM
    s.cm = s.cm.new_child({"q": NUM})
    s.ud.update(p=NUM)
    s.ud.data["p"] = NUM
    s.ud |= {"q": NUM}
    s.ul.append(NUM)
    s.ul.data.append(NUM)
    s.ul.insert(0, NUM)
    s.od.move_to_end("p")
    s.od.popitem(last=False)
    s.od[KEY] = NUM
    """,
    """
    s.cn.most_common(1)
    s.cn.total()
    sorted(s.cn.elements())
    s.cn & collections.Counter("ab")
    s.cn["c"], s.cn["a"]
    s.cm["p"]
    sorted(s.cm.items())
    len(s.cm), s.cm.get("r")
    s.cm.parents.get("p")
    s.ud.get(KEY)
    s.ud["p"], len(s.ud)
    dict(s.ud)
    s.ul[0], len(s.ul)
    s.ul + [1] == [1, 2, 1]
    sorted(s.ul)
    list(s.od)
    list(reversed(s.od))
    s.od == collections.OrderedDict(p=1, q=2)
    """,
)

NAMESPACES = part(
    "namespaces",
    "s.an = argparse.Namespace(a=0); s.sn = types.SimpleNamespace(a=0, b=[1])",
    "sorted(vars(s.an).items()), sorted(vars(s.sn).items())",
    """
    s.an.a = NUM
    s.an.a += 1
    setattr(s.an, "b", NUM)
    vars(s.an).update(a=NUM)
    s.sn.a = NUM
    s.sn.a += 1
    s.sn.b.append(NUM)
    setattr(s.sn, "a" + "", NUM)
    vars(s.sn)["a"] = NUM
    s.sn.__init__(a=NUM)
    s.sn.__dict__.update(a=NUM, c=NUM)
    del s.sn.a
    """,
    """
    s.an.a
    "b" in s.an
    s.an == argparse.Namespace(a=1)
    repr(s.an)
    vars(s.an)["a"]
    getattr(s.an, "b", None)
    s.sn.a
    s.sn.a, s.sn.b[0]
    s.sn == types.SimpleNamespace(a=0, b=[1])
    repr(s.sn)
    sorted(vars(s.sn))
    getattr(s.sn, "c", None)
    copy.copy(s.sn).a
    """,
)

OF_LIBRARY = (LIBRARY_ATTRIBUTES, COPIES, CONTEXTS, DISPATCH, COLLECTIONS, NAMESPACES)
