"""Fixtures of pytest itself that a test under the explorer gets, made anew for each execution.

What they do to modules and streams no event tells. That is sound as long as nothing else runs: it happens before the
threads of the test begin, or after they have ended. Beside another thread the test is refused.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

from .given_logs import Logs
from .running import refuse, unseen

TMP_PATH: Final = "tmp_path"
_NOTHING: Final = object()


@dataclass(frozen=True)
class Occasion:
    """The call of a test that a fixture is made for.

    Attributes:
        stack: ends fixtures when it is left.
        module: of the test, or the private copy of that: names are looked up as it would import them.
        folder: for ``tmp_path``; ``None`` where nobody asks for it.
    """

    stack: ExitStack
    module: ModuleType
    folder: Path | None = None


def afterwards(stack: ExitStack, done: Callable[[], object], given_up: Callable[[], object] = lambda: None) -> None:
    """Call ``done`` when a test is over; ``given_up`` where it is left in the middle, its threads with it."""

    def leave(kind: type[BaseException] | None, *_: object) -> None:
        (done if kind is None or issubclass(kind, Exception) else given_up)()

    stack.push(leave)


class Request:
    """``request``, as far as it can be had without pytest.

    Args:
        known: its attributes: ``param``, ``addfinalizer`` ...
    """

    def __init__(self, **known: Any) -> None:
        vars(self).update(known)

    def __getattr__(self, name: str) -> Any:
        """What only pytest knows."""
        if name != "param" and not name.startswith("__"):
            refuse(f"asks for request.{name}, which only pytest can give")
        raise AttributeError(name)


class Patching:
    """``monkeypatch``: that of pytest, on the modules that the test sees.

    Args:
        module: of the test.
    """

    def __init__(self, module: ModuleType) -> None:
        import pytest

        self._module = module
        self._real = pytest.MonkeyPatch()

    def setattr(self, target: Any, name: Any, value: Any = _NOTHING, raising: bool = True) -> None:
        """Set an attribute, of an object or by its dotted name."""
        if value is _NOTHING:
            (target, name), value = self._named(target), name
        unseen(f"monkeypatch sets {name}", target, name)
        self._real.setattr(target, name, value, raising)

    def delattr(self, target: Any, name: Any = _NOTHING, raising: bool = True) -> None:
        """Delete an attribute, of an object or by its dotted name."""
        if name is _NOTHING:
            target, name = self._named(target)
        unseen(f"monkeypatch deletes {name}", target, name)
        self._real.delattr(target, name, raising)

    @contextlib.contextmanager
    def context(self) -> Iterator[Patching]:
        """One more, undone at the end of a ``with``."""
        made = Patching(self._module)
        try:
            yield made
        finally:
            made.undo_quietly()
        unseen("monkeypatch undoes what it did")

    def undo(self) -> None:
        """Put everything back."""
        self.undo_quietly()
        unseen("monkeypatch undoes what it did")

    def undo_quietly(self) -> None:
        """Put everything back, whatever else runs: the test is over, or given up."""
        self._real.undo()

    def __getattr__(self, name: str) -> Any:
        """The rest: ``setitem``, ``setenv``, ``chdir`` ..."""
        unseen(f"monkeypatch.{name}")
        return getattr(self._real, name)

    def _named(self, path: str) -> tuple[Any, str]:
        """The owner and the name of what ``package.module.Class.attribute`` says."""
        importing = eval("__import__", vars(self._module))
        first, *parts = path.split(".")
        found, at = importing(first), first
        for part in parts[:-1]:
            at = f"{at}.{part}"
            if not hasattr(found, part):
                importing(at)
            found = getattr(found, part)
        return found, parts[-1]


class _Written(NamedTuple):
    out: str
    err: str


class Capturing:
    """``capsys``: what is written to the standard streams."""

    def __init__(self) -> None:
        self._own = sys.stdout, sys.stderr
        self._streams = io.StringIO(), io.StringIO()
        sys.stdout, sys.stderr = self._streams

    def readouterr(self) -> _Written:
        """What was written since it was asked last."""
        unseen("capsys.readouterr() reads what was written")
        told = _Written(*(stream.getvalue() for stream in self._streams))
        for stream in self._streams:
            stream.seek(0)
            stream.truncate()
        return told

    @contextlib.contextmanager
    def disabled(self) -> Iterator[None]:
        """The streams of the process, for as long as this is entered."""
        unseen("capsys.disabled() puts streams in place")
        self.close()
        try:
            yield
        finally:
            sys.stdout, sys.stderr = self._streams
            unseen("capsys.disabled() puts streams in place")

    def close(self) -> None:
        """Put the streams of the process back."""
        sys.stdout, sys.stderr = self._own


def _patching(occasion: Occasion) -> Patching:
    made = Patching(occasion.module)
    afterwards(occasion.stack, made.undo, made.undo_quietly)
    return made


def _capturing(occasion: Occasion) -> Capturing:
    made = Capturing()
    afterwards(occasion.stack, made.close, made.close)
    return made


def _logs(occasion: Occasion) -> Logs:
    made = Logs(occasion.module)
    afterwards(occasion.stack, made.close, made.close)
    return made


GIVEN: Final[Mapping[str, Callable[[Occasion], Any]]] = {
    TMP_PATH: lambda occasion: occasion.folder,
    "monkeypatch": _patching,
    "capsys": _capturing,
    "caplog": _logs,
}
"""Name -> what makes it."""
