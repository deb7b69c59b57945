"""Names that instrumented code uses, and the mangling of private names."""

import ast
from typing import Final, Literal, TypeAlias

PREFIX: Final = "_kc_"
HOOK_MARK: Final = "_kc_mark"
"""Name that is defined in the globals of each instrumented module."""

Hook: TypeAlias = (
    Literal["report", "quiet", "atoms", "type", "never", "cell", "locals", "pause", "after", "slice", "start", "set"]
    | Literal["clock"]
    | Literal["read", "pair", "deep", "within", "mapping", "of_new", "compare", "inplace"]
    | Literal["getitem", "setitem", "delitem", "contains", "iterate", "turns", "lazy", "advance", "resumed", "delegate"]
    | Literal["attribute", "namespace", "setattribute", "rebind", "reflect", "by_name", "match"]
    | Literal["method", "method1", "call", "call1", "unpacked", "star", "double_star"]
)
"""Functions and sets that instrumented code uses, by these names after :data:`PREFIX`."""

GLOBALS: Final = "_kc_globals"

Function = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def hook_name(hook: Hook) -> str:
    """Return the name of a hook in instrumented code."""
    return f"{PREFIX}{hook}"


def mangle(name: str, class_name: str | None) -> str:
    """Return the name that Python uses at run time for `name` inside the class `class_name`."""
    if class_name is None or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    stripped = class_name.lstrip("_")
    return f"_{stripped}{name}" if stripped else name


def cell_token(name: str) -> str:
    """Return the name of the local with the token of the closure variable `name`."""
    return f"_kc_cell_{name}"
