# ruff: noqa: D102, N802 - the methods are named after those of unittest and importlib
"""One suite in a process of its own, on modules as they are or instrumented; prints what each test gave, as JSON.

Started as ``child.py SUITE GRANULARITY MODULE...``: the granularity may be ``plain``; the modules are those to be
instrumented, with the suite itself if it is among them. A suite is a module of unittest's, or a folder of pytest's.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import importlib.abc
import importlib.machinery
import importlib.util
import json
import sys
import unittest
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from kcache_stress.engine.granularity import Granularity
from kcache_stress.instrument import collect_facts, make_hooks, rewrite
from kcache_stress.instrument.hooks import HOOK_MARK
from kcache_stress.modules.foreign_code import ForeignCodeMonitor
from kcache_stress.runtime.threads.scheduler import Scheduler

PLAIN = "plain"
"""In place of a granularity: nothing is instrumented."""


class Instrumented(importlib.abc.MetaPathFinder):
    """Finds modules whose accesses are reported to nobody.

    Args:
        granularity: where threads could be switched.
        names: the modules, each with what is below it.
    """

    def __init__(self, granularity: Granularity, names: Sequence[str]) -> None:
        self._granularity = granularity
        self._names = names
        builtins.__dict__.update(make_hooks(lambda *_: None, ForeignCodeMonitor(Scheduler(), {}), lambda: None))
        # What the rewriter itself is made of may be among them: all is compiled before any of it is missing.
        self._loaders = dict(filter(None, map(self._loader, [*names, *filter(self._is_below, sys.modules)])))
        for name in self._loaders:
            sys.modules.pop(name, None)
        sys.meta_path.insert(0, self)

    def find_spec(
        self, name: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        spec = importlib.machinery.PathFinder.find_spec(name, path) if self._is_below(name) else None
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = self._loaders.get(name) or self._load(name, spec.loader.path)
        return spec

    def _is_below(self, name: str) -> bool:
        return any(name == root or name.startswith(f"{root}.") for root in self._names)

    def _loader(self, name: str) -> tuple[str, _Loader] | None:
        spec = importlib.util.find_spec(name)
        source = spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader)
        return (name, self._load(name, spec.loader.path)) if source else None  # type: ignore[union-attr]

    def _load(self, name: str, path: str) -> _Loader:
        tree = ast.parse(Path(path).read_bytes(), path)
        return _Loader(name, path, compile(self._rewritten(tree), path, "exec", dont_inherit=True))

    def compile_example(self, source: str, path: str, mode: str, flags: int, *_: object) -> CodeType:
        """What doctest calls in the place of ``compile``."""
        if HOOK_MARK not in sys._getframe(1).f_locals["test"].globs:
            return compile(source, path, mode, flags, dont_inherit=True)
        tree = self._rewritten(compile(source, path, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True))
        return compile(ast.Interactive(tree.body), path, mode, flags, dont_inherit=True)

    def _rewritten(self, tree: ast.Module) -> ast.Module:
        facts = collect_facts(tree)
        if self._granularity is Granularity.FREE:
            facts = replace(facts, everything_mutable=True)  # the more is reported, the more may go wrong
        return rewrite(tree, facts, pauses=self._granularity is Granularity.GIL)


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> Any:  # noqa: ARG002
        return self._code

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__[HOOK_MARK] = True
        super().exec_module(module)


class _Results(unittest.TestResult):
    """What each test gave, and the last error of each."""

    def __init__(self) -> None:
        super().__init__()
        self.given: dict[str, list[str]] = {}
        self.errors_of: dict[str, str] = {}

    def _note(self, test: Any, what: str, error: Any = None) -> None:
        if error is not None:
            what = f"{what}: {error[0].__name__}"
            self.errors_of[test.id()] = self._exc_info_to_string(error, test)  # type: ignore[attr-defined]
        self.given.setdefault(test.id(), []).append(what)

    def addSuccess(self, test: Any) -> None:
        self._note(test, "passed")

    def addError(self, test: Any, err: Any) -> None:
        self._note(test, "error", err)

    def addFailure(self, test: Any, err: Any) -> None:
        self._note(test, "failed", err)

    def addSkip(self, test: Any, reason: str) -> None:
        del reason
        self._note(test, "skipped")

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        del err
        self._note(test, "failed as expected")

    def addUnexpectedSuccess(self, test: Any) -> None:
        self._note(test, "passed unexpectedly")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        del subtest
        if err is not None:
            self._note(test, "part failed", err)

    # What pytest calls, whose plugin this is, too.

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or not report.passed:
            self.given.setdefault(report.nodeid, []).append(f"{report.when} {report.outcome}")
            self.errors_of[report.nodeid] = report.longreprtext


def main(suite: str, granularity: str, *names: str) -> None:
    """Run the suite."""
    warnings.simplefilter("ignore")
    if granularity != PLAIN:
        finder = Instrumented(Granularity(granularity), names)
        if suite in names:
            doctest.__dict__["compile"] = finder.compile_example
    results, (out, sys.stdout) = _Results(), (sys.stdout, sys.stderr)
    if Path(suite).is_dir():
        import pytest

        pytest.main([suite, "-q", "-p", "no:cacheprovider", "-p", "no:kcache", "-c", "/dev/null"], [results])
    else:
        unittest.defaultTestLoader.loadTestsFromName(suite).run(results)
    print(json.dumps({"given": results.given, "errors": results.errors_of}), file=out)


if __name__ == "__main__":
    main(*sys.argv[1:])
