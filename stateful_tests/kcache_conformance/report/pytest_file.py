"""A finding as a pytest test of a few lines, to be pasted into a report."""

from __future__ import annotations

import ast
import builtins
import keyword
import os
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kcache_model.finding import Finding, FindingKind
from kcache_model.interleaved_program import InterleavedProgram
from kcache_model.object_types.plain import MethodCall, ObjectProgram, imports_of
from kcache_model.target_name import TargetName, target_name
from kcache_stress.target.replay_token import ReplayToken

from ..targets.class_names import BETWEEN, PREFIX
from ..targets.replay_request import ReplayRequest
from ..targets.rule_call import RuleCall
from ..targets.token_trust import needs_trust
from .finding_text import short_summary
from .issue_text import file_of, scenario_lines, versions

_WIDTH: Final = 88
_KCACHE: Final = "from kcache import testing as kt"
_OPERATORS: Final = {"__getitem__": "{}[{}]", "__contains__": "{1} in {0}", "__len__": "len({})"}
_MARK: Final = "interleaved"


@dataclass(frozen=True)
class PytestFile:
    """A file with one test.

    Attributes:
        text: its source.
        test: the name of the test.
        is_search: whether the test searches its interleavings: the caller must try whether that detects the same fault.
    """

    text: str
    test: str
    is_search: bool = False


def pytest_files(file: Path, word: str, token: ReplayToken[Any], finding: Finding | None) -> Iterator[PytestFile]:
    """Yield tests of a finding, readable ones first; the last test follows the token, and works for every finding.

    Args:
        file: the file to write to.
        word: the replay token.
        token: the content of the token.
        finding: the finding that it reproduces; ``None`` if it reproduces none any more.
    """
    name = target_name(token.target)
    if finding is not None and finding.kind is not FindingKind.DATA_RACE:
        body = _body(token, name) if isinstance(token.program, InterleavedProgram) else _calls(token, name, word)
        if body is not None:
            imports, test, lines = body
            head = (*_comment(token, finding), f"# {ReplayRequest((word,)).command}", *_sorted(imports))
            yield PytestFile(_joined(head, lines), test, is_search=True)
    yield _following(file, word, token, finding)


def _following(file: Path, word: str, token: ReplayToken[Any], finding: Finding | None) -> PytestFile:
    """Return a test that follows the token; a token with a file finds it only from today's working directory."""
    name = target_name(token.target)
    test = f"test_{_identifier(name)}_{token.kind.value.replace('-', '_')}"
    is_here = "site-packages" not in Path(file_of(name)).parts
    imports = ["from pathlib import Path", "", _KCACHE] if is_here else [_KCACHE]
    lines = [f"def {test}(monkeypatch):" if is_here else f"def {test}():"]
    scenario = "" if finding is None else "; ".join(scenario_lines(token, finding))
    if scenario and not isinstance(token.program, InterleavedProgram):
        quoted = scenario.replace("\\", "\\\\").replace('"""', "'''")
        mark = '"""'
        lines += _wrapped(f"{mark}{quoted}{' ' * quoted.endswith(chr(34))}{mark}", "    ")
    if is_here:
        folder = Path(os.path.relpath(Path.cwd(), file.absolute().parent)).as_posix()
        seen_from = "Path(__file__).parent" if folder == "." else f'Path(__file__).parent / "{folder}"'
        lines.append(f"    monkeypatch.chdir({seen_from})")
    trust = ", trust=True" if needs_trust([word]) else ""
    lines.append(f'    kt.replay("{word}"{trust})')
    return PytestFile(_joined((*_comment(token, finding), *imports), lines), test)


def _comment(token: ReplayToken[Any], finding: Finding | None) -> list[str]:
    """Return a comment with the fault and the versions."""
    interleaving = None if finding is None else finding.interleaving
    what = f"{token.kind.value} in {token.target}, once"
    if finding is not None:
        what = short_summary(finding)
    return _wrapped(f"{what}: {', '.join(versions(token.target, interleaving))}", "# ")


def _wrapped(text: str, begins: str) -> list[str]:
    """Return the wrapped lines of a text, each with the prefix ``begins``."""
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=begins,
        subsequent_indent=begins,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _marked(token: ReplayToken[Any]) -> str:
    """Return the decorator of a test that searches its interleavings."""
    packages = f"(instrument={list(token.instrument)!r})".replace("'", '"') if token.instrument else ""
    return f"@kt.{_MARK}{packages}"


