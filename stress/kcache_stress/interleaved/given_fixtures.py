"""Replacements of fixtures of pytest whose effects are not events: ``monkeypatch``, ``caplog``, ``capsys`` and others.

These fixtures change modules and streams without events. That is sound while no other thread runs: before the threads
of the test begin, and after they have ended. While another thread runs, each use counts as a step of unknown code.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, Final

from .given_logs import Logs
from .running import unseen

_NOTHING: Final = object()


class Watched:
    """A fixture of pytest whose use is one step of unknown code: it changes or reads state without events.

    Args:
        name: name of the fixture.
        real: value that pytest has built.
    """

    def __init__(self, name: str, real: Any) -> None:
        self._name = name
        self._real = real

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the fixture, such as ``readouterr`` or ``setenv``, and report the use."""
        unseen(f"{self._name}.{name}")
        return getattr(self._real, name)


class Patching(Watched):
    """``monkeypatch`` of pytest, applied to the modules that the test imports: private copies, under the explorer.

    Args:
        real: the ``monkeypatch`` that pytest has built.
        module: module of the test.
    """

    def __init__(self, real: Any, module: ModuleType) -> None:
        super().__init__("monkeypatch", real)
        self._module = module

    def setattr(self, target: Any, name: Any, value: Any = _NOTHING, raising: bool = True) -> None:
        """Set an attribute; the target is an object and a name, or one dotted name."""
        if value is _NOTHING:
            (target, name), value = self._named(target), name
        unseen(f"monkeypatch sets {name}", target, name)
        self._real.setattr(target, name, value, raising)

    def delattr(self, target: Any, name: Any = _NOTHING, raising: bool = True) -> None:
        """Delete an attribute; the target is an object and a name, or one dotted name."""
        if name is _NOTHING:
            target, name = self._named(target)
        unseen(f"monkeypatch deletes {name}", target, name)
        self._real.delattr(target, name, raising)

    @contextlib.contextmanager
    def context(self) -> Iterator[Patching]:
        """Context with another ``monkeypatch``, whose changes are undone at the end of the ``with`` block."""
        try:
            with self._real.context() as real:
                yield Patching(real, self._module)
        finally:
            unseen("monkeypatch undoes its changes")

    def _named(self, path: str) -> tuple[Any, str]:
        """Return the owner and the name of the attribute ``package.module.Class.attribute``; modules are imported."""
        importing = eval("__import__", vars(self._module))
        first, *parts = path.split(".")
        owner, at = importing(first), first
        for part in parts[:-1]:
            at = f"{at}.{part}"
            if not hasattr(owner, part):
                importing(at)
            owner = getattr(owner, part)
        return owner, parts[-1]


class Capturing(Watched):
    """``capsys`` with streams that are implemented in C (``io.StringIO``): one ``print`` to them is one step.

    Args:
        real: the ``capsys`` that pytest has built.
    """

    def __init__(self, real: Any) -> None:
        super().__init__("capsys", real)
        self._streams = [(capture, io.StringIO()) for capture in (real._capture.out, real._capture.err)]
        self._place()

    def readouterr(self) -> Any:
        """Return the text that was written to the streams since the last call."""
        unseen("capsys.readouterr() reads the output")
        for capture, stream in self._streams:
            capture.tmpfile.write(stream.getvalue())
            stream.seek(0)
            stream.truncate()
        return self._real.readouterr()

    @contextlib.contextmanager
    def disabled(self) -> Iterator[None]:
        """Context in which the streams of the process are in place."""
        unseen("capsys.disabled() replaces the streams")
        try:
            with self._real.disabled():
                yield
        finally:
            self._place()

    def _place(self) -> None:
        for capture, stream in self._streams:
            setattr(sys, capture.name, stream)


def _logs(module: ModuleType, at_end: Callable[[Callable[[], object]], None]) -> Logs:
    logs = Logs(module)
    at_end(logs.close)
    return logs


def _watched(name: str) -> Callable[..., Watched]:
    return lambda real, *_: Watched(name, real)


GIVEN: Final[Mapping[str, Callable[..., Any]]] = {
    "monkeypatch": lambda real, module, _: Patching(real, module),
    "caplog": lambda _, module, at_end: _logs(module, at_end),
    "capsys": lambda real, *_: Capturing(real),
    **{name: _watched(name) for name in ("capsysbinary", "capfd", "capfdbinary")},
}
"""Name of a fixture -> the function that builds its replacement. The function takes the value that pytest built, the
module of the test, and a function that registers a callback for the end of the test."""
