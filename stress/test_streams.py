"""Streams in memory: what is wrong is found, what is right is not accused, and real sockets show nothing else."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from kcache_model.interleaved_program import InterleavedProgram
from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.search import SearchLimits, search
from kcache_stress.engine.strategy import Ending
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.runtime.tasks.streams import IN_MEMORY, NEEDS_SYSTEM, NOT_HERE
from kcache_stress.target.investigation import investigate

SUPPORT = """
import asyncio
from kcache import testing as kt

async def echo(reader, writer):
    while line := await reader.readline():
        writer.write(line)
        await writer.drain()
    writer.close()

async def lines(count):
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        for number in range(count): writer.write(b"%d\\n" % number)
        got = [await reader.readline() for _ in range(count)]
        writer.close()
        await writer.wait_closed()
    return got

async def pieces(whole):
    async def serve(reader, writer):
        writer.write(b"12")
        await asyncio.sleep(0)
        writer.write(b"34")
        writer.close()
    server = await asyncio.start_server(serve, "127.0.0.1", 7000)
    reader, writer = await asyncio.open_connection("127.0.0.1", 7000)
    got = await (reader.readexactly(4) if whole else reader.read(10))
    writer.close()
    server.close()
    return got

async def shared():
    server = await asyncio.start_unix_server(echo, "/echo")
    reader, writer = await asyncio.open_unix_connection("/echo")
    async def ask(text):
        await kt.io()
        writer.write(text)
        return await reader.readline()
    try:
        return await asyncio.gather(ask(b"1\\n"), ask(b"2\\n"))
    finally:
        writer.close()
        server.close()

class Protocol(asyncio.Protocol):
    def __init__(self, log): self.log = log
    def connection_made(self, transport): self.transport = transport
    def data_received(self, data): self.log.append(data)
    def eof_received(self): self.log.append("eof"); return False
    def connection_lost(self, error):
        self.log.append(type(error).__name__)
        self.lost.set_result(None)

async def protocols():
    loop, log, other = asyncio.get_running_loop(), [], []
    def made(to):
        protocol = Protocol(to)
        protocol.lost = loop.create_future()
        made.all.append(protocol)
        return protocol
    made.all = []
    server = await loop.create_server(lambda: made(log), "localhost", 7001)
    transport, protocol = await loop.create_connection(lambda: made(other), "localhost", 7001)
    transport.write(b"1")
    transport.write_eof()
    await protocol.lost
    server.close()
    return log, other

async def refused():
    try: await asyncio.open_connection("localhost", 1)
    except ConnectionRefusedError: return "refused"

async def closed_while_connecting():
    server = await asyncio.start_server(echo, "127.0.0.1", 7002)
    connecting = asyncio.ensure_future(asyncio.open_connection("127.0.0.1", 7002))
    for _ in range(3): await asyncio.sleep(0)
    server.close()
    try: reader, writer = await connecting
    except ConnectionRefusedError: return "refused"
    writer.write_eof()
    try: return "end" if await reader.read() == b"" else "data"
    except ConnectionResetError: return "reset"
    finally: writer.close()

async def paused(size):
    held = asyncio.Event()
    async def serve(reader, writer):
        await held.wait()
        await reader.read()
        writer.close()
    server = await asyncio.start_server(serve, "127.0.0.1", 7003, limit=10)
    reader, writer = await asyncio.open_connection("127.0.0.1", 7003)
    await kt.io()
    writer.write(b"x" * 30)
    for _ in range(3): await asyncio.sleep(0)
    writer.write(b"x" * size)
    draining = asyncio.ensure_future(writer.drain())
    for _ in range(3): await asyncio.sleep(0)
    has_drained = draining.done()
    held.set()
    await draining
    writer.close()
    server.close()
    return has_drained
