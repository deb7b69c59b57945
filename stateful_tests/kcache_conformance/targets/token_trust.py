"""Trust in replay tokens: replaying imports and calls the code that a token names, so tokens may not name any code.

The check runs before anything is imported: the token is read as plain data, and names are looked up in source files.
"""

from __future__ import annotations

import ast
import contextlib
import os
import sys
import sysconfig
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kcache_model.blob import unpack
from kcache_model.errors import FormatError, TargetError
from kcache_model.object_types.object_type import OBJECT_TOKENS
from kcache_model.object_types.plain import plain_codec, plain_value
from kcache_model.target_name import TargetName, target_name
from kcache_stress.import_paths import file_of_module
from kcache_stress.loading import TARGET_PREFIX
from kcache_stress.target.replay_token import TokenFormat

from .class_names import PREFIX, parse_class_type_name
from .configuration import find_configuration
from .gallery import is_example
from .source_definitions import definition

_OWN: Final = frozenset({"kcache", "kcache_model", "kcache_stress", "kcache_conformance"})
_CLIENTS: Final = frozenset({"kubernetes", "kubernetes_asyncio"})
"""Packages whose data classes any token may use."""
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
_ALL_CALLS: Final = plain_codec((), plain_value)
_CLASS: Final = "$"
"""The key that marks an instance in the arguments of calls; see ``fuzzing/objects/trees.py``."""
_MOST_ALIASES: Final = 5
"""The longest chain of names that only refer to another name."""


class UntrustedError(TargetError):
    """A token names code from outside the project; the message says which code, and how to run it nevertheless."""


@dataclass(frozen=True)
class TokenNames:
    """The names in a token that lead to code.

    Attributes:
        targets: names that are imported and called: the target, a model, a target type.
        packages: names of packages that are instrumented.
        classes: classes in the arguments of calls, as ``module:Class``; their instances are filled in.
        folders: folders from which modules are imported.
    """

    targets: tuple[str, ...]
    packages: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


def require_trusted(words: Collection[str], named: Collection[str] = ()) -> None:
    """Refuse a replay that would run code from outside the project.

    A target may be run if it is defined in a file of the current folder or below, if it belongs to kcache, or if the
    user has named it: on the command line or in the configuration.

    Args:
        words: a token, or a target and a program.
        named: names of targets that the user has named.

    Raises:
        FormatError: the token is damaged.
        UntrustedError: the replay would run code that is not allowed.
        TargetError: the arguments of a target are not plain values.
    """
    names = _names_of_token(*words) if len(words) == 1 else TokenNames(tuple(words)[:1])
    known = {(one.location, one.attribute) for one in map(target_name, (*named, *_configured()))}
    locations = {target_name(target).location.partition(".")[0] for target in names.targets}
    for target in names.targets:
        _require_project(target_name(target), known)
    for package in names.packages:
        first = package.partition(".")[0]
        # Finding a top-level package imports nothing; finding a submodule imports its package.
        if "." in package and not (first in locations or _is_below_here(file_of_module(first)) or first in _OWN):
            raise _untrusted(f"imports {package}")
    for folder in names.folders:
        if os.path.abspath(folder) not in sys.path and not _is_below_here(folder):
            raise _untrusted(f"imports modules from {folder}")
    for name in names.classes:
        module = name.partition(":")[0]
        first = module.partition(".")[0]
        is_loaded = module.startswith(TARGET_PREFIX) or first in locations | _OWN | _CLIENTS
        if not is_loaded and not _is_below_here(file_of_module(module)):
            raise _untrusted(f"creates an instance of {name}")


def needs_trust(words: Collection[str]) -> bool:
    """Whether a replay is refused without ``--trust``."""
    try:
        require_trusted(words)
    except UntrustedError:
        return True
    except (FormatError, TargetError):  # no option helps
        pass
    return False


