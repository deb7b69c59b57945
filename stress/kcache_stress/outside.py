"""Waits for the outside world, such as the network: a thread that is in such a wait does not count as hung."""

from __future__ import annotations

import dis
import os
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

from kcache_model.places import file_name

from .stacks import is_harness

_FILE_LOCK: Final = "a lock of the file system"
_LOCKS: Final = Path("/proc/locks")
"""The file locks of all processes, on Linux; a line with an arrow is a wait for the lock with the same number."""
_CALLS: Final = {
    **dict.fromkeys(("recv", "recv_into", "recvfrom", "recvfrom_into", "recvmsg", "accept", "_accept"), "the network"),
    **dict.fromkeys(("connect", "connect_ex", "send", "sendall", "sendto", "sendmsg", "do_handshake"), "the network"),
    **dict.fromkeys(("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr"), "a name server"),
    **dict.fromkeys(("getnameinfo", "getfqdn"), "a name server"),
    **dict.fromkeys(("select", "poll", "epoll", "kqueue", "control", "devpoll"), "a socket, a pipe or a process"),
    **dict.fromkeys(("wait4", "waitpid", "wait3", "waitid", "fork_exec", "system"), "another process"),
    **dict.fromkeys(("read", "readline", "readinto", "write", "open", "input"), "a file, a pipe or a terminal"),
    **dict.fromkeys(("flock", "lockf", "fcntl"), _FILE_LOCK),
}
"""Name of a function in C that waits for the outside world -> text that describes the awaited object."""
_FILES: Final = {
    os.path.realpath(os.path.join(os.path.dirname(os.__file__), name)): what
    for name, what in {
        **dict.fromkeys(("socket.py", "ssl.py"), "the network"),
        **dict.fromkeys(("selectors.py",), "a socket, a pipe or a process"),
        **dict.fromkeys(("subprocess.py",), "another process"),
    }.items()
}
"""File of the standard library in which all waits are for the outside world -> text for the awaited object."""


def outside_wait(thread: int | None) -> str:
    """Return the wait for the outside world in which a thread is, such as ``the network (client.py:12)``.

    The result is empty if the thread is in no such wait: if it runs Python code, waits for a lock, or sleeps.

    Args:
        thread: the ident of the thread.
    """
    frame = sys._current_frames().get(thread or 0)
    what = "" if frame is None else _awaited(frame)
    while what and frame is not None:
        if os.path.realpath(frame.f_code.co_filename) not in _FILES and not is_harness(frame.f_code.co_filename):
            return f"{what} ({file_name(frame.f_code.co_filename)}:{frame.f_lineno})"
        frame = frame.f_back
    return what


def _awaited(frame: FrameType) -> str:
    """Return the object that the current call in C of the innermost frame waits for; empty if none is known."""
    operation = _CALLS.get(_called(frame.f_code, frame.f_lasti), "")
    if operation == _FILE_LOCK and _holds_awaited_file_lock():
        return ""
    return operation or _FILES.get(os.path.realpath(frame.f_code.co_filename), "")


def _holds_awaited_file_lock() -> bool:
    """Whether this process waits for a file lock that it holds itself: then no other process can end the wait."""
    own, holders = str(os.getpid()), dict[str, str]()
    try:
        lines = [line.split() for line in _LOCKS.read_text(encoding="ascii").splitlines()]
    except OSError:
        return False
    for number, *words in lines:
        if words[0] != "->":
            holders[number] = words[3]
        elif words[4] == own == holders.get(number):
            return True
    return False


def _called(code: CodeType, offset: int) -> str:
    """Return the name of the function that the instruction at an offset calls; empty if unknown, or if it is no call.

    The callee is the longest expression that begins at the position of the call: ``a.recv`` in ``a.recv(len(text))``.
    """
    instructions = list(dis.get_instructions(code))
    call = next((one for one in instructions if one.offset == offset and one.opname.startswith("CALL")), None)
    if call is None or call.positions is None:
        return ""
    begin = call.positions[0], call.positions[2]
    named = [
        (one.positions.end_lineno or 0, one.positions.end_col_offset or 0, str(one.argval))
        for one in instructions
        if one.offset < offset and one.opname in _NAMING and one.positions is not None
        if (one.positions.lineno, one.positions.col_offset) == begin
    ]
    return max(named, default=(0, 0, ""))[2]


_NAMING: Final = frozenset(
    {"LOAD_ATTR", "LOAD_METHOD", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_DEREF"}
)
