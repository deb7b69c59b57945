"""The architecture holds: who may import whom, no cycles, no giants, and a core that needs nothing."""

from __future__ import annotations

import ast
import functools
import importlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import kcache
import kcache_conformance
import kcache_model
import kcache_stress
from kcache_conformance.phases.suite_options import SuiteOptions

PACKAGES = {
    package.__name__: Path(str(package.__file__)).parent
    for package in (kcache, kcache_model, kcache_stress, kcache_conformance)
}
OPTIONAL = ("crosshair", "distributed", "hypothesis_crosshair_provider", "kubernetes")
TOP_FLOOR = (
    *("kcache.cli", "kcache.testing", "kcache.extending", "kcache.pytest_plugin", "kcache.pytest_interleaving"),
    *("kcache.pytest_summary", "kcache.pytest_threads"),
    "kcache.__main__",
)
FACADE_USERS = ("kcache_conformance.pytest_suite",)
MAY_IMPORT = {
    "kcache": {"kcache"},
    "kcache_model": {"kcache", "kcache_model"},
    "kcache_stress": {"kcache", "kcache_model", "kcache_stress"},
    "kcache_conformance": {"kcache", "kcache_model", "kcache_stress", "kcache_conformance"},
}


def modules() -> Iterator[tuple[str, Path]]:
    for name, folder in PACKAGES.items():
        for file in sorted(folder.rglob("*.py")):
            if not file.name.startswith(("test_", "conftest")):
                parts = file.relative_to(folder).with_suffix("").parts
                yield ".".join((name, *(part for part in parts if part != "__init__"))), file


MODULES = dict(modules())


@functools.cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


@functools.cache
def imports(module: str, *, at_import_time: bool = False) -> set[str]:
    package = module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]
    tree = tree_of(module)
    nodes = ast.walk(tree) if not at_import_time else iter(tree.body)
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                base = ".".join([*parents[: len(parents) - node.level + 1], *filter(None, [base])])
            found |= {f"{base}.{alias.name}" if f"{base}.{alias.name}" in MODULES else base for alias in node.names}
    return found


def is_top_floor(module: str) -> bool:
    return module.startswith(TOP_FLOOR)


def all_imports() -> Iterator[tuple[str, str]]:
    return ((module, imported) for module in MODULES for imported in sorted(imports(module)))


def goes_up(module: str, imported: str) -> bool:
    package = imported.partition(".")[0]
    is_above = package in MAY_IMPORT and package not in MAY_IMPORT[module.partition(".")[0]]
    return not is_top_floor(module) and (is_above or (is_top_floor(imported) and module not in FACADE_USERS))


def test_data_flows_one_way() -> None:
    assert [pair for pair in all_imports() if goes_up(*pair)] == []
    assert goes_up("kcache_model.history", "kcache_stress.ticks")
    assert goes_up("kcache_stress.ticks", "kcache.cli.main")
    assert not goes_up("kcache_stress.ticks", "kcache_model.history")


