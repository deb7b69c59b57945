"""Suites written by others, on instrumented modules: what each test gives must be what it gives without kcache."""

from __future__ import annotations

import fnmatch
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_CHILD = Path(__file__).with_name("child.py")
_MOST_SECONDS = 1_200
PLAIN = "plain"


@dataclass(frozen=True)
class Suite:
    """A suite of CPython's, or one that a package brings along.

    Attributes:
        tests: the module, or a package of tests for pytest.
        instrumented: the modules that are instrumented: the tests themselves, or what they test.
    """

    tests: str
    instrumented: tuple[str, ...]

    def __str__(self) -> str:
        return "-".join((self.tests.removeprefix("test."), *(name for name in self.instrumented if name != self.tests)))

    @property
    def is_there(self) -> bool:
        """Whether it is installed here."""
        try:
            return all(importlib.util.find_spec(name) for name in (self.tests, *self.instrumented))
        except ModuleNotFoundError:
            return False


def _rewritten(names: str) -> list[Suite]:
    return [Suite(f"test.{name}", (f"test.{name}",)) for name in names.split()]


QUICK = _rewritten(
    "test_contextlib test_coroutines test_except_star test_generators test_grammar test_named_expressions test_patma"
    " test_scope test_super test_unpack_ex test_with test_yield_from"
)
"""Tests that are rewritten themselves; between them they use about all of the language."""

OTHERS = _rewritten(
    "test_abc test_asyncgen test_augassign test_baseexception test_binop test_bisect test_bool test_call test_class"
    " test_code test_collections test_compare test_complex test_contains test_context test_contextlib_async test_copy"
    " test_copyreg test_csv test_dataclasses test_decorators test_defaultdict test_deque test_descr test_dict"
    " test_dictcomps test_dictviews test_dynamic test_dynamicclassattribute test_enum test_enumerate"
    " test_exception_group test_exception_variations test_exceptions test_extcall test_finalization test_fractions"
    " test_frame test_fstring test_funcattrs test_functools test_genericclass test_genexps test_global test_graphlib"
    " test_hash test_heapq test_index test_inspect test_isinstance test_iter test_iterlen test_itertools"
    " test_keywordonlyarg test_list test_listcomps test_memoryview test_metaclass test_module test_operator"
    " test_ordered_dict test_pickle test_pkg test_positional_only_arg test_pprint test_property test_queue test_raise"
    " test_range test_reprlib test_richcmp test_sched test_set test_setcomps test_shelve test_slice test_sort"
    " test_string test_structseq test_subclassinit test_textwrap test_threading_local test_tuple test_type_aliases"
    " test_type_params test_types test_typing test_unary test_unpack test_userdict test_userlist test_userstring"
    " test_weakset"
) + [
    Suite(f"test.test_{tests or name}", (name,))
    for name, tests in {
        "_collections_abc": "collections",
        "_weakrefset": "weakset",
        "bisect": "",
        "collections": "ordered_dict",
        "configparser": "",
        "contextlib": "",
        "copy": "",
        "dataclasses": "",
        "difflib": "",
        "enum": "",
        "fractions": "",
        "functools": "",
        "graphlib": "",
        "heapq": "",
        "inspect": "",
        "pprint": "",
        "queue": "",
        "reprlib": "",
        "sched": "",
        "shelve": "",
        "string": "",
        "textwrap": "",
        "typing": "",
        "weakref": "",
    }.items()
]
"""More of these, and modules that are rewritten beneath their tests."""

PACKAGES = [Suite("toolz.tests", ("toolz",))]
"""Packages that bring their tests along; they need not be installed."""

_CODE = "looks at a code object, at what its names, variables and constants are"
_FRAME = "looks at the local variables of a frame, among which temporaries are"
_TOKEN = "looks at what a function closes over: a variable that changes has a token beside it"
_GLOBALS = "runs a function with other globals or builtins, where the hooks are not"
_HOLDS = "an argument that nobody else holds lives until the statement is over, not until the callee lets go of it"
_TRACES = "counts the lines that a trace function sees, and hooks are called on them"

