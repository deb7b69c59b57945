"""Completeness of a run: which methods were called and returned, which were left out, and why.

An ``ok`` covers only the methods that were called. Therefore it requires that each public method returned normally at
least once, or that the user named the method in ``leave_out``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kcache_model.object_types.method_call import result_name
from kcache_model.object_types.plain_driver import INCOMPARABLE, NOT_CALLED
from kcache_model.outcomes import WAITED

Coverage = Mapping[str, Mapping[str, int]]
"""Name of a call -> ``ok`` or the error -> how often."""

_Reasons = tuple[tuple[str, str], ...]
"""The name of a method and the reason, for each method."""

_OFTEN: Final = 1 / 3
"""The share of a method's calls that raise, from which on it is reported. It is the share of one bad value in three."""
_FEW_CALLS: Final = 10
"""The number of calls below which the share is not meaningful."""
_WITH_REASON: Final = re.compile(r"(?P<name>[\w.]+) ?\((?P<reason>.*)\)", re.DOTALL)
_NOT_COMPARED: Final = re.compile(r"what (?P<name>[\w. ]+) returns \((?P<reason>.*)\)", re.DOTALL)
_NOT_BY_THREADS: Final = re.compile(r"(?P<name>[\w.]+) by threads \((?P<reason>.*)\)", re.DOTALL)


@dataclass(frozen=True)
class MethodsReport:
    """The methods of a target, by what a run did with them.

    Attributes:
        called: methods that were called and returned at least once.
        left_out: methods that never returned, each with the reason; without a reason if the user left it out.
        not_compared: methods whose results were not judged, each with the reason.
        not_by_threads: methods that were called, but not while another thread called one, each with the reason.
        mostly_raised: methods that raised in many of their calls, each with the error and how often.
    """

    called: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    not_compared: tuple[tuple[str, str], ...] = ()
    not_by_threads: tuple[tuple[str, str], ...] = ()
    mostly_raised: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is known about methods."""
        return any((self.called, self.left_out, self.not_compared, self.not_by_threads, self.mostly_raised))

    @property
    def missing(self) -> tuple[tuple[str, str], ...]:
        """The methods that a verdict does not cover although the user did not leave them out, each with the reason."""
        return tuple((name, reason) for name, reason in self.left_out if reason)


def by_call(counts: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    """Return counted calls by their names: (name, ``ok`` or the error) -> how often."""
    nested: dict[str, dict[str, int]] = {}
    for (name, result), count in sorted(counts.items()):
        nested.setdefault(name, {})[result] = count
    return nested


def counted_calls(by_name: Coverage) -> Counter[tuple[str, str]]:
    """Invert :func:`by_call`."""
    return Counter({(name, result): count for name, results in by_name.items() for result, count in results.items()})


def methods_report(calls: Sequence[str], not_tested: Iterable[str], coverages: Iterable[Coverage]) -> MethodsReport:
    """Report for each method of a target whether it was called and judged.

    Methods of objects that calls return are not required: if they were not called, they are listed as not compared.

    Args:
        calls: the names of all calls that the target offers; empty if the target's type requires no completeness.
        not_tested: the omitted parts: ``name``, ``name (reason)``, ``what name returns (reason)`` or ``name by threads
            (reason)``.
        coverages: the counted calls of each phase.
    """
    if not calls:
        return MethodsReport()
    counts: dict[str, Counter[str]] = {}
    for coverage in coverages:
        for name, results in coverage.items():
            counts.setdefault(name, Counter()).update(results)
    reasons, not_compared, not_by_threads = _reasons(not_tested)
    names = dict.fromkeys((*calls, *reasons))
    incomparable = {name for name, reason in reasons.items() if INCOMPARABLE in reason}
    called = tuple(name for name in names if counts.get(name, Counter())["ok"] and name not in incomparable)
    left_out = tuple((name, reasons.get(name) or _why(name, reasons, counts)) for name in names if name not in called)
    on_results = tuple(pair for pair in left_out if pair[0].startswith(result_name("")) and pair[0] not in reasons)
    left_out = tuple(pair for pair in left_out if pair not in on_results)
    raised = ((name, _raised(counts[name])) for name in called)
    mostly_raised = tuple((name, text) for name, text in raised if text)
    return MethodsReport(called, left_out, (*not_compared, *on_results), not_by_threads, mostly_raised)


def _reasons(not_tested: Iterable[str]) -> tuple[dict[str, str], _Reasons, _Reasons]:
    """Return the reasons of the methods that are not called, not compared, and not called by threads."""
    reasons: dict[str, str] = {}
    not_compared: list[tuple[str, str]] = []
    not_by_threads: list[tuple[str, str]] = []
    for text in not_tested:
        partly = _NOT_COMPARED.fullmatch(text) or _NOT_BY_THREADS.fullmatch(text)
        if partly is not None:
            named = not_compared if partly.re is _NOT_COMPARED else not_by_threads
            named.append((partly["name"], partly["reason"]))
            continue
        match = _WITH_REASON.fullmatch(text)
        reasons |= {match["name"]: match["reason"]} if match else {text: ""}
    return reasons, tuple(not_compared), tuple(not_by_threads)


def _why(name: str, reasons: Mapping[str, str], counts: Mapping[str, Counter[str]]) -> str:
    if name in reasons:
        return reasons[name]
    errors = counts.get(name, Counter())
    if not errors:
        return "it was not called before the run ended"
    error, _ = errors.most_common(1)[0]
    did = WAITED if error == WAITED else f"raised {error}"
    return f"it {did} in all {errors.total()} calls"


def _raised(results: Counter[str]) -> str:
    errors = Counter({name: count for name, count in results.items() if name not in ("ok", WAITED, NOT_CALLED)})
    total = results.total() - results[NOT_CALLED]
    if total < _FEW_CALLS or errors.total() < _OFTEN * total:
        return ""
    error, _ = errors.most_common(1)[0]
    return f"{error} in {100 * errors.total() // total} % of {total:,} calls"
