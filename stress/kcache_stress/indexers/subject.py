"""Subject: an implementation of an Indexer in a sandbox, ready to be explored."""

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
        target: creates Indexers from the instrumented copies of the modules.
        sandbox: contains these copies.
        granularity: the places at which threads may be switched.
        instrument: further packages that are instrumented.
        share: the budget of audits for the searches of this target.
    """

    target: Target
    sandbox: Sandbox
    granularity: Granularity
    instrument: tuple[str, ...] = ()
    share: AuditShare = field(default_factory=AuditShare, compare=False, repr=False)
    _strictly: Callable[[], Subject] | None = field(default=None, compare=False, repr=False)
    _others: dict[Granularity | None, Subject] = field(default_factory=dict, compare=False, repr=False)

    def settled(self) -> Subject:
        """Return the target ready for exploration; it is reloaded if a rehearsal requires that.

        A reload is required if ``sandbox.needs_reload`` is true, for example because code ran that is not
        instrumented. The rehearsal runs once, in the first call of this method. It is the first time that programs run
        in the sandbox: they may hang, or end the process.
        """
        if self._strictly is None:
            return self
        if None not in self._others:
            self._others[None] = self._strictly() if _meets_unknown_code(self) else self
        return self._others[None]

    def at(self, granularity: Granularity) -> Subject:
        """Return the same target at another granularity. Each granularity is loaded once."""
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
        """Report to ``watch`` that a program is about to run."""
        begin(watch, program)

    @contextlib.contextmanager
    def open_runner(
        self, program: Program, *, strict_errors: bool = False, pulse: Callable[[], None] = lambda: None
    ) -> Iterator[RunnerAndJudge[Outcome]]:
        """Yield the runner and the judge of a program; ``pulse`` is called before each execution."""
        program = replace(program, may_evict=self.target.may_evict)
        runner = ProgramRunner(self.settled(), program, pulse=pulse)
        try:
            yield RunnerAndJudge(runner, ProgramJudge(program, runner.final_reads, strict_errors=strict_errors))
        finally:
            runner.clean_up()

    def smaller(self, program: Program, fails: Callable[[Program], bool], *, seconds: float, attempts: int) -> Program:
        """Return a program that still fails and is not larger than ``program``.

        Args:
            program: a program that fails.
            fails: whether a smaller candidate fails.
            seconds: time limit in seconds.
            attempts: most candidates to try.
        """
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
        """Return the finding of a problem; if there is a counterexample, with its interleaving and replay token."""
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
        """Run a program on real threads for a few seconds, and compare the result with the finding.

        If ``is_seen`` (the explorer observed all code of the counterexample), nothing runs: the answer is
        ``NOT_TRIED``. The counterexample itself is not used.
        """
        del found
        if is_seen:
            return Confirmation(Answer.NOT_TRIED)
        target = replace(load_target(self.target.name), unsupported=self.target.unsupported)
        options = StressOptions(seconds=_CONFIRMING_SECONDS, strict_errors=strict_errors)
        shown = repeat(target, program, options, watch).finding
        return answer_of_runs(finding.kind, None if shown is None else shown.kind)

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler of its threads."""
        return self.sandbox.scheduler

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the instrumented sources: eight characters that change when a source changes."""
        return fingerprint_of(self.sandbox.sources)


def load_subject(
    spec: str,
    *,
    instrument: Iterable[str] = (),
    granularity: Granularity = Granularity.FREE,
    unsupported: Iterable[str] = (),
) -> Subject:
    """Load the target called ``pkg.mod:factory`` or ``path/to/file.py:factory`` into a sandbox, instrumented.

    Args:
        spec: the name of the target.
        instrument: further packages to instrument, in addition to the package of the target.
        granularity: the places at which threads may be switched.
        unsupported: operations and features that are not tested, in addition to the ones that the target declares.

    Raises:
        TargetError: there is no such target.
        CannotExploreError: the target cannot be explored, for example because it has no Python source.
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
    """Whether the modules must be reloaded after a rehearsal, which runs random programs, once each.

    The rehearsal ends early if a run raises an exception or gets out of control.
    """
    for seed in range(_REHEARSALS):
        # No prefix: its calls run outside of threads, where an endless call would not be detected.
        program = replace(explorer_program(seed, subject.target, Semantics.CLASSIC), prefix=())
        runner = ProgramRunner(subject, program, reads_back=False)
        try:
            runner.run(Replay(()))
        except (Exception, UncontrolledError):  # the exploration will report a target that fails or hangs
            break
        finally:
            runner.clean_up()
    return subject.sandbox.needs_reload


def _loaded(
    roots: Roots, more: frozenset[str], granularity: Granularity, module: str | Path
) -> tuple[Sandbox, ModuleType]:
    """Return a sandbox and the module of the target.

    The packages in ``more`` are instrumented as well. If loading then fails because of an exception, the module is
    loaded without them.
    """
    sandbox = Sandbox(replace(roots, packages=roots.packages | more), granularity)
    try:
        return sandbox, sandbox.load(module)
    except CannotExploreError as error:
        if more and isinstance(error.__cause__, Exception):
            return _loaded(roots, frozenset(), granularity, module)
        raise


def _made_of(target: Target, roots: Roots) -> frozenset[str]:
    """Return the packages of the objects in an Indexer, except for ``roots``.

    The Indexer is created by the original modules, because the copies do not exist yet.
    """
    driver = Driver(target, () if INDEXES in target.unsupported else ("node",), Semantics.CLASSIC)
    found = packages_of(driver.indexer, lambda name: name.startswith(TARGET_PREFIX) or roots.contain(name))
    driver.close()
    return found


def replay_token(
    token: ReplayToken[Program], watch: ProgressListener | None = None, seconds: float = SEARCH_SECONDS
) -> Replayed:
    """Replay the finding of a replay token about an Indexer, and return the result.

    Args:
        token: the replay token.
        watch: receives the programs that run.
        seconds: time limit in seconds of the search that runs if the schedule of the token shows no problem any more.

    Raises:
        TargetError: there is no such target.
        CannotExploreError: the target cannot be explored any more.
    """
    subject = load_subject(token.target, instrument=token.instrument, granularity=token.granularity)
    return follow(subject, token, watch or NoProgress(), [ExploreOptions(seconds=seconds)])