def _joined(head: Sequence[str], lines: Sequence[str]) -> str:
    return "\n".join((*head, "", "", *lines, ""))


def _sorted(imports: set[str]) -> list[str]:
    return sorted(imports, key=lambda line: (not line.startswith("import "), line.split()[1].lower(), line))


def _identifier(name: TargetName) -> str:
    return re.sub(r"\W+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.attribute)).strip("_").lower()


def _calls(token: ReplayToken[Any], name: TargetName, word: str) -> tuple[set[str], str, list[str]] | None:
    """Return imports, name and lines of a body that calls a class; ``None`` if it would compare something else.

    ``serializable`` compares whole threads, so each thread makes one call; an exception before them ends the body.
    """
    program = token.program
    is_class = PREFIX in word and isinstance(program, ObjectProgram) and BETWEEN not in word
    if not is_class or len(program.threads) < 2 or any(len(thread) != 1 for thread in program.threads):
        return None
    first = name.attribute.partition(".")[0]
    test = _identifier(name)
    subject = test if test != first and not keyword.iskeyword(test) and not hasattr(builtins, test) else "made"
    before = [f"    {_called(subject, call)}" for call in program.prefix]
    works = [f"lambda: {_called(subject, thread[0])}" for thread in program.threads]
    one_line = f"    kt.run({', '.join(works)}, serializable=True)"
    run = [one_line]
    if len(one_line) > _WIDTH:
        run = ["    kt.run(", *(f"        {work}," for work in (*works, "serializable=True")), "    )"]
    makes = f"{name.attribute}{name.call or '()'}"
    is_rule = isinstance(program.threads[0][0], RuleCall)
    making = [f"    {line.format(makes)}" for line in (RuleCall.making if is_rule else (f"{subject} = {{}}",))]
    lines = [_marked(token), f"def test_{test}():", *making]
    module = name.module or Path(name.location).stem
    return {_KCACHE, f"from {module} import {first}", *imports_of(program)}, f"test_{test}", [*lines, *before, *run]


def _called(subject: str, call: MethodCall) -> str:
    """Return a call as Python source."""
    if isinstance(call, RuleCall):
        return call.code(_literal)
    arguments = [_literal(value) for value in call.arguments]
    if call.is_attribute:
        return f"{subject}.{call.name}"
    if call.name in _OPERATORS:
        return _OPERATORS[call.name].format(subject, *arguments)
    return f"{subject}.{call.name}({', '.join(arguments)})"


def _literal(value: object) -> str:
    text = repr(value)
    return f'"{text[1:-1]}"' if isinstance(value, str) and '"' not in text and text[0] == "'" else text


def _body(token: ReplayToken[Any], name: TargetName) -> tuple[set[str], str, list[str]] | None:
    """Return imports, name and lines of a test body; ``None`` if it needs other parts of its module than imports."""
    try:
        source = Path(file_of(name)).read_text(encoding="utf-8")
        module = ast.parse(source)
    except (OSError, SyntaxError, ValueError):
        return None
    function = next((node for node in module.body if getattr(node, "name", None) == name.attribute), None)
    if not isinstance(function, ast.FunctionDef) or ast.unparse(function.args) or token.program.parameters:
        return None
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    missing = {node.id for node in names} - {node.id for node in names if isinstance(node.ctx, ast.Store)}
    missing -= {node.name for node in ast.walk(function) if isinstance(node, ast.FunctionDef)} | vars(builtins).keys()
    missing -= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    imports = set[str]()
    for node in module.body:
        for alias in node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ():
            bound = alias.asname or alias.name.partition(".")[0]
            if bound in missing and not (isinstance(node, ast.ImportFrom) and node.level):
                origin = f"from {node.module} " if isinstance(node, ast.ImportFrom) else ""
                imports.add(f"{origin}import {ast.unparse(alias)}")
                missing.discard(bound)
    if missing:
        return None
    first = min([function.lineno, *(mark.lineno for mark in function.decorator_list)])
    lines = textwrap.dedent("\n".join(source.splitlines()[first - 1 : function.end_lineno])).splitlines()
    test = name.attribute if name.attribute.startswith("test") else f"test_{name.attribute}"
    lines[function.lineno - first] = lines[function.lineno - first].replace(f"def {name.attribute}", f"def {test}", 1)
    if not any(_MARK in ast.unparse(mark) for mark in function.decorator_list):
        lines.insert(0, _marked(token))
        imports.add(_KCACHE)
    return imports, test, lines