def _names_of_token(word: str) -> TokenNames:
    """Return the names in a token.

    Raises:
        FormatError: the token is damaged.
    """
    if word.startswith("kf1."):
        data = unpack("kf1.", word, "replay token")
        if not isinstance(data, dict) or not isinstance(data.get("t"), str):
            raise FormatError("the replay token does not name a function; copy all of it")
        return TokenNames((data["t"],), (), tuple(_classes(data.get("o"))))
    prefix = word[: word.rfind(".") + 1]
    token = TokenFormat[Any](prefix, lambda program: program, lambda program: program).decode(word)
    targets = [token.target]
    if word.startswith(OBJECT_TOKENS):
        name = word.removeprefix(OBJECT_TOKENS).rpartition(".")[0]
        if name.startswith(PREFIX):
            targets += filter(None, parse_class_type_name(name)[:2])
            _require_calls(token.program)
        else:
            targets.append(name.removeprefix("spec="))
    # A name without a colon is the name of a built-in model or type.
    loaded = tuple(target for target in targets if target is token.target or ":" in target)
    path = token.program.get("path") if isinstance(token.program, dict) else None
    folders = tuple(entry for entry in path if entry and isinstance(entry, str)) if isinstance(path, list) else ()
    return TokenNames(loaded, token.instrument, tuple(_classes(token.program)), folders)


def _require_calls(program: Any) -> None:
    """Refuse data that is not a program of calls.

    Raises:
        FormatError: it is not a program.
    """
    try:
        _ALL_CALLS.decode_program(program)
    except FormatError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise FormatError(f"the replay token does not hold a program ({error!r}); copy all of it") from None


def _classes(data: Any) -> Iterator[str]:
    """Yield the classes of all instances in plain data. Members of enums are only looked up, so they do not count."""
    todo = [data]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            if part.get(_CLASS) == "object":
                yield str(part.get("class"))
            todo += part.values()
        elif isinstance(part, list):
            todo += part


def _configured() -> Iterator[str]:
    """Yield the targets, models and types that the configuration of the project names."""
    with contextlib.suppress(FormatError, OSError):
        configuration = find_configuration(Path.cwd())
        names = [configuration.kind]
        for target in configuration.targets.values():
            names += [target.factory, target.kind, target.model]
        yield from filter(None, names)


def _require_project(target: TargetName, known: Collection[tuple[str, str]]) -> None:
    """Refuse a target that neither belongs to the project nor was named by the user.

    Raises:
        UntrustedError: the target is refused.
        TargetError: the arguments of the target are not plain values.
    """
    if target.call:
        target.arguments()
    parts = target.attribute.split(".")
    is_missing = target.location.endswith(".py") and not Path(target.location).is_file()
    if is_missing or (target.location, target.attribute) in known:
        return  # loading the target reports a missing file
    is_plain = not any(part.startswith("__") or not part for part in parts)
    if is_plain and (_is_own(target) if target.location.partition(".")[0] in _OWN else _is_defined_here(target)):
        return
    raise _untrusted(f"runs {target.location}:{target.attribute}{target.call}")


def _untrusted(what: str) -> UntrustedError:
    return UntrustedError(
        f"the replay token {what}, which is not defined in a file of this folder. If you trust the author of the "
        "token, add --trust"
    )


def _is_own(target: TargetName) -> bool:
    """Whether a target is a class or function of kcache, called without arguments: arguments could run any code."""
    statement, home = definition(target.location, target.attribute)
    is_named = statement is None and "." not in target.attribute  # modules of kcache import some of their names late
    return not target.call and (is_named or home.location.partition(".")[0] in _OWN)


def _is_defined_here(target: TargetName) -> bool:
    """Whether the code of a target is in a file of the current folder or below."""
    location, attribute, folder = target.location, target.attribute, None
    if location.partition(".")[0] in sys.stdlib_module_names and not location.endswith(".py"):
        return False
    for _ in range(_MOST_ALIASES):
        statement, home = definition(location, attribute, folder)
        if statement is None and "." in attribute and not target.call:
            owner, _, name = attribute.rpartition(".")
            kind, home = definition(location, owner, folder)
            is_inherited = isinstance(kind, ast.ClassDef) and not name.startswith("_")
            statement = kind if is_inherited else None
        if statement is None or not _is_below_here(home.read()[0]):
            return False
        value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
        if not isinstance(value, (ast.Name, ast.Attribute)):
            return not isinstance(statement, (ast.Assign, ast.AnnAssign)) or value is not None
        location, attribute, folder = home.location, ast.unparse(value), home.folder
    return False


def _is_below_here(file: str | None) -> bool:
    """Whether a file is in the current folder or below, and not installed there; or is an example of kcache's."""
    if not file:
        return False
    try:
        path, here = Path(file).resolve(), Path.cwd().resolve()
        is_installed = path.is_relative_to(Path(sysconfig.get_path("stdlib")).resolve())
        is_below = path.is_relative_to(here) and not is_installed and not _INSTALLED & {*path.relative_to(here).parts}
        return is_below or is_example(path)
    except (OSError, ValueError):
        return False
