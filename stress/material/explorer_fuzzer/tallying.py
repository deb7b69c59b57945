"""Runs many programs and counts what became of them, by the state that they are about."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kcache_stress.engine.granularity import Granularity

from .comparing import Comparison, Effort, Verdict, compare
from .generator import Design, design
from .shrinking import Signature, contains, signature, smallest

WRONG = (Verdict.MISSING, Verdict.EXTRA, Verdict.DIVERGED)
_REDUCED = (*WRONG, Verdict.GAP)
"""Verdicts whose programs are reduced to the smallest form, one of each kind."""
_EFFORTS = {
    Verdict.MISSING: Effort(executions=500, double=60, extra=0),
    Verdict.EXTRA: Effort(executions=500, double=200, extra=6_000),
    Verdict.DIVERGED: Effort(),
    Verdict.GAP: Effort(),
}
"""How closely it is looked again."""


@dataclass(frozen=True)
class Found:
    """A difference, made small.

    Attributes:
        seed: of the module.
        design: two threads.
        comparison: of these.
    """

    seed: int
    design: Design
    comparison: Comparison


@dataclass
class Tally:
    """What became of programs.

    Attributes:
        verdicts: by part and granularity.
        found: the differences, one of each kind.
        programs: how many pairs were compared.
        known: what they are made of.
        kinds: how many kinds there are, by part.
        most_kinds: how many of a part are made small; more are counted only.
    """

    verdicts: defaultdict[tuple[str, Granularity], Counter[Verdict]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    found: list[Found] = field(default_factory=list)
    programs: int = 0
    most_kinds: int = 10
    known: dict[tuple[Verdict, Granularity], list[Signature]] = field(default_factory=dict)
    kinds: Counter[tuple[str, Granularity, Verdict]] = field(default_factory=Counter)

    def run(self, seed: int, folder: Path, on_found: Callable[[Found], None] = lambda _: None) -> None:
        """Compare all programs of one module."""
        drawn = design(seed)
        seen = set()
        for comparison in compare(drawn, folder, f"fuzzed_{seed}"):
            seen.add(comparison.pair)
            verdict = comparison.verdict
            if verdict in _REDUCED:
                verdict = self._look_closer(seed, drawn, comparison, folder, on_found)
            self.verdicts[drawn.parts[0].name, comparison.granularity][verdict] += 1
        self.programs += len(seen)

    def _look_closer(
        self, seed: int, drawn: Design, comparison: Comparison, folder: Path, on_found: Callable[[Found], None]
    ) -> Verdict:
        """What it is after all; a difference of a kind that is not known yet is made small."""
        known = self.known.setdefault((comparison.verdict, comparison.granularity), [])
        found = signature(drawn, comparison.pair)
        about = drawn.parts[0].name, comparison.granularity, comparison.verdict
        if self.kinds[about] >= self.most_kinds or any(contains(found, other) for other in known):
            return comparison.verdict

        def again(candidate: Design, pair: tuple[int, int] = (0, 1)) -> Comparison:
            return next(
                compare(
                    candidate, folder, f"smaller_{seed}", pairs=[pair], granularities=[comparison.granularity],
                    effort=_EFFORTS[comparison.verdict],
                )
            )  # fmt: skip

        closer = again(drawn, comparison.pair)
        if closer.verdict not in _REDUCED:
            return closer.verdict
        small = smallest(drawn, comparison.pair, lambda candidate: again(candidate).verdict is closer.verdict)
        known = self.known.setdefault((closer.verdict, comparison.granularity), [])
        shown = again(small)
        if signature(small) not in known and shown.verdict in _REDUCED:
            known.append(signature(small))
            self.kinds[about] += 1
            self.found.append(Found(seed, small, shown))
            on_found(self.found[-1])
        return closer.verdict

    def table(self) -> str:
        """Counts as text."""
        columns = list(Verdict)
        lines = [" | ".join(["part".ljust(22), "gran", *columns])]
        for (part, granularity), counts in sorted(self.verdicts.items()):
            cells = [str(counts[column]).rjust(len(column)) for column in columns]
            lines.append(" | ".join([part.ljust(22), granularity.value.ljust(4), *cells]))
        total = sum(self.verdicts.values(), Counter())
        lines.append(
            " | ".join(["all".ljust(22), "    ", *(str(total[column]).rjust(len(column)) for column in columns)])
        )
        return "\n".join(lines)


def described(found: Found) -> str:
    """A difference as text: the program, and what is missing or too much."""
    comparison = found.comparison
    which = "the interpreter alone" if comparison.verdict is Verdict.MISSING else "the explorer alone"
    lines = [
        f"# {comparison.verdict.value} at {comparison.granularity.value}; module {found.seed};"
        f" {comparison.executions[0]} executions of the explorer, {comparison.executions[1]} of the interpreter",
        *(f"#   {which}: {one}" for one in comparison.outcomes[:4]),
        *(f"#   the explorer: {one}" for one in comparison.explored[:6]),
        f"#   schedule: {comparison.schedule}",
        f"#   note: {comparison.note}",
        found.design.source(),
    ]
    return "\n".join(lines)
