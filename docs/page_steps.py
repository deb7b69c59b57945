"""Pages that are followed: files are written, changes are made, commands print what is shown."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

Run = Callable[..., CompletedProcess[str]]

_VARIABLE = (
    (re.compile(r"\S*/site-packages/"), ""),
    (re.compile(r"(?<=  tested: )\S.*"), "VERSION, FILE"),
    (re.compile(r"CPython [0-9.]+( \(free-threaded\))?"), "CPython"),
    (re.compile(r"paused at\s+"), "paused at "),
    (re.compile(r"\b(k[a-z]1\.(?:[\w=.:]+\.)?)eN\S+"), r"\1WORD"),
    (re.compile(r"(?<=kcache replay )[0-9a-f]{8}\b"), "SHORT"),
    (re.compile(r"[0-9]+ (executions|programs|operations|rounds|scenarios)"), r"N \1"),
    (re.compile(r"([0-9]+|all|none) of them exhausted"), "N of them exhausted"),
    (re.compile(r" --trust$", re.MULTILINE), ""),  # where the examples lie outside of the folder
    (re.compile(r"[0-9.]+ ?s\b"), "N s"),
)
_FILES = ("python", "toml", "ini", "yaml")


def blocks(text: str, *languages: str) -> list[str]:
    """The contents of the fenced blocks in these languages."""
    return [content for language, content in _fenced(text) if language in languages]


def steps(text: str) -> Iterator[tuple[str, str]]:
    """What is to be done, in order.

    Yields:
        The name of a file, in a comment in its first line, and its content; or a change of one, as a diff of one place;
        or a command with ``$``, and what it shows; or ``...``, and what else the last command shows; or, without a
        name, code that is run as it is.
    """
    for language, block in _fenced(text):
        first, _, rest = block.partition("\n")
        if language in _FILES and re.fullmatch(r"# [\w./-]+\.\w+", first):
            yield first.removeprefix("# "), block
        elif language == "python":
            yield "", block
        elif language == "text":
            yield "...", block
        elif language == "diff":
            yield first.removeprefix("--- "), rest
        elif language == "console":
            for command in re.split(r"^(?=\$ )", block, flags=re.MULTILINE)[1:]:
                line, _, shown = command.partition("\n")
                yield line, shown


def follow(text: str, folder: Path, run: Run, **variables: Any) -> None:
    """Do what a page says.

    Of what a command prints, the page may leave out lines, for which ``...`` stands; a command of which nothing is
    shown must be a right one. Commands of others, such as pip, are not run.
    """
    names: dict[str, Any] = {}
    printed, errors = "", ""
    for name, content in steps(text):
        if not name:
            exec(content, names)
        elif not name.startswith(("$ ", "...")):
            _write(folder / name, content)
        if name.startswith("$ "):
            command = shlex.split(name.removeprefix("$ "), comments=True)
            if command[0] not in ("kcache", "pytest"):
                continue
            done = run(folder, *command, **variables)
            printed, errors = done.stdout, done.stderr
            assert content or done.returncode != 2, (name, printed, errors)
        if name.startswith(("$ ", "...")):
            for part in re.split(r"^ *\.\.\.\n", content, flags=re.MULTILINE):
                assert normalised(part) in normalised(printed), (name, part, printed, errors)


def normalised(text: str) -> str:
    """Without what differs from run to run, and without blanks around it."""
    for pattern, replacement in _VARIABLE:
        text = pattern.sub(replacement, text)
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()


def _fenced(text: str) -> list[tuple[str, str]]:
    return re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def _write(file: Path, content: str) -> None:
    lines = content.splitlines(keepends=True)
    if file.exists() and lines and all(line[0] in " +-\n" for line in lines):
        old, new = ("".join(line[1:] for line in lines if line[0] in kept) for kept in (" -", " +"))
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1, (file.name, old)
        content = text.replace(old, new)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, encoding="utf-8")
