"""Short names of replays: ``kcache replay 1a2b3c4d`` fits on a line; the folder ``.kcache`` holds the arguments.

Each replay has its own file, so several processes may write at once. A code in the file proves that this user wrote it.
A replay that this user kept therefore needs no ``--trust``; a file from somebody else's checkout does.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kcache_model.errors import FormatError
from kcache_model.suggestion import did_you_mean

from ..targets.replay_request import ReplayRequest, plain_request, request_of

FOLDER: Final = Path(".kcache")
"""The folder of kept replays, relative to the current directory."""

SCHEMA: Final = "kcache/replay/1"

_DIGITS: Final = (8, 16, 64)
"""Lengths of a name: the first length is used at which no other replay has the name."""
_MOST: Final = 500
"""The most replays kept. Once there are more, all but the newest half of this number are deleted."""
_IGNORED: Final = "# Made by kcache.\n*\n"
_OFF: Final = frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True)
class StoredReplay:
    """A replay read from the folder.

    Attributes:
        request: the replay.
        is_own: whether this user wrote the file.
    """

    request: ReplayRequest
    is_own: bool


def is_short_name(word: str) -> bool:
    """Whether a word has the form of a kept replay's name."""
    return re.fullmatch(r"[0-9a-f]{8,64}", word) is not None


def short_command(request: ReplayRequest, *, is_last: bool = True, folder: Path = FOLDER) -> str:
    """Keep a replay, and return the short command for it.

    Return the long command instead if another machine may have to run it (``CI`` is set), if keeping is switched
    off (``KCACHE_SAVED=0``), and if the folder cannot be written.

    Args:
        request: the replay.
        is_last: whether ``kcache replay --last`` is to run it.
        folder: the folder to keep it in.
    """
    if os.environ.get("CI") or os.environ.get("KCACHE_SAVED", "1").lower() in _OFF:
        return request.command
    data = {"schema": SCHEMA, **plain_request(request)}
    text = json.dumps({**data, "code": _code(data)}, indent=2) + "\n"
    full = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
    try:
        make_folder(folder)
        (folder / "replays").mkdir(exist_ok=True)
        files = [folder / "replays" / f"{full[:digits]}.json" for digits in _DIGITS]
        file = next(file for file in files if not file.exists() or _data(file) in ({}, data))
        _write(file, text)
        if is_last:
            _write(folder / "last", f"{file.stem}\n")
        _forget_old(folder / "replays")
    except OSError:
        return request.command
    return f"kcache replay {file.stem}"


def stored_replay(name: str, folder: Path = FOLDER) -> StoredReplay:
    """Return the replay whose name is, or begins with, ``name``.

    Raises:
        FormatError: there is no such replay, or its file is damaged.
    """
    files = sorted((folder / "replays").glob(f"{name}*.json"))
    if not files:
        known = [file.stem for file in (folder / "replays").glob("*.json")]
        raise FormatError(
            f"there is no finding {name} in {folder}{did_you_mean(name, known)}; run kcache in the "
            "folder where it was found, or give the whole replay token (from --long-token, or from the JSON of the run)"
        )
    try:
        data = json.loads(files[0].read_text(encoding="utf-8"))
        code = data.pop("code", "")
        return StoredReplay(request_of(data), hmac.compare_digest(str(code), _code(data) or "none"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise FormatError(f"{files[0]} is damaged; run the check again") from None


def last_replay(folder: Path = FOLDER) -> StoredReplay | None:
    """Return the replay that ``kcache replay --last`` runs; ``None`` if there is none.

    Raises:
        FormatError: the replay was deleted, or its file is damaged.
    """
    try:
        name = (folder / "last").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return stored_replay(name, folder) if is_short_name(name) else None


def make_folder(folder: Path) -> None:
    """Create the folder with a ``.gitignore`` that ignores all of it.

    Raises:
        OSError: it cannot be created.
    """
    folder.mkdir(exist_ok=True)
    if not (folder / ".gitignore").exists():
        _write(folder / ".gitignore", _IGNORED)


def _write(file: Path, text: str) -> None:
    """Replace a file atomically, even if several processes write at the same time."""
    unfinished = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(file)


def _data(file: Path) -> dict[str, Any]:
    """Return the replay in a file without its code; empty if the file cannot be read."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        data.pop("code", None)
        return dict(data)
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _forget_old(folder: Path) -> None:
    files = list(folder.iterdir())
    if len(files) > _MOST:
        with contextlib.suppress(OSError):  # another process may delete them at the same time
            for file in sorted(files, key=lambda file: file.stat().st_mtime)[: -_MOST // 2]:
                file.unlink(missing_ok=True)


def _code(data: dict[str, Any]) -> str:
    """Return an authentication code of a replay that only this user can compute; empty if the key cannot be stored."""
    key = _key()
    text = json.dumps([str(Path.cwd()), data], sort_keys=True)
    return hmac.new(key, text.encode(), "sha256").hexdigest() if key else ""


def _key() -> bytes:
    """Return the secret key of this user, created at the first call; empty if it cannot be stored securely."""
    try:
        file = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kcache" / "key"
        if not file.exists():
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            unfinished = file.with_name(f"key.{secrets.token_hex(8)}")
            with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as written:
                written.write(secrets.token_bytes(32))
            with contextlib.suppress(FileExistsError):
                os.link(unfinished, file)  # the first of several processes wins
            unfinished.unlink()
        if hasattr(os, "getuid") and (file.stat().st_uid != os.getuid() or file.stat().st_mode & 0o077):
            return b""
        return file.read_bytes()
    except (OSError, RuntimeError):  # there is no home, or nothing can be written there
        return b""
