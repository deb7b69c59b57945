"""Python code of a tree, which can be pasted."""

from __future__ import annotations

import itertools
import keyword

from .trees import Tree

_WIDTH = 88
_SHORTEST_RUN = 13
_FILE_MODULE = "kcache_target_"
"""The prefix of the names of modules that were loaded from a file; pasted code imports them by the file's name."""
_CLIENTS = ("kubernetes.", "kubernetes_asyncio.")
"""Packages whose models have many fields, each with the default ``None``."""


def code_of(tree: Tree, name: str = "obj") -> str:
    """Return statements that assign the object to ``name``; imports come first."""
    imports = sorted(imports_of(tree))
    lines = [*imports, ""] if imports else []
    return "\n".join([*lines, f"{name} = {expression(tree, len(name) + 3)}"])


def expression(tree: Tree, column: int = 0, indent: int = 0) -> str:
    """Return one expression, broken into lines if it is long."""
    flat = flat_expression(tree)
    if column + len(flat) <= _WIDTH:
        return flat
    opening, parts, closing = _parts(tree)
    if not parts or (closing == "]" and opening != "["):
        return flat  # a trailing comma after the name of an enum's member would turn it into a tuple
    inner = indent + 4
    lines = [opening]
    for label, value in parts:
        lines.append(f"{' ' * inner}{label}{expression(value, inner + len(label) + 1, inner)},")
    return "\n".join([*lines, " " * indent + closing])


def flat_expression(tree: Tree) -> str:
    """Return one expression in one line."""
    if isinstance(tree, str):
        return text_literal(tree)
    opening, parts, closing = _parts(tree)
    if not opening:
        return repr(tree)
    inside = ", ".join(label + flat_expression(value) for label, value in parts)
    comma = "," if closing == ")" and opening == "(" and len(parts) == 1 else ""
    return f"{opening}{inside}{comma}{closing}"


def _parts(tree: Tree) -> tuple[str, list[tuple[str, Tree]], str]:
    """Return the opening of the expression, its labelled parts, and its closing; all empty for scalars."""
    if isinstance(tree, list):
        return "[", [("", item) for item in tree], "]"
    if not isinstance(tree, dict):
        return "", [], ""
    match tree.get("$"):
        case None:
            return "{", [(f"{text_literal(key)}: ", value) for key, value in tree.items()], "}"
        case "dict":
            return "{", [(f"{flat_expression(key)}: ", value) for key, value in tree["items"]], "}"
        case "tuple":
            return "(", [("", item) for item in tree["items"]], ")"
        case "set" if tree["items"]:
            return "{", [("", item) for item in tree["items"]], "}"
        case "set" | "frozenset" as kind:
            return f"{kind}(", [("", tree["items"])] if tree["items"] else [], ")"
        case "namespace":
            return "SimpleNamespace(", _keywords(tree["fields"]), ")"
        case "object":
            return f"{_qualname(tree)}(", _keywords(_passed_fields(tree)), ")"
        case "float":
            return "float(", [("", tree["text"])], ")"
        case "bytes" | "bytearray" as kind:
            return f"{kind}.fromhex(", [("", tree["hex"])], ")"
        case "datetime":
            return "datetime.fromisoformat(", [("", tree["text"])], ")"
        case "standard":
            return f"{_qualname(tree)}(", [("", argument) for argument in tree["arguments"]], ")"
        case "enum":
            return f"{_qualname(tree)}[", [("", tree["name"])], "]"
    return "", [], ""


def _passed_fields(tree: Tree) -> dict[str, Tree]:
    """Return the fields that are passed to the class."""
    is_short = tree["class"].startswith(_CLIENTS)
    return {
        name: value
        for name, value in tree["fields"].items()
        if name not in tree.get("late", ()) and not (is_short and value is None)
    }


def _keywords(fields: dict[str, Tree]) -> list[tuple[str, Tree]]:
    odd = [[name, value] for name, value in fields.items() if not name.isidentifier() or keyword.iskeyword(name)]
    usual = [(f"{name}=", value) for name, value in fields.items() if [name, value] not in odd]
    return [*usual, ("**", {"$": "dict", "items": odd})] if odd else usual


def _qualname(tree: Tree) -> str:
    return str(tree["class"]).partition(":")[2]


def text_literal(text: str) -> str:
    """Return a text literal; long runs of one character become a product."""
    if len(text) < 2 * _SHORTEST_RUN:
        return _quoted(text)
    parts: list[str] = []
    plain = ""
    for character, group in itertools.groupby(text):
        number = len(list(group))
        if number < _SHORTEST_RUN:
            plain += character * number
            continue
        if plain:
            parts.append(_quoted(plain))
            plain = ""
        parts.append(f"{_quoted(character)} * {number}")
    if plain:
        parts.append(_quoted(plain))
    return " + ".join(parts)


def _quoted(text: str) -> str:
    literal = ascii(text) if any(not character.isprintable() for character in text) else repr(text)
    if literal.startswith("'") and '"' not in literal and "\\'" not in literal:
        return f'"{literal[1:-1]}"'
    return literal


def imports_of(tree: Tree) -> set[str]:
    """Return the import statements for the names in an expression."""
    imports: set[str] = set()
    stack = [tree]
    while stack:
        part = stack.pop()
        if isinstance(part, list):
            stack += part
        elif isinstance(part, dict):
            match part.get("$"):
                case "namespace":
                    imports.add("from types import SimpleNamespace")
                case "datetime":
                    imports.add("from datetime import datetime")
                case "object" | "enum" | "standard":
                    module, _, qualname = part["class"].partition(":")
                    if module != "builtins":
                        imports.add(f"from {module.removeprefix(_FILE_MODULE)} import {qualname.partition('.')[0]}")
            stack += part.values()
    return imports
