"""Replays kept in the folder ``.kcache`` under short names: ``kcache replay 1a2b3c4d`` fits on a line.

Each is a file of its own, so several processes may write at once. A code in the file shows that this user has written
it: what the user has run once needs no ``--trust``, and a file that comes with a stranger's checkout does.
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

from .replay_request import ReplayRequest, plain_request, request_of

FOLDER: Final = Path(".kcache")
"""Within the current directory."""

SCHEMA: Final = "kcache/replay/1"

_DIGITS: Final = (8, 16, 64)
"""Of a name, the first that no other replay has."""
_MOST: Final = 500
"""Once there are more, the older half is forgotten."""
_IGNORED: Final = "# Made by kcache.\n*\n"
_OFF: Final = frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True)
class KeptReplay:
    """A replay that was kept.

    Attributes:
        request: the replay.
        is_own: whether this user has kept it.
    """

    request: ReplayRequest
    is_own: bool


def is_short_name(word: str) -> bool:
    """Whether a word has the form of the name of a kept replay."""
    return re.fullmatch(r"[0-9a-f]{8,64}", word) is not None


def kept_command(request: ReplayRequest, *, is_last: bool = True, folder: Path = FOLDER) -> str:
    """Keep a replay, and return the short command for it.

    It is the long command where another machine may have to run it (``CI`` is set), where nothing is to be kept
    (``KCACHE_SAVED=0``), and where the folder cannot be written.

    Args:
        request: the replay.
        is_last: whether ``kcache replay --last`` is to run it.
        folder: where it is kept.
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


def kept_replay(name: str, folder: Path = FOLDER) -> KeptReplay:
    """The replay with a name, or with a name that begins so.

    Raises:
        FormatError: there is none.
    """
    files = sorted((folder / "replays").glob(f"{name}*.json"))
    if not files:
        known = [file.stem for file in (folder / "replays").glob("*.json")]
        raise FormatError(
            f"there is no finding {name} in {folder} of this folder{did_you_mean(name, known)}; run kcache in the "
            "folder where it was found, or give the long token (--long-token, or the JSON of the run)"
        )
    try:
        data = json.loads(files[0].read_text(encoding="utf-8"))
        code = data.pop("code", "")
        return KeptReplay(request_of(data), hmac.compare_digest(str(code), _code(data) or "none"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise FormatError(f"{files[0]} is damaged; run the check again") from None


def last_replay(folder: Path = FOLDER) -> KeptReplay | None:
    """The replay that was kept last, of those to be mended first; ``None`` if there is none."""
    try:
        name = (folder / "last").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return kept_replay(name, folder) if is_short_name(name) else None


def make_folder(folder: Path) -> None:
    """Make the folder, which version control ignores.

    Raises:
        OSError: it cannot be made.
    """
    folder.mkdir(exist_ok=True)
    if not (folder / ".gitignore").exists():
        _write(folder / ".gitignore", _IGNORED)


def _write(file: Path, text: str) -> None:
    """All or nothing, whoever writes at the same time."""
    unfinished = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(file)


def _data(file: Path) -> dict[str, Any]:
    """The replay in a file without its code; empty if it cannot be read."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        data.pop("code", None)
        return dict(data)
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _forget_old(folder: Path) -> None:
    files = list(folder.iterdir())
    if len(files) > _MOST:
        with contextlib.suppress(OSError):  # another process forgets them, too
            for file in sorted(files, key=lambda file: file.stat().st_mtime)[: -_MOST // 2]:
                file.unlink(missing_ok=True)


def _code(data: dict[str, Any]) -> str:
    """What only this user can write for a replay; empty if there is no place for the user's key."""
    key = _key()
    text = json.dumps([str(Path.cwd()), data], sort_keys=True)
    return hmac.new(key, text.encode(), "sha256").hexdigest() if key else ""


def _key() -> bytes:
    """The key of this user, made when it is needed first."""
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
