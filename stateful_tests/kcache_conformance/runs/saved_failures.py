"""Saved failures in the folder ``.kcache`` of a project: the next run begins with them, until they are fixed."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kcache_model.errors import CannotExploreError, FormatError, TargetError
from kcache_model.finding import Finding
from kcache_stress.interruption import Interrupted, is_interrupted

from ..phases.suite_options import SuiteOptions
from ..targets.class_names import parse_class_type_name
from ..targets.replay_request import ReplayRequest, plain_request, request_of
from .jobs import load_in_child
from .stored_replays import FOLDER, make_folder

SCHEMA: Final = "kcache/failures/1"

_MOST: Final = 20
"""The most saved failures of one target."""

_SECONDS: Final = 3.0
"""Seconds for a program whose schedule cannot be repeated."""


@dataclass(frozen=True)
class TargetFailures:
    """The failures of one target.

    Attributes:
        requests: the replay request of each failure.
        not_tested: the features that the target lacked then; a target that lacks more now is not replayed.
    """

    requests: tuple[ReplayRequest, ...] = ()
    not_tested: tuple[str, ...] = ()


@dataclass(frozen=True)
class SavedFailures:
    """The failures of a project's targets.

    Attributes:
        targets: name of a target type and name of a target -> its failures.
        last: the first finding to fix of the last run; ``None`` if there was none.
    """

    targets: Mapping[str, TargetFailures]
    last: ReplayRequest | None = None

    def of(self, target_type: str, target: str) -> TargetFailures:
        """Return the failures of a target."""
        return self.targets.get(f"{target_type} {target}", TargetFailures())

    def with_those_of(
        self, target_type: str, target: str, requests: Iterable[ReplayRequest], not_tested: tuple[str, ...]
    ) -> SavedFailures:
        """Return a copy in which the failures of one target are replaced, without duplicates."""
        name = f"{target_type} {target}"
        others = {one: saved for one, saved in self.targets.items() if one != name}
        saved = tuple(dict.fromkeys(requests))[:_MOST]
        return SavedFailures({**others, name: TargetFailures(saved, not_tested)} if saved else others, self.last)


def read_failures(folder: Path = FOLDER) -> SavedFailures:
    """Return the failures saved in a folder; empty if the file is missing or of another version."""
    try:
        data = json.loads((folder / "failures.json").read_text(encoding="utf-8"))
        if data["schema"] != SCHEMA:
            return SavedFailures({})
        targets = {str(target): _failures(data_of_target) for target, data_of_target in data["targets"].items()}
        return SavedFailures(targets, None if data["last"] is None else request_of(data["last"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return SavedFailures({})


def write_failures(failures: SavedFailures, folder: Path = FOLDER) -> None:
    """Save failures atomically; the folder is not created if there are none.

    If the folder cannot be written, for example in a read-only checkout, nothing is saved and no error is raised: the
    verdict matters more.
    """
    if not failures.targets and not folder.exists():
        return
    data = {
        "schema": SCHEMA,
        "targets": {
            target: {"requests": list(map(plain_request, of.requests)), "not_tested": list(of.not_tested)}
            for target, of in failures.targets.items()
        },
        "last": None if failures.last is None else plain_request(failures.last),
    }
    unfinished = folder / f"failures.json.{os.getpid()}"  # two concurrent runs do not write into one file
    with contextlib.suppress(OSError):
        make_folder(folder)
        unfinished.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
        unfinished.replace(folder / "failures.json")


def _failures(data: Mapping[str, Any]) -> TargetFailures:
    return TargetFailures(tuple(map(request_of, data["requests"])), tuple(map(str, data["not_tested"])))


@dataclass(frozen=True)
class FailuresAgain:
    """The result of replaying saved failures.

    Attributes:
        findings: the findings that still fail.
        fixed: how many do not fail any more.
        unsettled: requests without an answer: real threads did not fail again, or the user stopped the run.
        tested: version and file of the target.
    """

    findings: tuple[Finding, ...] = ()
    fixed: int = 0
    unsettled: tuple[ReplayRequest, ...] = ()
    tested: str = ""

    @property
    def count(self) -> int:
        """The number of failures that were replayed."""
        return len(self.findings) + self.fixed + len(self.unsettled)


def show_again(saved: TargetFailures, target: str, options: SuiteOptions) -> FailuresAgain:
    """Replay saved failures in child processes, all of them unless the user stops.

    Failures that cannot be read or scheduled any more count as fixed, because the code has changed. If the target lacks
    more features than before, all count as fixed.

    Raises:
        TargetError: the target cannot be loaded any more.
        HarnessError: the harness failed.
    """
    # Imported here: most runs have no saved failures and need not wait for these imports.
    from kcache_stress.target.replay_answer import ReplayAnswer

    from ..targets.token_trust import UntrustedError
    from .replays import replay_requested

    model = parse_class_type_name(options.kind).model
    named = [one for one in (target, model, options.kind) if ":" in one]
    try:
        loaded = load_in_child(target, options)
    except Interrupted:
        return FailuresAgain(unsettled=saved.requests)
    if not {*loaded.not_tested} <= {*saved.not_tested}:
        return FailuresAgain(fixed=len(saved.requests), tested=loaded.tested)
    findings: list[Finding] = []
    unsettled: list[ReplayRequest] = []
    fixed = 0
    for request in saved.requests:
        if is_interrupted():
            unsettled.append(request)
            continue
        try:
            outcome = replay_requested(request, named, seconds=_SECONDS, patience_seconds=options.patience_seconds)
        except UntrustedError:  # another program has written the file
            unsettled.append(request)
            continue
        except (FormatError, TargetError, CannotExploreError):
            fixed += 1
            continue
        except Interrupted:
            unsettled.append(request)
            continue
        match outcome.answer:
            case ReplayAnswer.REPRODUCED if outcome.finding is not None:
                findings.append(outcome.finding)
            case ReplayAnswer.UNKNOWN:
                unsettled.append(request)
            case _:
                fixed += 1
    return FailuresAgain(tuple(findings), fixed, tuple(unsettled), loaded.tested)
