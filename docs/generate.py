"""The generated files: commands.md from the help texts, api.md from docstrings, the operations in JSON schemas.

python docs/generate.py          # writes all
python docs/generate.py --check  # exit code 1 where one is not what would be written
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

import kcache_model
from kcache.cli import main
from kcache_model.indexers.operations import OperationName

FOLDER = Path(__file__).parent
MODULES = ("kcache", "kcache.testing", "kcache.extending")
SECTION = re.compile(r"^(Args|Attributes|Raises|Returns|Yields):\n((?:[ ]{4}.*\n?|\n)+)", re.MULTILINE)
Definition = ast.FunctionDef | ast.AsyncFunctionDef
GENERATED = "<!-- Written by docs/generate.py: change the source, then run it again. -->"


def commands_page() -> str:
    """The reference of the command line, from the help texts."""
    context = click.Context(main, info_name="kcache", **main.context_settings)
    parts = [
        "# Commands",
        GENERATED,
        "The same as `kcache COMMAND --help`.",
        *_help(main),
        *_table(
            "command", [(f"[{name}](#kcache-{name})", _command(name).get_short_help_str(200)) for name in _names()]
        ),
    ]
    for name in _names():
        command = _command(name)
        own = click.Context(command, info_name=name, parent=context, **command.context_settings)
        usage = " ".join(["kcache", name, *command.collect_usage_pieces(own)])
        parts += [f"## kcache {name}", f"```text\n{usage}\n```", *_help(command)]
        options = [parameter for parameter in command.get_params(own) if isinstance(parameter, click.Option)]
        records = [record for option in options if (record := option.get_help_record(own))]
        parts += _table("option", [(f"`{option}`", text) for option, text in records])
    return "\n\n".join(parts) + "\n"


def _names() -> list[str]:
    return main.list_commands(click.Context(main))


def _command(name: str) -> click.Command:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    return command


def _help(command: click.Command) -> Iterator[str]:
    """Paragraphs of a help text and of what stands at its end; what click leaves as it is becomes a block."""
    for paragraph in re.split(r"\n{2,}", f"{inspect.cleandoc(command.help or '')}\n\n{command.epilog or ''}".strip()):
        title, is_kept, kept = paragraph.partition("\b\n")
        if is_kept:
            yield f"```text\n{inspect.cleandoc(kept)}\n```"
        elif paragraph:
            yield " ".join(title.split())


def _table(head: str, rows: list[tuple[str, str]]) -> list[str]:
    lines = [f"| {left} | {' '.join(right.split())} |".replace("\\", "\\\\") for left, right in rows]
    escaped = [re.sub(r"(?<=\w)\|(?=\w)", r"\\|", line) for line in lines]
    return ["\n".join([f"| {head} | |", "| --- | --- |", *escaped])] if rows else []


def api_page() -> str:
    """The reference of the public names, from their sources."""
    parts = ["# Python API", GENERATED, "The public names of each module, with their signatures."]
    for module in MODULES:
        names = ast.literal_eval(_found(module, "__all__")[0].value)  # type: ignore[attr-defined]
        intro = (ast.get_docstring(_tree(module)) or "").partition("\n\n")[0]
        parts += [f"## {module}", _markdown(intro)]
        for name in names:
            node, documentation = _found(module, name)
            parts += [f"### {name}", f"```python\n{_signature(name, node)}\n```", _markdown(documentation)]
            parts += _methods(node) if isinstance(node, ast.ClassDef) else []
    return "\n\n".join(filter(None, parts)) + "\n"


@functools.cache
def _tree(module: str) -> ast.Module:
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return ast.parse(Path(spec.origin).read_text(encoding="utf-8"))


def _found(module: str, name: str) -> tuple[ast.AST, str]:
    """The definition of a name, in the module that has it, and its docstring."""
    tree = _tree(module)
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        if isinstance(node, Definition | ast.ClassDef) and node.name == name:
            return node, ast.get_docstring(node) or ""
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            is_told = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            return node, inspect.cleandoc(str(after.value.value)) if is_told else ""  # type: ignore[union-attr]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and name in [alias.asname or alias.name for alias in node.names]:
            (original,) = [alias.name for alias in node.names if name == (alias.asname or alias.name)]
            base = "." * node.level + (node.module or "")
            spec = importlib.util.find_spec(module)
            package = module if spec and spec.submodule_search_locations else module.rpartition(".")[0]
            return _found(importlib.util.resolve_name(base, package), original)
    raise LookupError(f"{module} has no {name}")


def _signature(name: str, node: ast.AST) -> str:
    if isinstance(node, Definition):
        return _call(node.name, node.args, node.returns)
    if not isinstance(node, ast.ClassDef):
        return ast.unparse(node)
    bases = [ast.unparse(base) for base in node.bases]
    made = [_call(name, one.args, None) for one in node.body if isinstance(one, Definition) and one.name == "__init__"]
    fields = [
        one for one in node.body if isinstance(one, ast.AnnAssign) and not ast.unparse(one.target).startswith("_")
    ]
    if not made and any("dataclass" in ast.unparse(one) for one in node.decorator_list):
        made = [_folded(name, [ast.unparse(one).replace(" = field(", " = (") for one in fields], "")]
    values = [ast.unparse(one) for one in node.body if isinstance(one, ast.Assign) and "Enum" in "".join(bases)]
    return "\n".join([f"class {name}({', '.join(bases)})" if bases else f"class {name}", *made, *values])


def _call(name: str, arguments: ast.arguments, returns: ast.expr | None) -> str:
    own = ast.parse(f"def f({ast.unparse(arguments)}): ...").body[0].args  # type: ignore[attr-defined]
    for some in (own.posonlyargs, own.args):
        if some and some[0].arg in ("self", "cls"):
            del some[0]
            break
    text = f"{name}({ast.unparse(own)})" + (f" -> {ast.unparse(returns)}" if returns is not None else "")
    if len(text) <= 100:
        return text
    parts = re.split(r", (?![^\[(]*[\])])", ast.unparse(own))
    return _folded(name, parts, text[len(name) + len(ast.unparse(own)) + 2 :])


def _folded(name: str, parts: list[str], rest: str) -> str:
    text = f"{name}({', '.join(parts)}){rest}"
    return text if len(text) <= 100 else f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){rest}"


def _methods(node: ast.ClassDef) -> list[str]:
    """A list of the public methods; of overloads, the one that says all."""
    public = {one.name: one for one in node.body if isinstance(one, Definition) and not one.name.startswith("_")}
    lines = []
    for name, one in public.items():
        is_property = any("property" in ast.unparse(decorator) for decorator in one.decorator_list)
        shown = name if is_property else " ".join(_call(name, one.args, one.returns).split())
        first = " ".join(_markdown((ast.get_docstring(one) or "").partition("\n\n")[0]).split())
        lines.append(f"* `{shown}`" + (f": {first}" if first else ""))
    return ["\n".join(lines)] if lines else []


def _markdown(docstring: str) -> str:
    """A docstring of Google's convention as Markdown."""
    text = re.sub(r":(?:class|func|meth|mod|data|attr|exc):`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", docstring)
    text = SECTION.sub(_section, text + "\n")
    return re.sub(r"``(.+?)``", r"`\1`", text).strip()


