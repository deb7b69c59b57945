"""Issue text: a finding as an issue in Markdown for the project with the fault."""

from __future__ import annotations

import ast
import functools
import platform
import re
import textwrap
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any, Final

import kcache
from kcache_model.call_program import CallProgram
from kcache_model.finding import Finding
from kcache_model.interleaved_program import InterleavedProgram
from kcache_model.interleaving import Interleaving
from kcache_model.places import short_path
from kcache_model.render import operation_text, printable
from kcache_model.target_name import TargetName, target_name
from kcache_stress import interpreter
from kcache_stress.import_paths import file_of_module
from kcache_stress.target.replay_token import ReplayToken

from ..targets.replay_request import ReplayRequest
from .finding_text import EXPLANATIONS, short_summary
from .story import story_lines, story_sentences

FILL_IN: Final = "**TO FILL IN**: what the documentation promises about threads"
"""The text that replaces the promise if no docstring states one."""

_ABOUT_THREADS: Final = re.compile(
    r"\b(multi-?)?thread|\block(s|ed|ing)?\b|\bconcurren|\batomic|\bsynchroni[sz]", re.IGNORECASE
)
_SENTENCE_ENDS: Final = re.compile(r"(?<=[.!?])\s+|\n\s*\n")
_CONFIRMATIONS: Final = ("confirmed on ", "not tried ")
_NOT_TRIED: Final = "not tried with real threads: the scheduler of kcache ran the interleaving"
_MOST_QUOTES: Final = 3


def issue_text(word: str, token: ReplayToken[Any], finding: Finding) -> str:
    """Return the issue for a maintainer: promise, versions, scenario, interleaving, confirmation, tests, and replay.

    Args:
        word: the replay token.
        token: the content of the token.
        finding: the finding that it reproduces.
    """
    name = target_name(token.target)
    interleaving = finding.interleaving
    sections = (
        ("What is promised", _promise(token, interleaving)),
        ("Versions", "\n".join(f"* {line}" for line in versions(token.target, interleaving))),
        ("Scenario", _scenario(token, finding)),
        ("What happens", _what_happens(finding, interleaving)),
        ("Confirmation", _confirmation(finding)),
        ("To see it without kcache", _block(finding.standalone, "python") if finding.standalone else ""),
        ("To see it", _steps(word, token, interleaving)),
    )
    title = f"# {name.attribute}: {short_summary(finding)}"
    return printable(title) + "\n" + "".join(f"\n## {head}\n\n{body}\n" for head, body in sections if body)


def _promise(token: ReplayToken[Any], interleaving: Interleaving | None) -> str:
    """Return sentences about threads in docstrings of the target and of the code that ran; a test promises nothing."""
    name = target_name(token.target)
    places = _places(interleaving)
    own = file_of(name)
    if isinstance(token.program, InterleavedProgram):
        places.pop(own, None)
    else:
        places = {own: set(), **places}
    quotes = [
        f"> {printable(sentence)}\n\n(docstring of `{where}`)"
        for path, lines in places.items()
        for where, sentence in _about_threads(Path(path), lines, name.attribute)
    ]
    silent = "; the docstrings around the accesses do not mention them" if places else ""
    return "\n\n".join(tuple(dict.fromkeys(quotes))[:_MOST_QUOTES]) or f"{FILL_IN}{silent}."


def file_of(name: TargetName) -> str:
    """Return the file of a target, in the form that events use; empty if it cannot be found."""
    path = name.location if name.module is None else file_of_module(name.module)
    return short_path(path) if path else ""


def _places(interleaving: Interleaving | None) -> dict[str, set[int]]:
    """Return the files of the target that have events, each with the lines."""
    places: dict[str, set[int]] = {}
    for event in () if interleaving is None else interleaving.events:
        if event.path:
            places.setdefault(event.path, set()).add(int(event.where.rpartition(":")[2]))
    return places