UNAVOIDABLE = {
    "*test_code": _CODE,
    "*test_code.CodeTest.*": _CODE,
    "*BuiltinTest.test_exec_closure": _TOKEN,
    "*ContextManagerTestCase.test_nokeepref": _HOLDS,
    "*ClassPropertiesAndMethods.test_vicious_descriptor_nonsense": "a key of a class dictionary counts its comparisons",
    "*TestIncompleteFrameAreInvisible.*": "a collection within a hook sees another frame",
    "*CellTest.test_comparison": _TOKEN,
    "*FunctionPropertiesTest.test___builtins__": _GLOBALS,
    "*FunctionPropertiesTest.test_empty_cell": _TOKEN,
    "*TestGetClosureVars.*": "asks which builtins a function uses, hooks included",
    "*TestGetGeneratorState.test_getgeneratorlocals": _FRAME,
    "*TestGetattrStatic.test_metaclass_dict_as_property": "a metaclass hides the dictionary of its classes",
    "*TestInterpreterStack.*": _FRAME,
    "*TestSignatureBind.test_signature_bind_implicit_arg": _CODE,
    "*test_patma.TestTracing.*": _TRACES,
}
"""Tests that give something else on instrumented modules, and why nothing can be done about it."""


@dataclass(frozen=True)
class Difference:
    """A test that gave something else than without kcache.

    Attributes:
        test: its name.
        plain: what it gave before.
        instrumented: what it gives now.
        error: the last error.
    """

    test: str
    plain: tuple[str, ...]
    instrumented: tuple[str, ...]
    error: str

    def __str__(self) -> str:
        return f"{self.test}: {', '.join(self.plain)} became {', '.join(self.instrumented)}\n{self.error}"


class Comparison:
    """Runs one suite, each time in a process of its own."""

    def __init__(self, suite: Suite, folder: Path) -> None:
        self._suite = suite
        self._folder = folder
        self._plain: list[dict[str, list[str]]] = []

    def differences(self, granularity: str) -> list[Difference]:
        """What differs, twice in a row, from what the suite gives where nothing is instrumented."""
        found = list(self._differences(granularity, 0))
        if not found:
            return []
        again = {difference.test for difference in self._differences(granularity, 1)}
        return [difference for difference in found if difference.test in again]

    def _differences(self, granularity: str, attempt: int) -> Iterator[Difference]:
        if len(self._plain) == attempt:
            self._plain.append(self._run(PLAIN)["given"])
        plain, run = self._plain[attempt], self._run(granularity)
        for test in sorted({*plain, *run["given"]}):
            before, now = plain.get(test, ["absent"]), run["given"].get(test, ["absent"])
            if before != now and not any(fnmatch.fnmatchcase(test, pattern) for pattern in UNAVOIDABLE):
                yield Difference(test, tuple(before), tuple(now), run["errors"].get(test, ""))

    def _run(self, granularity: str) -> dict[str, dict[str, Any]]:
        command: Sequence[str] = (sys.executable, str(_CHILD), self._tests(), granularity, *self._suite.instrumented)
        environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run(
            command,
            cwd=self._folder,
            env=environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_MOST_SECONDS,
            check=False,
        )
        found = done.stdout.rfind('{"given": ')
        assert found >= 0, f"{self._suite} ended with status {done.returncode}:\n{done.stderr[-3_000:]}"
        result: dict[str, dict[str, Any]] = json.loads(done.stdout[found:])
        assert result["given"], f"{self._suite} has no tests"
        return result

    def _tests(self) -> str:
        """What the child is told: the module, or the folder of those that pytest runs."""
        if self._suite in PACKAGES:
            spec = importlib.util.find_spec(self._suite.tests)
            assert spec is not None
            return str(Path(spec.origin or "").parent)
        return self._suite.tests
