"""Waits for the outside world: a thread that stands in one is not hung, whatever it is that does not answer."""

from __future__ import annotations

import dis
import os
import sys
from types import CodeType, FrameType
from typing import Final

from kcache_model.places import file_name

from .stacks import is_harness

_CALLS: Final = {
    **dict.fromkeys(("recv", "recv_into", "recvfrom", "recvfrom_into", "recvmsg", "accept", "_accept"), "the network"),
    **dict.fromkeys(("connect", "connect_ex", "send", "sendall", "sendto", "sendmsg", "do_handshake"), "the network"),
    **dict.fromkeys(("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr"), "a name server"),
    **dict.fromkeys(("getnameinfo", "getfqdn"), "a name server"),
    **dict.fromkeys(("select", "poll", "epoll", "kqueue", "control", "devpoll"), "a socket, a pipe or a process"),
    **dict.fromkeys(("wait4", "waitpid", "wait3", "waitid", "fork_exec", "system"), "another process"),
    **dict.fromkeys(("read", "readline", "readinto", "write", "open", "input"), "a file, a pipe or a terminal"),
    **dict.fromkeys(("flock", "lockf", "fcntl"), "a lock of the file system"),
}
"""The name of a function in C that waits for the outside world -> what it waits for."""
_FILES: Final = {
    os.path.realpath(os.path.join(os.path.dirname(os.__file__), name)): what
    for name, what in {
        **dict.fromkeys(("socket.py", "ssl.py"), "the network"),
        **dict.fromkeys(("selectors.py",), "a socket, a pipe or a process"),
        **dict.fromkeys(("subprocess.py",), "another process"),
    }.items()
}
"""Files of the standard library in which nobody waits for anything else."""


def outside_wait(thread: int | None) -> str:
    """The wait for the outside world in which a thread stands, such as ``the network (client.py:12)``.

    Empty if it stands somewhere else: in Python code, at a lock, or asleep.

    Args:
        thread: its ident.
    """
    frame = sys._current_frames().get(thread or 0)
    what = "" if frame is None else _awaited(frame)
    while what and frame is not None:
        if os.path.realpath(frame.f_code.co_filename) not in _FILES and not is_harness(frame.f_code.co_filename):
            return f"{what} ({file_name(frame.f_code.co_filename)}:{frame.f_lineno})"
        frame = frame.f_back
    return what


def _awaited(frame: FrameType) -> str:
    """What the innermost call of a frame waits for: that is one in C, for others have a frame of their own."""
    found = _CALLS.get(_called(frame.f_code, frame.f_lasti), "")
    return found or _FILES.get(os.path.realpath(frame.f_code.co_filename), "")


def _called(code: CodeType, offset: int) -> str:
    """The name of the function that the instruction at an offset calls; empty if it calls none, or the code has none.

    The callee is the longest expression that begins where the call begins: ``a.recv`` in ``a.recv(len(text))``.
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
