"""Evidence as code that a reader can paste into an interpreter."""

from __future__ import annotations

from pathlib import PurePath

from .evidence import Evidence
from .objects.code import code_of
from .rules import Kind


def code_for(name: str, kind: Kind, evidence: Evidence) -> str:
    """Return code with imports, the objects, and the calls."""
    location, _, function = name.rpartition(":")
    imports, lines = [], []
    if location:
        module = PurePath(location).stem if location.endswith(".py") else location
        imports.append(f"from {module} import {function.partition('.')[0]}")
    called = function or name.rpartition(".")[2].strip("<>") or str(kind)
    single = len(evidence.fuzzed_objects) == 1
    for number, fuzzed_object in enumerate(evidence.fuzzed_objects, 1):
        variable = "obj" if single else f"obj{number}"
        if not fuzzed_object.is_plain:
            lines.append(f"{variable} = ...  # {fuzzed_object.original!r}")
            continue
        text = code_of(fuzzed_object.tree, variable)
        head, _, rest = text.partition(f"\n{variable} = ") if text.startswith(("from ", "import ")) else ("", "", "")
        if head:
            imports += [line for line in head.splitlines() if line]
            text = f"{variable} = {rest}"
        lines.append(text)
    lines += [
        f"{called}({'obj' if single else f'obj{number}'})" for number in range(1, len(evidence.fuzzed_objects) + 1)
    ]
    unique = list(dict.fromkeys(sorted(imports)))
    return "\n".join([*unique, "", *lines] if unique else lines)