def test_there_are_no_import_cycles() -> None:
    graph = {
        module: {imported for imported in imports(module, at_import_time=True) if imported in MODULES}
        for module in MODULES
    }
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path, module))
        if module not in done:
            for imported in sorted(graph[module] - {module}):
                # `from . import name` names the package, which is being imported already.
                if not (MODULES[imported].name == "__init__.py" and module.startswith(imported + ".")):
                    visit(imported, (*path, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_every_module_can_be_imported() -> None:
    """Wherever it is installed."""
    for module in MODULES:
        try:
            if not module.endswith("__main__"):
                importlib.import_module(module)
        except ModuleNotFoundError as error:
            if str(error.name).partition(".")[0] not in OPTIONAL:
                raise


@pytest.mark.parametrize("folder", ["model", "stress", "stateful_tests"])
def test_beside_a_package_there_are_tests_and_their_material_only(folder: str) -> None:
    allowed = {*PACKAGES, "material", "golden", "README.md", "conftest.py"}
    names = {path.name for path in (Path(__file__).parents[1] / folder).iterdir()}
    others = {name for name in names - allowed if not name.startswith((".", "__pycache__"))}
    assert [name for name in sorted(others) if not re.fullmatch(r"test_\w+\.py", name)] == []


def test_modules_stay_small() -> None:
    lines = {module: len(file.read_text(encoding="utf-8").splitlines()) for module, file in MODULES.items()}
    assert {module: number for module, number in lines.items() if number > 500} == {}


NO_NOUNS = {"What", "Which", "Who", "How", "Where", "Whether", "When", "Why", "Makes", "Finds"}


def test_docstrings_of_modules_begin_with_a_noun() -> None:
    first = {module: (ast.get_docstring(tree_of(module)) or "").partition(" ")[0] for module in MODULES}
    assert {module: word for module, word in first.items() if not word or word in NO_NOUNS} == {}


def test_a_file_name_says_where_one_is() -> None:
    names = Counter(file.name for file in MODULES.values() if file.name != "__init__.py")
    assert [name for name, times in names.items() if times > 3] == []


def test_the_model_knows_no_threads_and_no_hypothesis() -> None:
    for module in MODULES:
        if module.startswith("kcache_model"):
            assert not imports(module) & {"threading", "_thread", "hypothesis", "subprocess"}, module


def require(script: str, *options: str) -> None:
    """What a script asserts must hold in a Python of its own, where nothing has been imported."""
    command = [sys.executable, *options, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_the_core_needs_the_standard_library_alone() -> None:
    script = (
        "import sys; sys.path[:] = [path for path in sys.path if 'site-packages' not in path]\n"
        f"sys.path.insert(0, {str(PACKAGES['kcache'].parent)!r}); import kcache\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "foreign = loaded - set(sys.stdlib_module_names) - {'kcache', '__main__', '__mp_main__'}\n"
        "assert not {name for name in foreign if not name.startswith(('_', 'sitecustomize'))}, foreign\n"
        "assert not any(name.startswith('kcache.cli') for name in sys.modules)\n"
    )
    require(script, "-S")


def test_a_check_starts_without_what_it_may_not_need() -> None:
    script = (
        "import sys; explorer = tuple(f'kcache_stress.{part}' for part in ('engine', 'modules', 'runtime', 'target'))\n"
        "from kcache.cli import main; assert not [name for name in sys.modules if name.startswith(explorer)]\n"
        "main.get_command(None, 'check'); assert not [name for name in sys.modules if name.startswith(explorer)]\n"
        "from kcache_conformance.targets.target_types import target_type_named; target_type_named('indexer')\n"
        "assert not sys.modules.keys() & {'hypothesis', 'jinja2', 'kcache_conformance.fuzzing', 'kcache.informers'}"
    )
    require(script)


def test_the_list_of_commands_imports_none() -> None:
    script = (
        "import sys; from click.testing import CliRunner; from kcache.cli import main\n"
        "assert 'Commands:' in CliRunner().invoke(main, ['--help']).output\n"
        "commands = main.list_commands(None)\n"
        "assert not [name for name in commands if f'kcache.cli.{name}' in sys.modules]\n"
        "assert all(main.get_command(None, name).help for name in commands)\n"
    )
    require(script)


def test_every_public_name_exists() -> None:
    assert [name for name in kcache.__all__ if not hasattr(kcache, name)] == []


ENGINE_MAY_IMPORT = ("kcache_model.finding", "kcache_model.rules", "kcache_model.thread_time")
"""Kinds of findings, broken rules, and the time that a thread has waited: plain data."""


def test_the_engine_stands_alone() -> None:
    of_engine = [(module, other) for module, other in all_imports() if module.startswith("kcache_stress.engine")]
    inside = {pair for pair in of_engine if pair[1].startswith("kcache_stress.engine")}
    assert {other for _, other in of_engine if other.startswith("kcache")} - {to for _, to in inside} == {
        *ENGINE_MAY_IMPORT
    }
    layers: list[set[str]] = []
    left = {module for module in MODULES if module.startswith("kcache_stress.engine.")}
    while left:  # each layer needs those below it only, imports for types included
        layers.append({module for module in left if not any(other in left for of, other in inside if of == module)})
        assert layers[-1], left
        left -= layers[-1]


EXPLORER_MAY_IMPORT = (
    "kcache_stress.interpreter",
    "kcache_model.thread_time",
    "kcache_model.audited",
    "kcache_model.blob",
    "kcache_model.errors",
    "kcache_model.finding",
    "kcache_model.foreign",
    "kcache_model.places",
    "kcache_model.rules",
    "kcache_model.shared_state",
    "kcache_model.verdict",
    "kcache_model.history",
    "kcache_model.interleaving",
    "kcache_model.linearizability.monitor",
    "kcache_model.linearizability.waiting",
    "kcache_model.object_types.checking",
    "kcache_model.object_types.specification",
    "kcache_model.outcomes",
    "kcache_model.call_program",
    "kcache_model.stamped",
    "kcache_model.suspended",
    "kcache_model.errors",
    "kcache_model.progress",
    "kcache_stress.ticks",
    "kcache_stress.import_paths",
    "kcache_stress.loading",
    "kcache_stress.stacks",
)
"""What the explorer rests on: data and protocols. No process, no report, no Indexer, no queue."""

EXPLORER = tuple(
    f"kcache_stress.{part}"
    for part in (
        "engine",
        "garbage",
        "instrument",
        "judgement",
        "knowledge",
        "modules",
        "runtime",
        "strategies",
        "target",
        "trace",
    )
)


def test_the_explorer_knows_threads_and_events_only() -> None:
    of_explorer = [pair for pair in all_imports() if pair[0].startswith(EXPLORER)]
    allowed = (*EXPLORER, *EXPLORER_MAY_IMPORT)
    for module, imported in of_explorer:
        is_fact = imported == "kcache"  # where it lies
        assert is_fact or imported not in MODULES or imported.startswith(allowed), (module, imported)
        assert imported not in {"subprocess", "multiprocessing", "rich", "click", "hypothesis"}, module


LAYERS = {
    "kcache_model": (
        *("", "linearizability", "object_types", "standard_specifications", "foreign_recordings"),
        *("queues", "informers", "indexers"),
    ),
    "kcache_stress": (
        *("engine", "", "strategies", "knowledge", "instrument"),
        *("runtime.threads", "runtime.tasks", "runtime.stand_ins", "runtime"),
        *("modules", "trace", "judgement", "target", "real_threads", "interleaved", "objects", "indexers"),
    ),
    "kcache_conformance": (
        *("isolation", "phases", "targets", "results", "", "report", "fuzzing", "objects", "classes", "indexers"),
        *("queues", "informers", "interleaved", "runs", "verification"),
    ),
}
"""The folders of a package, each of which imports those before it alone; the empty one is the top folder."""


def layer_of(module: str) -> int:
    """The position in :data:`LAYERS` of the folder that a module lies in."""
    package, _, name = module.partition(".")
    folder = name if MODULES[module].name == "__init__.py" else name.rpartition(".")[0]
    while folder not in LAYERS[package]:
        folder = folder.rpartition(".")[0]
    return LAYERS[package].index(folder)


@pytest.mark.parametrize("package", LAYERS)
def test_no_folder_imports_one_above_it(package: str) -> None:
    """Imports for types included, so that there are no cycles between folders either."""
    pairs = [pair for pair in all_imports() if all(name.startswith(f"{package}.") for name in pair)]
    hint = "a folder imports the folders before it in LAYERS: move the module down, or pass it what it imports"
    assert [(of, to) for of, to in pairs if layer_of(to) > layer_of(of)] == [], hint
    assert {layer_of(of) for of, _ in pairs} == {*range(len(LAYERS[package]))}


def test_layers_are_in_order() -> None:
    assert layer_of("kcache_stress.runtime.threads.locks") < layer_of("kcache_stress.runtime.world")
    assert layer_of("kcache_stress.stacks") < layer_of("kcache_stress.real_threads.noise.source")
    assert layer_of("kcache_model.history") < layer_of("kcache_model.indexers.just_in_time.core")


def test_threads_and_the_explorer_reach_no_process_and_no_report() -> None:
    for module in MODULES:
        if module.startswith("kcache_stress"):
            assert not imports(module) & {"subprocess", "multiprocessing", "rich", "rich.console", "jinja2"}, module


def test_object_types_are_not_known_by_name() -> None:
    """What serves all object types knows none of them: adding one, or an operation to one, touches its folder only."""
    folders = ("kcache_model.object_types", "kcache_stress.objects", "kcache_conformance.objects")
    types = ("kcache_model.queues", "kcache_conformance.queues", "kcache.queues")
    assert [pair for pair in all_imports() if pair[0].startswith(folders) and pair[1].startswith(types)] == []


_OF_INDEXERS = ("kcache_model.indexers", "kcache_stress.indexers", "kcache_conformance.indexers")

OPERATIONS = {
    "kcache_model.queues.operations": ("kcache_model.queues", "kcache_conformance.queues"),
    "kcache_model.informers.program": ("kcache_model.informers", "kcache_conformance.informers"),
    "kcache_model.indexers.vocabulary": _OF_INDEXERS,
    "kcache_model.indexers.operations": _OF_INDEXERS,
}
"""The folders that may name the operations of a type."""


def test_operations_are_named_in_the_folder_of_their_type_only() -> None:
    of_types = [pair for pair in all_imports() if pair[1] in OPERATIONS]
    assert {imported for _, imported in of_types} == {*OPERATIONS}
    assert [pair for pair in of_types if not pair[0].startswith(OPERATIONS[pair[1]])] == []


OF_ONE_TYPE = (
    *_OF_INDEXERS,
    *("kcache_model.queues", "kcache_conformance.queues"),
    *("kcache_model.informers", "kcache_conformance.informers"),
    "kcache_conformance.interleaved",
)
"""The folders of one type of targets. Any class is a target, too, and fuzzing is a suite of its own."""


def test_no_general_module_names_a_type() -> None:
    """General modules import no module of a single type: `target_types.py` finds types by their names."""
    general = ("kcache_model.", "kcache_stress.", "kcache_conformance.")
    pairs = [pair for pair in all_imports() if pair[0].startswith(general) and not pair[0].startswith(OF_ONE_TYPE)]
    hint = "what differs between types is a field of ObjectType or TargetType; `target_type_named` finds a type"
    assert [pair for pair in pairs if pair[1].startswith(OF_ONE_TYPE)] == [], hint
    assert {*OF_ONE_TYPE} <= {module.rpartition(".")[0] for module in MODULES}


def modules_that_name(operation: str) -> set[str]:
    """The modules of the harness that name an operation of an Indexer: by its member, its function or its text."""
    names = {operation, operation.upper()}

    def names_it(node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute):
            return node.attr in names
        return isinstance(node, ast.Constant) and node.value == operation

    return {
        module
        for module in MODULES
        if module.startswith(_OF_INDEXERS) and any(map(names_it, ast.walk(tree_of(module))))
    } | {"kcache_model.indexers.operations"}


@pytest.mark.parametrize("operation", ["resync", "bookmark"])
def test_an_operation_of_an_indexer_is_added_in_few_files(operation: str) -> None:
    """One without arguments, one with: 24 files had to be changed once. The JSON schemas are generated."""
    named = modules_that_name(operation)
    assert len(named) <= 8, named
    assert "kcache_model.indexers.operations" in named
    assert not any(module.startswith("kcache_conformance.report") for module in named)


PASSED_ON = {"strict_errors": 39, "patience_seconds": 10, "seed": 8, "instrument": 8}
"""Options of a run that many modules pass on as arguments of their own: in how many. The numbers only shrink.

A new option is a field of ``SuiteOptions`` and a line in ``kcache/cli/options.py``. A phase reads the option from the
options of its context.
"""

_MOST_PASSED_ON = 4


def passed_on(names: set[str]) -> Counter[str]:
    """Option -> the number of modules that pass it on by its own name: ``seed=seed`` or ``seed=options.seed``."""
    found: Counter[str] = Counter()
    for module in MODULES:
        keywords = (node for node in ast.walk(tree_of(module)) if isinstance(node, ast.keyword) and node.arg in names)
        found.update(
            {str(one.arg) for one in keywords if getattr(one.value, "id", getattr(one.value, "attr", "")) == one.arg}
        )
    return found


def test_an_option_of_all_commands_is_added_in_three_files() -> None:
    counts = passed_on({field.name for field in fields(SuiteOptions)})
    assert {name: count for name, count in counts.items() if count > _MOST_PASSED_ON} == PASSED_ON
