"""Scaffolds: generate an adapter, a test and a configuration with which a project begins to check its own cache.

The sequential phases run on the class to detect how it differs from an Indexer. Only harmless differences are declared,
each with the observation that required it. A difference that loses or invents data remains a finding.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.machinery import PathFinder
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from kcache.adapting import adapt
from kcache.adapting_calls import Call, Operation
from kcache_model.errors import TargetError
from kcache_model.finding import Finding
from kcache_model.indexers.target import DEFAULT, IDENTITY, LISTS, NONE_VALUES, SORTED_KEYS, UNKNOWN_INDEX
from kcache_model.outcomes import error_text
from kcache_model.verdict import Status
from kcache_stress.import_paths import import_paths
from kcache_stress.loading import extend_import_path, load_object

from ..phases.suite_options import SuiteOptions
from ..results.events import SuiteResult
from ..targets.configuration import FILES, find_configuration
from ..targets.target_types import target_type_named

TASTE: Final = frozenset({DEFAULT, IDENTITY, LISTS, NONE_VALUES, SORTED_KEYS, UNKNOWN_INDEX, "multiple_values"})
"""Declarations that are added if a cache needs them; any other declaration could hide a loss."""

_PROBING: Final = SuiteOptions(phases=("smoke", "stateful"), budget_seconds=6.0)
_MOST_RUNS: Final = 8
_LINE: Final = 100
"""Characters of an observation that fit beside a declaration."""


@dataclass(frozen=True)
class Scaffold:
    """The content to write for one class.

    Attributes:
        name: the name of the target in the configuration.
        spec: the class, ``package.module:Class`` or ``file.py:Class``.
        module: the module from which the adapter imports the class.
        folder: the folder of the files.
        python_path: the entry that pytest needs in ``PYTHONPATH`` to find that module; empty for nothing.
        calls: operation -> the call of the class that performs it.
        lacking: operations that no call performs; the adapter detects them itself.
        pairs: whether lookups by key return ``(value, exists)``.
        declared: declaration -> the observation without it.
    """

    name: str
    spec: str
    module: str
    folder: Path
    python_path: str
    calls: Mapping[str, Call]
    lacking: tuple[str, ...]
    pairs: bool
    declared: Mapping[str, str]

    @property
    def adapter(self) -> Path:
        """The file of the adapter."""
        return self.folder / f"{self.name}_adapter.py"

    @property
    def test(self) -> Path:
        """The file of the test."""
        return self.folder / f"test_{self.name}_conformance.py"

    @property
    def configuration(self) -> Path:
        """The file that configures targets here, or that will be created for it."""
        here = Path.cwd()
        projects = (folder / "pyproject.toml" for folder in (here, *here.parents))
        used = find_configuration(here).file or next((file for file in projects if file.exists()), here / FILES[0])
        return _from_here(used)

    def adapter_text(self) -> str:
        """Return the adapter's source."""
        attribute = self.spec.rpartition(":")[2]
        imports = (f"from {self.module} import {attribute.partition('.')[0]}", "from kcache.adapting import adapt")
        lines = [
            f'"""{attribute} as an Indexer; written by `kcache init {self.spec}`, and yours to change."""',
            "",
            *sorted(imports),
            "",
            "new_indexer = adapt(",
            f"    {attribute},",
            *(f"    {operation}={_source(call)}," for operation, call in self.calls.items()),
            *["    pairs=True,"] * self.pairs,
        ]
        if self.declared:
            lines.append("    unsupported=[")
            lines += [f'        "{name}",  # {reason}' for name, reason in self.declared.items()]
            lines.append("    ],")
        return "\n".join([*lines, ")", ""])

    def test_text(self) -> str:
        """Return the test's source."""
        imports = [f"from {self.adapter.stem} import new_indexer\n", "from kcache.testing import run_conformance"]
        if (self.folder / "__init__.py").exists():
            imports = [f"{imports[1]}\n", imports[0].replace("from ", "from .").rstrip()]
        return (
            f'"""Conformance of {self.spec.rpartition(":")[2]}: `kcache check {self.name}` as a test."""\n\n'
            f"{chr(10).join(imports)}\n\n\n"
            f"def test_{self.name}_conformance():\n    run_conformance(new_indexer, seconds=20)\n"
        )

    def configuration_text(self) -> str:
        """Return the whole configuration including the target.

        Raises:
            TargetError: the file already has this target, or cannot take a further table.
        """
        file = self.configuration
        old = file.read_text(encoding="utf-8") if file.exists() else ""
        prefix = "tool.kcache." if file.name == "pyproject.toml" else ""
        adapter = Path(os.path.relpath(self.adapter, file.parent)).as_posix()
        table = f'[{prefix}targets.{self.name}]\nfactory = "{adapter}:new_indexer"\nbudget = "60s"\n'
        text = f"{old.rstrip()}\n\n{table}" if old.strip() else table
        try:
            tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise TargetError(
                f"the target {self.name} cannot be added to {file} ({error}): fix the file, or give another --name"
            ) from None
        return text


