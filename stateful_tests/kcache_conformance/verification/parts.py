"""Parts of a verification: the work of earlier runs, as a certificate records it, and whether a run may continue it."""

from __future__ import annotations

import json
import platform
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import kcache
from kcache_model.audited import Audited
from kcache_model.bound import Bound
from kcache_model.decoding import is_integer, list_of, shown, text_of, texts_of
from kcache_model.errors import FormatError
from kcache_model.places import file_name
from kcache_model.render import printable_line

from ..results.completeness import counted_calls
from ..results.exploration_outcomes import Description, Part, Ranges, Run, Tally
from .batch import Batch

T = TypeVar("T")
Sources: TypeAlias = frozenset[tuple[str, str]]

_GIVE: Final = "use a file that kcache verify wrote with --json"
_ANEW: Final = "or start again without --resume"


def setting_of(batch: Batch, bound: Bound, description: Description) -> Mapping[str, str]:
    """Return all inputs of programs and their verdicts except the sources: name -> text."""
    options = batch.suite_options
    return {
        "target": batch.target,
        "type": batch.type,
        "bound": str(bound),
        "semantics": options.semantics.value,
        "granularity": batch.options.granularity.value,
        "instrument": ", ".join(sorted(options.instrument)),
        "executions": str(batch.options.executions),
        "strict errors": "yes" if options.strict_errors else "no",
        "cancellations": " ".join(str(one) for one in (options.cancel, options.cancelled) if one),
        "not tested": ", ".join(sorted({*description.unsupported, *description.left_out})),
        "kcache": kcache.__version__,
        "python": f"{platform.python_implementation()} {'.'.join(platform.python_version_tuple()[:2])}",
    }


def read_part(file: Path, setting: Mapping[str, str], loaded: Sources) -> Part:
    """Read the work done so far from the certificate in a file.

    Args:
        file: a result with a certificate, or a certificate alone.
        setting: the setting of the run that continues.
        loaded: the current modules of the user.

    Raises:
        FormatError: there is no certificate, or it belongs to another setting; the message names the difference.
    """
    name = printable_line(str(file))
    try:
        data = json.loads(file.read_text(encoding="utf-8-sig"))
        certificate = data.get("certificate", data)
        if "resume" not in certificate:
            raise FormatError("it has no certificate that can be continued")
        part = _decoded(certificate)
    except OSError as error:
        raise FormatError(f"{name} cannot be read ({error.strerror or error}): {_GIVE}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(f"{name} cannot be continued ({printable_line(str(error))}): {_GIVE}") from None
    _refuse_over(name, certificate)
    changed = changed_files(part.loaded | part.tally.sources, loaded)
    if changed:
        raise FormatError(f"{name} cannot be continued: {', '.join(changed)} changed since; undo the change, {_ANEW}")
    for key, now in setting.items():
        before = part.setting.get(key, "")
        if before != now:
            differs = f"{key} was {before or 'nothing'}, but is now {now or 'nothing'}"
            raise FormatError(f"{name} cannot be continued: {differs}; restore it, {_ANEW}")
    return part


def changed_files(before: Sources, now: Sources) -> tuple[str, ...]:
    """Return the names of files with different contents before and now, wherever the files are."""
    first, second = _by_name(before), _by_name(now)
    both = sorted(first.keys() & second.keys())
    return tuple(name for name in both if not (first[name] <= second[name] or second[name] <= first[name]))


def carried(before: Sources, now: Sources) -> Sources:
    """Return the sources of earlier runs that the last run did not have."""
    known = {(file_name(path), digest) for path, digest in now}
    return frozenset((path, digest) for path, digest in before if (file_name(path), digest) not in known)


def remaining_items(items: Iterable[T], explored: Ranges) -> Iterator[tuple[int, T]]:
    """Yield the items, with their positions, that are not done."""
    ranges = iter(explored)
    start, stop = next(ranges, (-1, -1))
    for position, item in enumerate(items):
        if position == stop:
            start, stop = next(ranges, (-1, -1))
        if not start <= position < stop:
            yield position, item


def as_ranges(positions: Iterable[int]) -> Ranges:
    """Return ascending positions as ranges."""
    return joined((position, position + 1) for position in positions)


def joined(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return the same numbers in as few ranges as possible, ascending."""
    ranges_so_far: list[tuple[int, int]] = []
    for start, stop in sorted(ranges):
        if ranges_so_far and ranges_so_far[-1][1] == start:
            ranges_so_far[-1] = (ranges_so_far[-1][0], stop)
        else:
            ranges_so_far.append((start, stop))
    return tuple(ranges_so_far)


def first_of(ranges: Ranges, size: int) -> Iterator[tuple[int, int]]:
    """Yield the first ``size`` numbers, as ranges."""
    for start, stop in ranges:
        if size > 0:
            yield start, min(stop, start + size)
        size -= stop - start


def size_of(ranges: Ranges) -> int:
    """Return the count of the numbers."""
    return sum(stop - start for start, stop in ranges)


def _decoded(data: Any) -> Part:
    resume, programs = data["resume"], data["programs"]
    runs = tuple(
        Run(datetime.fromisoformat(text_of(run["date"])), float(run["seconds"]), _count(run["programs"]))
        for run in list_of(data["runs"])
    )
    tally = Tally(
        programs=_count(programs["explored"]),
        exhausted=_count(programs["exhausted"]),
        executions=_count(data["executions"]),
        seconds=float(resume["process_seconds"]),
        notes=tuple(texts_of(data["no_proof"])),
        audited=Audited.from_json(data["audited"]),
        sources=_files(data["sources"]["files"]),
        assumes=text_of(data.get("assumes", "")),
        calls=_calls(resume.get("calls", {})),
    )
    explored = joined((_count(start), _count(stop)) for start, stop in list_of(resume["done"]))
    ends = [number for both in explored for number in both]
    if ends != sorted(set(ends)) or size_of(explored) != tally.programs:
        raise FormatError('"done" does not match the programs that were explored')
    total = programs["all"]
    setting = {text_of(name): text_of(value) for name, value in resume["setting"].items()}
    size, digest = list_of(resume["signature"])
    total, signature = None if total is None else _count(total), (_count(size), text_of(digest))
    return Part(setting, explored, total, signature, tally, runs, _files(resume["loaded"]))


def _refuse_over(name: str, certificate: Any) -> None:
    """Refuse a certificate whose run ended for another reason than the time limit.

    Raises:
        FormatError: it ended for another reason.
    """
    if certificate["sources"]["changed"]:
        raise FormatError(f"{name} cannot be continued: the sources were changed while it ran; start again")
    if certificate["resume"]["found"]:
        raise FormatError(f"{name} cannot be continued: it ended with a finding; fix it, and start again")


def _files(data: Any) -> Sources:
    return frozenset((text_of(file["file"]), text_of(file["sha256"])) for file in list_of(data))


def _by_name(sources: Collection[tuple[str, str]]) -> Mapping[str, set[str]]:
    by_name: dict[str, set[str]] = defaultdict(set)
    for path, digest in sources:
        by_name[file_name(path)].add(digest)
    return by_name


def _calls(data: Any) -> Counter[tuple[str, str]]:
    return counted_calls({name: {result: _count(count) for result, count in of.items()} for name, of in data.items()})


def _count(data: object) -> int:
    if isinstance(data, int) and is_integer(data) and data >= 0:
        return data
    raise FormatError(f"expected a count, not {shown(data)}")
