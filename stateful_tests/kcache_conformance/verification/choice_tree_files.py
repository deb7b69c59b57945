"""Files of choice trees: a line for the certificate, then a line for each program of the bound, in their order."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from kcache_model.decoding import list_of, text_of
from kcache_model.errors import FormatError

SCHEMA: Final = "kcache/choice-trees/1"


@dataclass(frozen=True)
class Header:
    """Subject of a verification.

    Attributes:
        target: name of the implementation.
        bound: the bound, as text.
        options: the options of the run, as JSON.
        executions: number of recorded executions.
    """

    target: str
    bound: str
    options: Mapping[str, Any]
    executions: int = 0


class ChoiceTrees:
    """Folder in which the processes of a verification collect choice trees.

    Args:
        folder: the folder; it exists.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, program: Any, tree: Mapping[str, Any] | None) -> None:
        """Record the tree of an encoded program; ``None`` if the proof has none."""
        tree = tree or {"unchecked": "its proof has no choice tree: more modules were instrumented, or waits timed out"}
        with (self._folder / f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
            print(json.dumps({"program": program, "tree": tree}, separators=(",", ":")), file=file)

    def write(self, path: Path, header: Header, programs: Iterator[Any]) -> None:
        """Write the header and the trees of the encoded programs, in the order of the programs; gzip for ``*.gz``.

        Raises:
            OSError: the file cannot be written.
        """
        places: dict[str, tuple[Path, int]] = {}
        executions = 0
        for part in sorted(self._folder.glob("*.jsonl")):
            with part.open("rb") as file:
                at = 0
                for line in file:
                    entry = json.loads(line)
                    places[json.dumps(entry["program"], sort_keys=True)] = part, at
                    executions += len(entry["tree"].get("executions", ()))
                    at += len(line)
        fields = {**vars(header), "executions": executions}
        with contextlib.ExitStack() as then:
            parts = sorted({part for part, _ in places.values()})
            opened = {part: then.enter_context(part.open("rb")) for part in parts}
            with gzip.open(path, "wt", encoding="utf-8") if path.suffix == ".gz" else path.open("w") as out:
                print(json.dumps({"schema": SCHEMA, **fields}), file=out)
                for program in programs:
                    place = places.get(json.dumps(program, sort_keys=True))
                    if place is not None:
                        opened[place[0]].seek(place[1])
                        out.write(opened[place[0]].readline().decode())


def read_header(path: Path) -> Header:
    """Return the header of a file.

    Raises:
        FormatError: the file has no such header.
    """
    try:
        with _open(path) as file:
            data = json.loads(file.readline())
        if data["schema"] != SCHEMA:
            raise FormatError(f"{path}: the schema is {data['schema']!r}, not {SCHEMA!r}")
        return Header(text_of(data["target"]), text_of(data["bound"]), dict(data["options"]), int(data["executions"]))
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path} is no file of kcache verify --certificate: {error}") from error


def read_programs(path: Path) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Yield each encoded program with its tree.

    Raises:
        FormatError: a line is not what :meth:`ChoiceTrees.write` writes.
    """
    with _open(path) as file:
        file.readline()
        for number, line in enumerate(file, 2):
            try:
                entry = json.loads(line)
                program, tree = entry["program"], entry["tree"]
                if "unchecked" not in tree:
                    for name in ("executions", "equal"):
                        list_of(tree[name])
            except (ValueError, KeyError, TypeError) as error:
                raise FormatError(f"line {number}: {error!r}") from error
            yield program, tree


def _open(path: Path) -> IO[str]:
    return gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")