def _section(found: re.Match[str]) -> str:
    entries = re.split(r"\n(?=\S)", inspect.cleandoc(found[2]))
    lines = [" ".join(entry.split()) for entry in entries]
    if found[1] in ("Returns", "Yields"):
        return f"**{found[1]}:** {' '.join(lines)}\n\n"
    named = [re.sub(r"^([\w.*]+): ", r"`\1`: ", line) for line in lines]
    return f"**{found[1]}**\n\n" + "".join(f"* {line}\n" for line in named) + "\n"


def schema_file(name: str) -> str:
    """A JSON schema with the names of all operations of an Indexer."""
    data = json.loads((FOLDER / SCHEMAS / name).read_text(encoding="utf-8"))
    data["$defs"]["operation"]["properties"]["op"]["enum"] = [operation.value for operation in OperationName]
    return json.dumps(data, indent=2) + "\n"


SCHEMAS = os.path.relpath(Path(kcache_model.__file__).parent / "schemas", FOLDER)
PAGES = {
    "commands.md": commands_page,
    "api.md": api_page,
    **{
        f"{SCHEMAS}/{name}": functools.partial(schema_file, name)
        for name in ("events.schema.json", "history.schema.json", "program.schema.json")
    },
}


def stale() -> list[str]:
    """The pages that are not what would be written now."""
    return [
        name
        for name, made in PAGES.items()
        if not (FOLDER / name).is_file() or (FOLDER / name).read_text(encoding="utf-8") != made()
    ]


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(f"stale: {', '.join(stale())}; run python docs/generate.py" if stale() else 0)
    for page, make in PAGES.items():
        (FOLDER / page).write_text(make(), encoding="utf-8")
