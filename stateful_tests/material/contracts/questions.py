"""Asks a child process: does CrossHair find a counterexample, and does a call break the law?

A child, because a mutant can only be planted in a fresh interpreter, and because a search that hangs must be killed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .law import Law, Mutant, Verdict

_VERDICTS = {"confirmed": Verdict.CONFIRMED, "cannot_confirm": Verdict.NOT_REFUTED}
_SECONDS = 120.0
"""Wall time after which a child is killed; the slowest takes a twentieth of that on an idle machine."""


@dataclass(frozen=True)
class Found:
    """How a search ended.

    Attributes:
        verdict: ``None`` if the law was refuted.
        call: the call that refutes it.
        message: what CrossHair wrote.
        paths: how many paths it followed.
        seconds: CPU time.
    """

    verdict: Verdict | None
    call: str | None
    message: str
    paths: int
    seconds: float


def search(law: Law, mutant: Mutant | None = None) -> Found:
    """Lets CrossHair look for a counterexample, in the true code or in a mutant."""
    answer = _ask(law, mutant, None)
    return Found(_VERDICTS.get(answer.pop("state")), **answer)


def holds(law: Law, call: str, mutant: Mutant | None = None) -> bool:
    """Whether the law holds for this call, made in plain Python."""
    return _ask(law, mutant, call) is True


def _ask(law: Law, mutant: Mutant | None, call: str | None) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", f"{__package__}.child"],
        cwd=Path(__file__).parents[3],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        input=json.dumps({"law": law.name, "mutant": None if mutant is None else asdict(mutant), "call": call}),
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
