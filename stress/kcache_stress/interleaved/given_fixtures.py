"""Fixtures of pytest that a test under the explorer uses with more care than elsewhere.

What they do to modules and streams no event tells. That is sound as long as nothing else runs: before the threads of
the test begin, or after they have ended. Beside another thread it counts as a step of unknown code.
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
    """A fixture of pytest whose use is one step of unknown code: it changes or reads what no event tells.

    Args:
        name: of the fixture.
        real: its value.
    """

    def __init__(self, name: str, real: Any) -> None:
        self._name = name
        self._real = real

    def __getattr__(self, name: str) -> Any:
        """What the fixture has: ``readouterr``, ``setenv`` ..."""
        unseen(f"{self._name}.{name}")
        return getattr(self._real, name)


class Patching(Watched):
    """``monkeypatch``: that of pytest, on the modules that the test sees.

    Args:
        real: that of pytest.
        module: of the test.
    """

    def __init__(self, real: Any, module: ModuleType) -> None:
        super().__init__("monkeypatch", real)
        self._module = module

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
        with self._real.context() as real:
            yield Patching(real, self._module)
        unseen("monkeypatch undoes what it did")

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


class Capturing(Watched):
    """``capsys`` with streams in C: one ``print`` is one step on these.

    Args:
        real: that of pytest.
    """

    def __init__(self, real: Any) -> None:
        super().__init__("capsys", real)
        self._streams = [(capture, io.StringIO()) for capture in (real._capture.out, real._capture.err)]
        self._place()

    def readouterr(self) -> Any:
        """The text since the last call."""
        unseen("capsys.readouterr() reads what was written")
        for capture, stream in self._streams:
            capture.tmpfile.write(stream.getvalue())
            stream.seek(0)
            stream.truncate()
        return self._real.readouterr()

    @contextlib.contextmanager
    def disabled(self) -> Iterator[None]:
        """The streams of the process, for as long as this is entered."""
        unseen("capsys.disabled() puts streams in place")
        with self._real.disabled():
            yield
        self._place()

    def _place(self) -> None:
        for capture, stream in self._streams:
            setattr(sys, capture.name, stream)


def _logs(module: ModuleType, at_end: Callable[[Callable[[], object]], None]) -> Logs:
    made = Logs(module)
    at_end(made.close)
    return made


def _watched(name: str) -> Callable[..., Watched]:
    return lambda real, *_: Watched(name, real)


GIVEN: Final[Mapping[str, Callable[..., Any]]] = {
    "monkeypatch": lambda real, module, _: Patching(real, module),
    "caplog": lambda _, module, at_end: _logs(module, at_end),
    "capsys": lambda real, *_: Capturing(real),
    **{name: _watched(name) for name in ("capsysbinary", "capfd", "capfdbinary")},
}
"""Name -> replaces the value that pytest has built: takes that, the module of the test, and what registers a function
that is called when the test has ended."""