"""


def explored(folder: Path, body: str):
    file = folder / "explored_streams.py"
    file.write_text(f"{SUPPORT}\nasync def test_it():\n    {body}\n", encoding="utf-8")
    target = BodyExplorationTarget(f"{file}:test_it")
    program = InterleavedProgram()
    return investigate(lambda _: target.open_runner(program), lambda _: [(Dpor(), 10_000)], seconds=60.0)


RIGHT = [
    "assert await lines(2) == [b'0\\n', b'1\\n']",
    "assert await pieces(True) == b'1234'",
    "assert await protocols() in [([b'1', 'eof', 'NoneType'], ['eof', 'NoneType'])] * 2",
    "assert await refused() == 'refused'",
    "assert await closed_while_connecting() in ('refused', 'end', 'reset')",
    "assert await paused(10)",
]


@pytest.mark.parametrize("body", RIGHT)
def test_what_is_right_is_not_accused(body: str, tmp_path: Path) -> None:
    result = explored(tmp_path, body)
    assert (result.problem, result.note, result.refused) == (None, IN_MEMORY, "")


WRONG = [
    "assert await pieces(False) == b'1234'",
    "assert await shared() == [b'1\\n', b'2\\n']",
    "assert await closed_while_connecting() != 'refused'",
    "assert await closed_while_connecting() == 'refused'",
    "assert await paused(100_000)",
]


@pytest.mark.parametrize("body", WRONG)
def test_what_depends_on_the_arrival_is_found(body: str, tmp_path: Path) -> None:
    assert explored(tmp_path, body).problem is not None


REFUSED = {
    "await asyncio.open_connection('example.com', 80)": NOT_HERE,
    "await asyncio.open_connection('localhost', 443, ssl=True)": NEEDS_SYSTEM,
}


@pytest.mark.parametrize("body", REFUSED)
def test_what_needs_the_system_is_refused_with_its_line(body: str, tmp_path: Path) -> None:
    result = explored(tmp_path, body)
    assert result.problem is None
    assert REFUSED[body] in result.refused
    assert "explored_streams.py:" in result.refused


STEPS = (
    "await asyncio.sleep(0)",
    "await asyncio.sleep(0.001)",
    "writer.write(b'NAME')",
    "log.append(('NAME', await reader.read(100)))",
    "writer.close()",
    "writer.write_eof() if not writer.is_closing() else None",
)


def program(seed: int) -> str:
    choose = random.Random(seed)
    tasks = []
    for name in "ab":
        steps = [choose.choice(STEPS).replace("NAME", name) for _ in range(choose.randrange(1, 4))]
        tasks.append(f"    async def {name}(reader, writer):\n        " + "\n        ".join([*steps, "writer.close()"]))
    body = "\n".join(tasks)
    return f"""
import asyncio
async def program():
    log, ended = [], asyncio.Event()
{body}
    async def serve(reader, writer):
        try: await a(reader, writer)
        except Exception as error: log.append(type(error).__name__)
        ended.set()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    try: await b(reader, writer)
    except Exception as error: log.append(type(error).__name__)
    await ended.wait()
    server.close()
    return repr(log)
"""


REALLY = """
import asyncio, json, sys
names = {}
exec(open(sys.argv[1]).read(), names)
seen = set()
for _ in range(5):
    try: seen.add(asyncio.run(asyncio.wait_for(names["program"](), 0.2)))
    except TimeoutError: pass  # both ends read: a deadlock in the search, too
print(json.dumps(sorted(seen)))
"""


def run_really(file: Path) -> set[str]:
    """Return what a program returns in some runs with real sockets, in a process of its own: some ends stay open."""
    command = [sys.executable, "-W", "ignore", "-c", REALLY, str(file)]
    return set(json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout))


def test_real_sockets_show_nothing_that_the_search_does_not_see(tmp_path: Path) -> None:
    compared = 0
    for seed in range(12):
        source, file = program(seed), tmp_path / f"stream_program_{seed}.py"
        file.write_text(source + "\nasync def test_it(): return await program()\n", encoding="utf-8")
        seen: set[str] = set()

        def look(execution, seen: set[str] = seen) -> None:
            if execution.ending is Ending.COMPLETE:
                (end,) = execution.outcomes[0]
                seen.add(end.value)

        with BodyExplorationTarget(f"{file}:test_it").open_runner(InterleavedProgram()) as (runner, _):
            result = search(runner, Dpor(), None, SearchLimits(400), on_execution=look)
        if not result.coverage.is_complete:
            continue
        real = run_really(file)
        assert real <= seen, f"{source}\n{real} is not in {seen}"
        compared += 1
    assert compared >= 4
