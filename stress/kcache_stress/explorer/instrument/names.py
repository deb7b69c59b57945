"""The names that instrumented code uses, and the way Python mangles private ones."""

import ast
from typing import Final

HOOK_MARK: Final = "_kc_mark"
"""Present in the globals of each instrumented module."""

PREFIX: Final = "_kc_"
REPORT: Final = "_kc_report"
QUIET: Final = "_kc_quiet"
ATOMS: Final = "_kc_atoms"
TYPE: Final = "_kc_type"
NEVER: Final = "_kc_never"
GLOBALS: Final = "_kc_globals"
CELL: Final = "_kc_cell"
LOCALS: Final = "_kc_locals"
PAUSE: Final = "_kc_pause"
AFTER: Final = "_kc_after"
SLICE: Final = "_kc_slice"
READ: Final = "_kc_read"
PAIR: Final = "_kc_pair"
DEEP: Final = "_kc_deep"
WITHIN: Final = "_kc_within"
MAPPING: Final = "_kc_mapping"
OF_NEW: Final = "_kc_of_new"
COMPARE: Final = "_kc_compare"
INPLACE: Final = "_kc_inplace"
GETITEM: Final = "_kc_getitem"
SETITEM: Final = "_kc_setitem"
DELITEM: Final = "_kc_delitem"
CONTAINS: Final = "_kc_contains"
ITER: Final = "_kc_iter"
TURNS: Final = "_kc_turns"
LAZY: Final = "_kc_lazy"
NEXT: Final = "_kc_next"
RESUMED: Final = "_kc_resumed"
DELEGATE: Final = "_kc_delegate"
ATTRIBUTE: Final = "_kc_attribute"
NAMESPACE: Final = "_kc_namespace"
MATCH: Final = "_kc_match"
REFLECT: Final = "_kc_reflect"
BY_NAME: Final = "_kc_by_name"
REBIND: Final = "_kc_rebind"
SETATTRIBUTE: Final = "_kc_setattribute"
METHOD: Final = "_kc_method"
METHOD1: Final = "_kc_method1"
CALL: Final = "_kc_call"
CALL1: Final = "_kc_call1"
UNPACKED: Final = "_kc_unpacked"
STAR: Final = "_kc_star"
DOUBLE_STAR: Final = "_kc_double_star"
START: Final = "_kc_start"
SITES: Final = "_kc_sites"
ITERATOR: Final = "_kc_iterator"
CONTEXT: Final = "_kc_context"
EMPTY_SET: Final = "_kc_set"
COMPREHENSION: Final = "_kc_comprehension"
"""Begins the names of the functions that comprehensions become: no hooks, but code of the module under test."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def mangle(name: str, class_name: str | None) -> str:
    """Return the name that Python really uses for `name` inside the class `class_name`."""
    if class_name is None or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    stripped = class_name.lstrip("_")
    return f"_{stripped}{name}" if stripped else name


def cell_token(name: str) -> str:
    """Return the name of the local that stands for the closure variable `name`."""
    return f"_kc_cell_{name}"
