"""Sandbox: private, instrumented copies of the modules under test, in their own virtual world.

Packages that they import are copied without instrumentation if they lock (:mod:`.private_packages`), so that their
locks are virtual, too. The real modules are not patched: the rest of the process keeps using them. While copies are
imported, and whenever their code imports a module, they replace the real modules in ``sys.modules``.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from kcache_model.errors import CannotExploreError, TargetError
from kcache_model.foreign import is_a, own_attributes

from ..engine.events import READ, WRITE, AtomicAccesses, Pending, Trace, forget_types
from ..engine.granularity import Granularity
from ..engine.weak_objects import weakly
from ..instrument.code import instrumented, instrumented_library, read, with_virtual_dates
from ..instrument.facts import Facts
from ..instrument.hooks import HOOK_MARK, make_hooks, silent
from ..instrument.names import hook_name
from ..runtime.stand_ins.dates import dates
from ..runtime.stand_ins.environment import Environment
from ..runtime.stand_ins.process_settings import ProcessSettings
from ..runtime.threads.library import Replaced, make_builtins, make_importlib, make_plain_functools
from ..runtime.threads.opcode_tracer import OpcodeTracer
from ..runtime.threads.scheduler import Scheduler
from ..runtime.threads.shared_locks import SharedLocks
from ..runtime.threads.standstill import not_watched
from ..runtime.threads.uncontrolled import ABSENT, STAND_INS, stand_in
from ..runtime.world import PRIVATE_MODULES, World
from . import earlier_load
from .first_load import FIRST_LOAD
from .foreign_code import ForeignCodeMonitor, codes_within
from .late_imports import LateImports
from .loaders import Finder, LoadedOnceError, load_file, refusal
from .observer import Observer
from .ownership import Ownership
from .present import Present
from .private_modules import PrivateModules
from .private_packages import HARNESS, LIBRARY, Kind, find, kind_of, unit_of
from .roots import Roots, Seen
from .sources import observes_deaths
from .uncertainty import late_finalizer, made_time, unseen_code, unseen_opcodes

_OF_THE_PROCESS = (HARNESS | sys.stdlib_module_names) - LIBRARY
_NOTHING = contextlib.nullcontext()
_MOST_ATTEMPTS = 20
_WATCHED_FIRST = 32
_WATCHED_EVERY = 61
"""Executions that are watched if only known code seems to run: the first 32, every 61st, and the first of each kind of
program. The others are not watched, because watching makes an execution several times slower."""


class Sandbox:
    """Private copies of modules, with their scheduler and virtual world.

    Args:
        roots: the modules that are copied and instrumented. Other packages that they import are copied without
            instrumentation if they lock, and shared with the process if they do not.
        granularity: the places at which threads may be switched.
        expected: modules that will be loaded later: if their facts are known from the start, nothing is loaded twice.

    Attributes:
        scheduler: runs the threads. granularity: see the argument. loops: the event loops of the execution.
        owned: decides which modules are copied.
        sources: path -> source of each instrumented module.
        opaque: modules below the roots that have no Python source: each call of their code counts as one access.
        codes: id of a code object -> the code object, for all instrumented code.
        foreign_code: watches the threads for code that is not instrumented. network: their sockets and pipes.
        is_strict: whether such code was met: nothing that it may change is then assumed to be constant.
        absent: packages that count as not installed for the code under test, and that it has tried to import.
        late: the modules that executions import.
        observer: records what the threads touch; ``None`` in almost all executions.
    """

    def __init__(
        self, roots: Roots, granularity: Granularity = Granularity.FREE, expected: Sequence[str | Path] = ()
    ) -> None:
        self.owned = Ownership(roots)
        self.granularity = granularity
        self.scheduler = Scheduler(steps_are_events=granularity is Granularity.FREE)
        if granularity.is_of_opcodes:
            self.scheduler.tracer = OpcodeTracer(self.scheduler, with_gil=granularity is Granularity.OPCODES_GIL)
        self.sources: dict[str, bytes] = {}
        self.opaque: list[str] = []
        self.codes: dict[int, CodeType] = {}
        self.foreign_code = ForeignCodeMonitor(self.scheduler, self.codes)
        self.scheduler.is_patient = self.foreign_code.is_patient
        self.is_strict = False
        self.while_loading: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext
        self.late = LateImports(self.scheduler)
        self._watched: set[Hashable] = set()
        self.observer: Observer | None = None
        self.absent: set[str] = set()
        self._executions, self._grown = 0, False
        self._encountered: set[str] = set()
        self._units_met: set[str | None] = set()
        self._stand_ins: dict[str, ModuleType] = {}
        self._settings = ProcessSettings()
        self._is_scouting, self._loads_as_first = not granularity.is_of_opcodes, False
        self._expected = expected
        self.locks = SharedLocks(lambda name: self._world.module(name), self.owned.shares_locks)
        self._facts = self._settled_facts = self._facts_read = Facts()
        self._start_over()

    def load(self, module: str | Path) -> ModuleType:
        """Return a private copy of a module, by name or file; copy all modules below the roots that it imports.

        Raises:
            CannotExploreError: the module uses something that cannot be scheduled, or raises while it is imported.
        """
        if self._facts != self._settled_facts:
            self._start_over()  # modules imported since then write names that were assumed to be constant
        key = (self.owned.roots, module, *self._expected) if self._is_scouting and self._facts == Facts() else ()
        earlier = earlier_load.EARLIER_LOADS.get(key)
        if earlier is not None:
            self._facts = self._settled_facts = earlier.facts
            self.owned.kinds.update(earlier.kinds)
            self._is_scouting = False
        for _ in range(_MOST_ATTEMPTS):
            known, was_scouting = self._facts, self._is_scouting
            self._facts_read = Facts()
            try:
                with self._importing():
                    for other in self._expected if was_scouting else ():
                        self._load(other)
                    loaded = self._load(module)
                    self.late.load()
            except LoadedOnceError:
                if self._loads_as_first or not FIRST_LOAD.known:
                    raise
                self._loads_as_first = True
                self._start_over()
                continue
            if not self.granularity.is_of_opcodes:
                self._learn(Facts(derivations=frozenset(self._metaclasses())))
            self._settled_facts = self._facts
            if earlier is not None and not earlier.fits(self._facts_read, self._units_met):
                self._facts, self._is_scouting, earlier = Facts(), True, None
                self.owned.kinds.clear()
                self._encountered.clear()
                self._start_over()
                continue
            if not was_scouting and self._facts == known and not self._grown:
                self.foreign_code.know(known)
                if key and key[0] == self.owned.roots and not self._loads_as_first:
                    earlier_load.EARLIER_LOADS[key] = earlier_load.EarlierLoad(
                        known, self._facts_read, dict(self.owned.kinds)
                    )
                return loaded
            # Later modules write names that were assumed to be constant in earlier ones: load again with these facts.
            self._is_scouting, self._grown = self._grown, False
            self._start_over()
        raise CannotExploreError("its modules differ each time they are loaded")

    def _learn(self, facts: Facts) -> None:
        self._facts, self._facts_read = self._facts.merge(facts), self._facts_read.merge(facts)

    def _metaclasses(self) -> Iterator[tuple[str, str]]:
        """Yield ``(name, "type")`` for each metaclass in the instrumented modules."""
        for kind in self._classes():
            if issubclass(kind, type):
                yield kind.__name__, "type"

    @property
    def seen(self) -> Seen:
        """The visibility of the code that was loaded so far."""
        kinds: dict[Kind, list[str]] = {kind: [] for kind in Kind}
        for unit, kind in sorted(self.owned.kinds.items()):
            kinds[kind].append(unit)
        return Seen(
            tuple(sorted(filter(self.owned.is_instrumented, self._modules.private.keys() - set(self.opaque)))),
            tuple(kinds[Kind.VIRTUAL]),
            tuple(kinds[Kind.PLAIN]),
            tuple(sorted({*kinds[Kind.NATIVE], *self.opaque})),
        )

    @property
    def private_modules(self) -> list[ModuleType]:
        """The copies that were created so far."""
        return list(self._modules.private.values())

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Context in which imports find the private copies; threads are not switched at opcodes in it."""
        with self._untraced(), self._modules.active():
            yield

    def present(self) -> Present:
        """Return the context of an execution: ``sys.modules`` contains the copies that imports find."""
        return Present(self._modules, self._environment, self.locks)

    def unheard(self) -> Replaced:
        """Return a context in which instrumented code reports nothing, for use after the threads have ended."""
        return self._unheard

    @property
    def needs_reload(self) -> bool:
        """Whether unknown code ran, names were bound that the facts exclude, or modules were imported late."""
        return bool(self.foreign_code.entered or self.foreign_code.rebound or self.late.are_new)

    def imported_late(self, name: str) -> ModuleType | None:
        """Return the private module if code of the process imports one during an execution; ``None`` for others."""
        self._meet(name)
        if not self.owned.is_private(name):
            return None
        with self.active():
            module = importlib.import_module(name)
        sys.modules.pop(name, None)  # otherwise the import system uses the spec of this module, and loads it again
        return module

    @property
    def is_loading(self) -> bool:
        """Whether a module is being loaded; if not, an execution may be in progress."""
        return self._modules.is_active

    def start_again(self, *, is_strict: bool = False) -> None:
        """Discard all copies; the next :meth:`load` uses the facts of the executions so far.

        If unknown code was met, or with ``is_strict``, the sandbox becomes strict: such code may write all it reaches.
        """
        rebound = frozenset(self.foreign_code.rebound)
        self._facts = self._facts.merge(Facts(class_level=rebound, written_globals=rebound))
        if self.foreign_code.entered or is_strict:
            self.is_strict = self.foreign_code.reports = True
            self._facts = self._facts.merge(Facts(everything_mutable=True, init_escapes=True, reconstructs=True))
        self.foreign_code.entered.clear()
        self.foreign_code.rebound.clear()
        self.late.settle()
        self._start_over()

    def watch_now_and_then(self, works: Iterable[object] = (), *, program: Hashable) -> None:
        """Decide before an execution whether the monitor watches it: if unknown code runs, or may run.

        Args:
            works: functions that define the work of the threads; their files count as part of the harness.
            program: key of the kind of program. The first execution of each kind is watched: its code may be new.
        """
        for work in works:
            self.foreign_code.trust(work)
        self._executions += 1
        self.foreign_code.forget()
        if self.granularity not in (Granularity.FREE, Granularity.GIL) or not self.foreign_code.is_needed:
            return  # accesses are not reported, or do not matter: watching has no use
        is_due = self._executions <= _WATCHED_FIRST or self._executions % _WATCHED_EVERY == 0
        watches = self.is_strict or is_due or program not in self._watched
        self._watched.add(program)
        self.scheduler.watcher = self.foreign_code.watch if watches else None
        if self.observer is not None:
            self.observer.begin()

    @property
    def proof_obstacles(self) -> tuple[str, ...]:
        """Reasons why the last execution is no part of a proof, in any order of events: ``FILE:LINE: what``."""
        unreported = () if self.is_strict else self.foreign_code.entered  # unknown code that no event reports
        return tuple(dict.fromkeys((*self.scheduler.proof_obstacles, *self.foreign_code.disproof, *unreported)))

    def unseen(self, trace: Trace, hurry: str = "") -> str:
        """Return why real threads may be unable to repeat an execution; ``hurry`` if set; empty without a reason."""
        if hurry:
            return hurry
        if self.granularity.is_of_opcodes:  # no event marks unknown code: all code is traced
            files = {getattr(module, "__file__", None) for module in self._modules.private.values()}
            unseen = unseen_opcodes(
                trace, lambda code: code.co_filename not in files and self.foreign_code.is_opaque(code)
            )
        else:
            unseen = unseen_code(trace) if self.is_strict else next(iter(self.foreign_code.entered), "")
        return (
            f"code that is not instrumented may hold locks: {unseen}"
            if unseen
            else made_time(trace) or late_finalizer(trace, self._classes() if self.granularity.is_of_opcodes else ())
        )

    def _classes(self) -> Iterator[type]:
        """Yield the classes in the instrumented modules: at opcode granularity, events do not name objects."""
        for name in filter(self.owned.is_instrumented, self._modules.private):
            names = own_attributes(self._modules.private[name])
            yield from (value for value in list(names.values()) if is_a(value, type))

    def _touch_together(self, parts: tuple[Pending, ...]) -> None:
        step = AtomicAccesses(tuple((kind, weakly(obj), slot) for kind, obj, slot in parts))
        self.scheduler.access(step, step, max(kind for kind, _, _ in parts))

    def report_call(self, callee: object) -> None:
        """Report a call that the harness is about to perform: callees in C report nothing themselves."""
        self._hooks.get(hook_name("call"), lambda _: None)(callee)

    def reset(self, program_actors: int = 0, random_seed: int = 0) -> None:
        """Unwind the threads of the last execution, and prepare for a program with ``program_actors`` threads."""
        self.unwind(program_actors)
        self._world.forget_threads(program_actors, random_seed)
        if (logging := self._modules.private.get("logging")) is not None:
            logging._lock._at_fork_reinit()  # a thread that was unwound outside of an exploration may still hold it
            logging.root.manager._clear_cache()  # the cache of levels, which each logger fills when it is first used

    def unwind(self, program_actors: int = 0) -> None:
        """Unwind the threads of the last execution, and undo what it has changed in the process."""
        self.scheduler.reset(program_actors)
        self._environment.start_over()
        self.locks.start_over()

    def _start_over(self) -> None:
        if self._loads_as_first:
            FIRST_LOAD.take_back()
        self.sources.clear()
        self.opaque.clear()
        forget_types()
        scheduler = self.scheduler
        self._hooks: dict[str, Any] = {
            Granularity.FREE: lambda: make_hooks(scheduler.access, self.foreign_code, together=self._touch_together),
            Granularity.GIL: lambda: make_hooks(scheduler.note, self.foreign_code, scheduler.pause),
            Granularity.SYNC: lambda: make_hooks(scheduler.note, self.foreign_code),
        }.get(self.granularity, dict[str, object])()
        self._hooks[hook_name("clock")] = dates(lambda: self._world.module("time").time())
        is_rewritten = not self.granularity.is_of_opcodes
        self._plain_functools: ModuleType | None = None
        self._builtins = make_builtins(self._import, self._hooks, self.scheduler)
        self._unheard = Replaced(*((self._builtins, name, hook) for name, hook in silent(self._hooks).items()))
        self._report: Any = self._hooks.get(hook_name("report"), lambda *_: None)
        library = make_importlib(self._meet, self.active, self._report_import)
        own = {"builtins": self._builtins, "importlib": library, "importlib.util": vars(library)["util"]}
        self._world = World(self.scheduler, self._compile_library if is_rewritten else None, self._hooks, own)
        self.network = self._world.network
        self._environment = Environment(self.scheduler, self.network, self._settings, self._world.module)
        self.loops, self.foreign_code.serves_loop = self._environment.loops, self._environment.loops.serves
        self._modules = PrivateModules(self.owned.is_private, Finder(self), self._units, self.is_copy)
        self.locks.renew()

    def _compile_library(self, parse: Callable[[], ast.Module], path: str, only: frozenset[str] | None) -> CodeType:
        return self._note(instrumented_library(parse, path, self.granularity, only))

    def _note(self, code: CodeType) -> CodeType:
        self.codes.update((id(part), part) for part in codes_within(code))
        return code

    def compile(self, source: bytes, path: str) -> CodeType:
        """Return the code of a module, instrumented; unchanged if only facts are collected, which is much faster.

        The time does not count as a standstill: code under test may import the module during an execution.
        """
        with self.while_loading(), not_watched():
            return self._compiled(source, path)

    def _compiled(self, source: bytes, path: str) -> CodeType:
        reading = read(source, path)
        if reading.builds_on_the_reference and "kcache" not in self.owned.roots.packages:
            self.owned.add_root("kcache")
            self._grown = True
            self._modules.judge_again("kcache")
        self.sources[path] = source
        self.scheduler.lets_die = self.scheduler.lets_die or observes_deaths(source, path)
        if not self.granularity.is_of_opcodes:
            self._learn(reading.facts)
        if self.granularity.is_of_opcodes or self._is_scouting:
            return self._note(with_virtual_dates(source, path))
        return self._note(instrumented(source, path, self.granularity, self._facts))

    def prepare(self, module: ModuleType, *, instrumented: bool) -> None:
        """Set the globals that the code of a private module needs: builtins, and the mark of instrumented code."""
        if instrumented:
            module.__dict__[HOOK_MARK] = True
        module.__dict__["__builtins__"] = vars(self._builtins)

    def _import(
        self,
        name: str,
        globals: Any = None,
        locals: Any = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        if not level:
            if name == "functools" and self.owned.is_virtual((globals or {}).get("__name__", "")):
                return self._functools_as_it_is()
            self._meet(name, fromlist or ())
        names, package = fromlist or (), (globals or {}).get("__package__")
        self._report_import(whole := importlib.util.resolve_name("." * level + name, package))
        is_there = self._modules.holds(whole, names)
        is_alone = self._modules.has_own_finders and not is_there
        with _NOTHING if is_there else self.active(), self.late.undisturbed(name) if is_alone else _NOTHING:
            module = builtins.__import__(name, globals, locals, names, level)
        for each in names:
            self._report(vars(module), each, READ)
        return module

    def _report_import(self, name: str) -> None:
        """Report that an import looks a module up, and adds it if it is absent."""
        self._report(sys.modules, name, READ if name in sys.modules else WRITE)

    def _functools_as_it_is(self) -> ModuleType:
        self._plain_functools = self._plain_functools or make_plain_functools(self.world_module("functools"))
        return self._plain_functools

    def _meet(self, name: str, children: Sequence[str] = ()) -> None:
        """Decide the kind of a module that is about to be imported; raise ModuleNotFoundError if it is in ABSENT."""
        top = name.partition(".")[0]
        if top in ABSENT:
            self.absent.add(top)
            raise ModuleNotFoundError(
                f"{top} starts its own threads, which cannot be scheduled: it is left out", name=name
            )
        if top in _OF_THE_PROCESS or top in self.owned.roots.packages or name in self._encountered:
            return
        self._encountered.add(name)
        with self.outside():
            self._decide(name)
            for child in children if find(name) is not None and name not in self.owned.kinds else ():
                self._decide(f"{name}.{child}")  # `name` is a namespace package

    def _decide(self, name: str) -> None:
        unit = unit_of(name, self.owned.is_instrumented)
        self._units_met.add(unit)
        if unit is not None and unit not in self.owned.kinds:
            kind = self.owned.kinds[unit] = kind_of(unit, self.owned.is_instrumented)
            if kind is Kind.PLAIN and self._loads_as_first and unit not in FIRST_LOAD.known:
                self.owned.kinds[unit] = Kind.VIRTUAL  # the target may have registered itself in the package
            self._modules.judge_again(unit)
            if self.owned.is_shared(unit):
                self.locks.cover_unit(unit)

    @contextlib.contextmanager
    def _importing(self) -> Iterator[None]:
        """Context in which modules are loaded; CannotExploreError if one raises or replaces parts of ``threading``."""
        scheduler = self.scheduler
        before, scheduler.loading = scheduler.loading, True
        try:
            with self.active(), self.locks, FIRST_LOAD.recorded() if self._loads_as_first else contextlib.nullcontext():
                yield
        except (CannotExploreError, TargetError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise refusal(error) from error
        finally:
            scheduler.loading = before
        self._settings.keep()
        replaced = self._world.replaced()
        if replaced or self._modules.private.get("threading") not in (None, self._world.module("threading")):
            raise CannotExploreError(
                f"it replaces threading{replaced and '.'}{replaced}, so its threads are not controlled"
            )

    def _load(self, module: str | Path) -> ModuleType:
        if isinstance(module, Path):
            return load_file(module, self)
        self._meet(module)
        try:
            return importlib.import_module(module)
        except ImportError:
            # Modules with cyclic imports may need to be imported in the same order as in the process.
            top = module.partition(".")[0]
            earlier = [name for name in self._modules.real if name.partition(".")[0] == top != name != module]
            if not earlier:
                raise
            for name in earlier:
                importlib.import_module(name)
            return importlib.import_module(module)

    def is_copy(self, module: object) -> bool:
        """Whether a module is a copy of this sandbox."""
        return own_attributes(module).get("__builtins__") is vars(self._builtins)

    def ready(self, name: str) -> ModuleType | None:
        """Return the module of the virtual world called ``name``; ``None`` if there is none."""
        if name in STAND_INS:
            if name not in self._stand_ins:
                with self.outside():
                    real = importlib.import_module(name)
                self._stand_ins[name] = stand_in(real, self.scheduler)
            return self._stand_ins[name]
        return self._world.module(name) if name in PRIVATE_MODULES else None

    def world_module(self, name: str) -> ModuleType:
        """Return a module of the virtual world, such as ``threading``."""
        return self._world.module(name)

    @contextlib.contextmanager
    def outside(self) -> Iterator[None]:
        """Context in which imports find the real modules; threads are not switched at opcodes in it."""
        with self._untraced(), self.locks.suspended(), self._modules.outside():
            yield

    def _untraced(self) -> contextlib.AbstractContextManager[None]:
        return _NOTHING if (tracer := self.scheduler.tracer) is None else tracer.paused()

    def _units(self) -> Iterator[str]:
        """Yield the packages that are copied, each with all modules below it."""
        yield from self.owned.roots.packages
        yield from (unit for unit, kind in self.owned.kinds.items() if kind is Kind.VIRTUAL)
