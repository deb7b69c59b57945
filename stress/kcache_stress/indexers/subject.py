"""An implementation inside a sandbox, ready to be explored."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType

from kcache_model.errors import CannotExploreError
from kcache_model.finding import Finding
from kcache_model.indexers.driver import Driver
from kcache_model.indexers.items import Semantics
from kcache_model.indexers.journal import begin
from kcache_model.indexers.minimise import MinimiseBudget, minimise
from kcache_model.indexers.program import Program
from kcache_model.indexers.target import INDEXES, Target, make_target
from kcache_model.outcomes import Outcome
from kcache_model.progress import NoProgress, ProgressListener

from ..engine.audit import AuditShare
from ..engine.counterexample import Counterexample
from ..engine.execution import Problem
from ..engine.granularity import Granularity
from ..engine.schedule_replay import Replay
from ..loading import TARGET_PREFIX, load_target, named_packages
from ..modules.package_dependencies import packages_of
from ..modules.private_packages import existing, folder_of
from ..modules.roots import Roots
from ..modules.sandbox import Sandbox
from ..modules.sources import fingerprint_of
from ..runtime.threads.scheduler import Scheduler
from ..runtime.threads.virtual_thread import UncontrolledError
from ..target.confirmation import Answer, Confirmation, answer_of_runs
from ..target.explore import ExploreOptions
from ..target.investigation import RunnerAndJudge
from ..target.replay import follow
from ..target.replay_answer import SEARCH_SECONDS, Replayed
from ..target.replay_token import ReplayToken
from .findings import bare_finding, told_finding
from .probing import probe
from .program_judge import ProgramJudge
from .program_runner import ProgramRunner
from .programs.random_programs import explorer_program
from .stress import StressOptions, repeat

_REHEARSALS = 40
_CONFIRMING_SECONDS = 3.0


@dataclass(frozen=True)
class Subject:
    """A target and its sandbox.

    Attributes:
        target: makes Indexers from the instrumented copy of the modules.
        sandbox: where they live.
        granularity: where their threads may be switched.
        instrument: further packages that are instrumented.
        share: how much of what is done with it are audits.
    """

    target: Target
    sandbox: Sandbox
    granularity: Granularity
    instrument: tuple[str, ...] = ()
    share: AuditShare = field(default_factory=AuditShare, compare=False, repr=False)
    _strictly: Callable[[], Subject] | None = field(default=None, compare=False, repr=False)
    _others: dict[Granularity | None, Subject] = field(default_factory=dict, compare=False, repr=False)

    def settled(self) -> Subject:
        """The target as it is to be explored: loaded anew if a rehearsal meets code that is not instrumented.

        The rehearsal runs the target for the first time, once: it may hang, or end the process.
        """
        if self._strictly is None:
            return self
        if None not in self._others:
            self._others[None] = self._strictly() if _meets_unknown_code(self) else self
        return self._others[None]

    def at(self, granularity: Granularity) -> Subject:
        """The same target, with its threads switched elsewhere; loaded once."""
        if granularity is self.granularity:
            return self
        if granularity not in self._others:
            loaded = load_subject(
                self.target.name,
                instrument=self.instrument,
                granularity=granularity,
                unsupported=self.target.unsupported,
            )
            self._others[granularity] = loaded
        return self._others[granularity]

    def announce(self, program: Program, watch: ProgressListener) -> None:
        """Tell ``watch`` that a program is about to run."""
        begin(watch, program)

    @contextlib.contextmanager
    def open_runner(
        self, program: Program, *, strict_errors: bool = False, pulse: Callable[[], None] = lambda: None
    ) -> Iterator[RunnerAndJudge[Outcome]]:
        """The experiment of a program; ``pulse`` is called before each execution."""
        program = replace(program, may_evict=self.target.may_evict)
        runner = ProgramRunner(self.settled(), program, pulse=pulse)
        try:
            yield RunnerAndJudge(runner, ProgramJudge(program, runner.final_reads, strict_errors=strict_errors))
        finally:
            runner.clean_up()

    def smaller(self, program: Program, fails: Callable[[Program], bool], *, seconds: float, attempts: int) -> Program:
        """A program that fails still and is no larger."""
        return minimise(program, fails, MinimiseBudget(seconds, attempts))

    def finding(
        self,
        program: Program,
        problem: Problem,
        found: Counterexample[Outcome] | None = None,
        *,
        strict_errors: bool = False,
        detail: str = "",
    ) -> Finding:
        """The finding of a problem, with what the counterexample does where there is one."""
        if found is None:
            return bare_finding(program, problem)
        return told_finding(self.settled(), program, found, strict_errors=strict_errors, detail=detail)

    def confirmation(
        self,
        program: Program,
        finding: Finding,
        found: Counterexample[Outcome],
        watch: ProgressListener,
        *,
        is_seen: bool,
        strict_errors: bool,
    ) -> Confirmation:
        """Run a program with real threads for a while, if code ran in its counterexample that was not seen."""
        del found
        if is_seen:
            return Confirmation(Answer.NOT_TRIED)
        target = replace(load_target(self.target.name), unsupported=self.target.unsupported)
        options = StressOptions(seconds=_CONFIRMING_SECONDS, strict_errors=strict_errors)
        shown = repeat(target, program, options, watch).finding
        return answer_of_runs(finding.kind, None if shown is None else shown.kind)

    @property
    def scheduler(self) -> Scheduler:
        """What runs its threads."""
        return self.sandbox.scheduler

    @property
    def fingerprint(self) -> str:
        """Eight characters that change when the instrumented sources do."""
        return fingerprint_of(self.sandbox.sources)


def load_subject(
    spec: str,
    *,
    instrument: Iterable[str] = (),
    granularity: Granularity = Granularity.FREE,
    unsupported: Iterable[str] = (),
) -> Subject:
    """The target called ``pkg.mod:factory`` or ``path/to/file.py:factory``, instrumented.

    Args:
        spec: the name of the target.
        instrument: further packages to instrument beside the target's own.
        granularity: where threads may be switched.
        unsupported: what it is spared beside what it declares.

    Raises:
        TargetError: there is no such target.
        CannotExploreError: it cannot be scheduled.
    """
    real = probe(load_target(spec), Semantics.CLASSIC)
    location, _, name = spec.rpartition(":")
    file = Path(location).resolve() if location.endswith(".py") else None
    instrument = tuple(instrument)
    named = {*instrument, *named_packages(real.factory, spec)}
    existing(named)
    packages = named if file else named | {location.partition(".")[0]}
    roots = Roots(frozenset(packages), folder_of(location))
    sandbox, module = _loaded(roots, _made_of(real, roots), granularity, file or location)
    share = AuditShare()

    def of(module: ModuleType) -> Subject:
        found: object = module
        for part in name.split("."):
            found = getattr(found, part)
        if not sandbox.sources:
            raise CannotExploreError(f"{location} has no Python source")
        target = make_target(found, spec, real.unsupported.union(unsupported))  # type: ignore[arg-type]
        return Subject(target, sandbox, granularity, instrument, share)

    def strictly() -> Subject:
        sandbox.start_again()
        return of(sandbox.load(file or location))

    return replace(of(module), _strictly=None if granularity.is_of_opcodes else strictly)


def _meets_unknown_code(subject: Subject) -> bool:
    """Whether a rehearsal ran code that is not instrumented: then the modules have to be loaded with that in mind."""
    for seed in range(_REHEARSALS):
        # Outside of threads, a call that goes on for ever would do so unnoticed.
        program = replace(explorer_program(seed, subject.target, Semantics.CLASSIC), prefix=())
        runner = ProgramRunner(subject, program, reads_back=False)
        try:
            runner.run(Replay(()))
        except (Exception, UncontrolledError):  # a target that fails or hangs is told by whoever explores it
            break
        finally:
            runner.clean_up()
    return subject.sandbox.needs_reload


def _loaded(
    roots: Roots, more: frozenset[str], granularity: Granularity, module: str | Path
) -> tuple[Sandbox, ModuleType]:
    """The target's module, with the packages of what it makes instrumented, too, where that can be done."""
    sandbox = Sandbox(replace(roots, packages=roots.packages | more), granularity)
    try:
        return sandbox, sandbox.load(module)
    except CannotExploreError as error:
        if more and isinstance(error.__cause__, Exception):
            return _loaded(roots, frozenset(), granularity, module)
        raise


def _made_of(target: Target, roots: Roots) -> frozenset[str]:
    """The packages of what a target makes; of the real one, for it is about to be copied."""
    driver = Driver(target, () if INDEXES in target.unsupported else ("node",), Semantics.CLASSIC)
    found = packages_of(driver.indexer, lambda name: name.startswith(TARGET_PREFIX) or roots.contain(name))
    driver.close()
    return found


def replay_token(
    token: ReplayToken[Program], watch: ProgressListener | None = None, seconds: float = SEARCH_SECONDS
) -> Replayed:
    """What became of the finding about an Indexer that a replay token stands for.

    Raises:
        TargetError: there is no such target.
        CannotExploreError: it cannot be scheduled any more.
    """
    subject = load_subject(token.target, instrument=token.instrument, granularity=token.granularity)
    return follow(subject, token, watch or NoProgress(), [ExploreOptions(seconds=seconds)])