def _about_threads(file: Path, lines: Iterable[int], name: str) -> Iterator[tuple[str, str]]:
    """Yield the names of the class and of classes around the lines, then of the module, each with a sentence."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    around: list[tuple[str, ast.ClassDef | ast.Module]] = [
        (node.name, node)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and (node.name == name or any(node.lineno <= line <= (node.end_lineno or 0) for line in lines))
    ]
    for where, node in (*around, (file.name, tree)):
        for sentence in _SENTENCE_ENDS.split(ast.get_docstring(node) or ""):
            if _ABOUT_THREADS.search(sentence):
                yield where, " ".join(sentence.split())


@functools.cache
def _distributions() -> dict[str, list[str]]:
    return dict(packages_distributions())


def _packages(target: str, interleaving: Interleaving | None) -> list[str]:
    """Return ``NAME==VERSION`` of the installed packages whose code is the target, or ran."""
    module = target_name(target).module
    names = [] if module is None else [module.partition(".")[0]]
    for path in _places(interleaving):
        _, separator, within = Path(path).as_posix().rpartition("/site-packages/")
        if separator:
            names.append(within.partition("/")[0].removesuffix(".py"))
    installed = dict.fromkeys(name for package in names for name in _distributions().get(package, ()))
    return [f"{name}=={version(name)}" for name in installed if name != "kcache"]


def versions(target: str, interleaving: Interleaving | None) -> Iterator[str]:
    """Yield the packages whose code is the target or ran, the interpreter, and kcache, each with its version."""
    yield from (package.replace("==", " ") for package in _packages(target, interleaving))
    yield f"{interpreter.name()}, {platform.system()}"
    yield f"kcache {kcache.__version__}"


def _scenario(token: ReplayToken[Any], finding: Finding) -> str:
    return _block(finding.script, "python") if finding.script else _block("\n".join(scenario_lines(token, finding)))


def scenario_lines(token: ReplayToken[Any], finding: Finding) -> list[str]:
    """Return the calls before the threads start, and the calls of each thread."""
    interleaving = finding.interleaving
    if interleaving is not None and interleaving.calls:
        before = [f"before: {text} -> {outcome}" for text, outcome in interleaving.before]
        return [*before, *(f"thread {call.thread + 1}: {call.text}" for call in interleaving.calls)]
    program = token.program
    if not isinstance(program, CallProgram):
        return []
    before = [operation_text(operation) for operation in program.prefix]
    threads = [
        f"thread {number}: {', '.join(map(operation_text, own))}" for number, own in enumerate(program.threads, 1)
    ]
    return [", ".join(before), *threads] if before else threads


def _what_happens(finding: Finding, interleaving: Interleaving | None) -> str:
    parts = [EXPLANATIONS.get(finding.kind, ""), printable(finding.summary)]
    if interleaving is not None:
        parts += [" ".join(story_sentences(interleaving)), _block("\n".join(story_lines(interleaving)))]
    return "\n\n".join(filter(None, parts))


def _confirmation(finding: Finding) -> str:
    lines = finding.detail.splitlines()
    said = next((line for line in lines if line.startswith(_CONFIRMATIONS)), "")
    if not said and finding.interleaving is None:
        return ""
    if not said:
        said = f"not confirmed: {finding.unconfirmed}" if finding.unconfirmed else _NOT_TRIED
    needed = next((line for line in lines if re.match(r"\d+ preemption", line)), "")
    text = ". ".join(part.rstrip(".") for part in (said, needed) if part)
    return printable(f"{text[:1].upper()}{text[1:]}.")


def _steps(word: str, token: ReplayToken[Any], interleaving: Interleaving | None) -> str:
    location = target_name(token.target).location
    install = " ".join((*_packages(token.target, interleaving), f"kcache=={kcache.__version__}"))
    where = f"With the file `{location}` in place:\n\n" if location.endswith(".py") else ""
    return where + _block(f"$ pip install {install}\n$ {ReplayRequest((word,)).command}", "console")


def _block(text: str, language: str = "") -> str:
    return f"```{language}\n{textwrap.dedent(printable(text)).strip()}\n```" if text else ""