def _from_here(path: Path) -> Path:
    return Path(os.path.relpath(path))


def _source(call: Call) -> str:
    return f'("{call.source}", "{call.takes}")' if call.takes else f'"{call.source}"'


def planned_scaffold(
    spec: str, folder: Path, name: str | None = None, methods: Mapping[str, Operation] = MappingProxyType({})
) -> Scaffold:
    """Plan the calls of the class: by ``methods``, and for other operations by names and parameters.

    Raises:
        TargetError: there is no such class, it cannot be created or added to, or its file lies elsewhere; the message
            says what to do.
    """
    location, _, attribute = spec.rpartition(":")
    installed = [path for path in sys.path if path not in ("", str(Path.cwd()))]
    extend_import_path(folder.resolve())
    is_file = location.endswith(".py") and Path(location).is_file()
    module = _module_in(Path(location), folder) if is_file else location
    is_alone = module == Path(location).stem  # its name may be that of another module here
    make = load_object(spec if is_alone or not is_file else f"{module}:{attribute}", wanted="Class")
    name = name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", attribute.rpartition(".")[2]).lower()
    if not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
        raise TargetError(f'"{name}" cannot be the name of a Python file: give another --name with only a-z, 0-9 and _')
    try:
        adapted: Any = adapt(make, **methods)(str, {})  # type: ignore[arg-type]
    except Exception as error:
        text = str(error) if type(error) is TypeError else error_text(error)
        raise TargetError(
            f"{spec} cannot be adapted: {text}. Give --method add=NAME and so on for the other methods, or "
            "write an adapter yourself, or name a function that returns a cache"
        ) from error
    try:
        lacking = tuple(sorted(adapted.lacking))
        python_path = _python_path(module.partition(".")[0], folder.resolve(), installed)
        return Scaffold(name, spec, module, folder, python_path, adapted.plan, lacking, adapted.pairs, {})
    finally:
        adapted.close()


def _module_in(file: Path, folder: Path) -> str:
    """Return the name under which a module in a folder can import a file.

    Raises:
        TargetError: it cannot import the file.
    """
    where = import_paths(folder.resolve())
    roots = map(Path, (str(folder.resolve()), *where.configured, *where.usual))
    outside = [one for one in roots if file.resolve().is_relative_to(one) and not (one / "__init__.py").exists()]
    parts = min((file.resolve().relative_to(one).with_suffix("").parts for one in outside), key=len, default=("",))
    if not all(part.isidentifier() for part in parts):
        raise TargetError(f"modules in {folder} cannot import {file}: give --folder {file.parent}")
    return ".".join(parts).removesuffix(".__init__")


def _python_path(module: str, folder: Path, installed: list[str]) -> str:
    """Return the folder where kcache finds a module, relative to here; empty if pytest finds the module, too."""
    where = import_paths(folder)
    of_conftest = (path for path in where.usual if (Path(path) / "conftest.py").is_file())
    if PathFinder.find_spec(module, [str(folder), *of_conftest, *where.configured, *installed]) is not None:
        return ""
    path_of_module = next((path for path in where.usual if PathFinder.find_spec(module, [path]) is not None), None)
    return "" if path_of_module is None else _from_here(Path(path_of_module)).as_posix()


def with_declarations(scaffold: Scaffold, run: Callable[[str, SuiteOptions], SuiteResult]) -> tuple[Scaffold, int]:
    """Add the declarations that the adapter needs; its file must have been written.

    Args:
        scaffold: the content to write.
        run: runs the suite on a target.

    Returns:
        The new scaffold, and the number of violations that no declaration of :data:`TASTE` removes.

    Raises:
        TargetError: the adapter cannot be run.
        HarnessError: the harness failed.
    """
    rules = target_type_named(_PROBING.kind).rules
    wrong: list[Finding] = []
    for _ in range(_MOST_RUNS):
        options = replace(_PROBING, declared=tuple(scaffold.declared))
        result = run(f"{scaffold.adapter}:new_indexer", options)
        wrong = [finding for finding in result.findings if finding.status is Status.VIOLATION]
        needed = {
            rules[finding.rule].declaration: " ".join(finding.summary.split())[:_LINE]
            for finding in wrong
            if finding.rule in rules and rules[finding.rule].declaration in TASTE
        }
        if not needed.keys() - scaffold.declared.keys():
            break
        scaffold = replace(scaffold, declared={**scaffold.declared, **needed})
    return scaffold, len(wrong)
