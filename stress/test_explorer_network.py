"""Sockets, pipes, select and signals under the explorer: found is what goes wrong, and a correct twin passes."""

import importlib
import textwrap
from pathlib import Path

import pytest

from kcache_stress.engine.strategy import Coverage
from kcache_stress.modules.private_packages import Kind, kind_of, unit_of
from kcache_stress.runtime.threads.virtual_thread import UncontrolledError
from kcache_stress.target.scenarios import Scenario, ScenarioResult, explore_scenario
from stress.material.body_support import searched

IMPORTS = """
import errno, os, select, selectors, signal, socket, socketserver, threading, time
"""


def explored(
    folder: Path, made: str, *threads: str, check="True", executions=2_000, keep=None, imports="", **options
) -> ScenarioResult:
    """All interleavings of threads, each some lines in a method of an object that ``made`` makes."""
    methods = "".join(
        f"    def thread{number}(self):\n{textwrap.indent(textwrap.dedent(text), ' ' * 8)}\n"
        for number, text in enumerate(threads)
    )
    made = textwrap.indent(textwrap.dedent(made), " " * 8)
    file = folder / "using.py"
    file.write_text(
        f"{IMPORTS}{imports}\nclass Made:\n    def __init__(self):\n{made}\n{methods}\n"
        f"    def is_right(self):\n        return {check}\n"
    )
    objects = []

    def setup(load):
        objects[:] = [load(file).Made()]
        return [getattr(objects[0], f"thread{number}") for number in range(len(threads))]

    def judge(_):
        if keep is not None:
            keep(objects[0].got)
            return None
        return None if objects[0].is_right() else "it is not right"

    return explore_scenario(Scenario((), setup, judge), executions=executions, seconds=60, audits=True, **options)


def passes(result: ScenarioResult) -> bool:
    return (result.problem, result.coverage, result.refused) == (None, Coverage.EXHAUSTED, "")


def told(result: ScenarioResult) -> tuple[object, ...]:
    return result.problem, result.coverage, result.refused, result.note


PAIR = "self.near, self.far = socket.socketpair(); self.got = []"


def test_what_is_sent_arrives(tmp_path):
    result = explored(
        tmp_path,
        PAIR,
        "self.near.sendall(b'abc'); self.near.close()",
        "while (data := self.far.recv(2)): self.got.append(data)",
        check="b''.join(self.got) == b'abc'",
    )
    assert passes(result), told(result)


CONSUMER = """
    while not self.items:
        {before}
        self.far.recv(1)
    self.got.append(self.items.pop())
    """
PRODUCER = """
    self.items.append(1)
    if {told}:
        self.near.send(b'.')
    """


@pytest.mark.parametrize(
    ("before", "told", "is_right"), [("self.waits = True", "self.waits", False), ("", "True", True)]
)
def test_a_lost_wakeup(tmp_path, before, told, is_right):
    """A byte that is only sent to who is known to wait comes too early for who is about to."""
    result = explored(
        tmp_path,
        PAIR + "; self.items, self.waits = [], False",
        PRODUCER.format(told=told),
        CONSUMER.format(before=before or "pass"),
        check="self.got == [1]",
    )
    if is_right:
        assert passes(result), told(result)
    else:
        assert result.problem is not None
        assert "waits for data, room or a connection that never comes (using.py:" in result.problem.summary


SERVER = """
    self.server, self.stops, self.answers = socket.create_server(('localhost', 0)), False, []
    self.address = self.server.getsockname()
    """
SERVE = """
    while not self.stops:
        connection, _ = self.server.accept()
        with connection:
            connection.sendall(connection.recv(9).upper())
    """
STOP = """
    with socket.create_connection(self.address) as client:
        client.sendall(b'a')
        self.answers.append(client.recv(9))
    self.stops = True
    {wakes}
    """


@pytest.mark.parametrize("wakes", ["", "self.server.close()", "socket.create_connection(self.address).close()"])
def test_a_server_that_is_stopped_while_it_accepts(tmp_path, wakes):
    """To close a socket wakes nobody who is in ``accept`` already; a last connection does."""
    result = explored(tmp_path, SERVER, SERVE, STOP.format(wakes=wakes), check="self.answers == [b'A']")
    if "create" in wakes:
        assert passes(result), told(result)
    elif not wakes:
        assert result.problem is not None
        assert "never comes" in result.problem.summary
    else:  # or it is closed before, and accept fails
        assert result.problem is not None


def test_a_server_that_is_shut_down_while_a_client_connects(tmp_path):
    """Who comes too late is refused, who was not accepted is reset, and the server's thread ends."""
    serve = """
        try:
            while True:
                with self.server.accept()[0] as connection:
                    connection.sendall(b'x')
        except OSError as error:
            assert error.errno in (errno.EINVAL, errno.EBADF), error
    """
    ask = """
        try:
            with socket.create_connection(self.address) as client:
                self.answers.append(client.recv(1))
        except (ConnectionRefusedError, ConnectionResetError) as error:
            self.answers.append(type(error))
    """
    stop = "self.server.shutdown(socket.SHUT_RDWR)"
    known = "(b'x', ConnectionRefusedError, ConnectionResetError)"
    result = explored(tmp_path, SERVER, serve, ask, stop, check=f"self.answers[0] in {known}")
    assert passes(result), told(result)
    result = explored(tmp_path, SERVER, serve, ask, stop, check="self.answers[0] != ConnectionResetError")
    assert result.problem is not None


def test_a_full_connection_waits_for_room(tmp_path):
    """Two who send without receiving wait for each other; one that receives does not."""
    send, receive = "{}.sendall(bytes(300_000))", "left = 300_000\nwhile left: left -= len({}.recv(left))"
    near, far = "self.near", "self.far"
    both = [f"{send.format(end)}\n{receive.format(end)}" for end in (near, far)]
    assert "never comes" in str(explored(tmp_path, PAIR, *both).problem)
    assert passes(explored(tmp_path, PAIR, send.format(near), receive.format(far)))


def test_timeouts_are_virtual(tmp_path):
    wait = """
        self.far.settimeout(86_400)
        try:
            self.got.append(self.far.recv(1))
        except TimeoutError:
            self.got.append(None)
    """
    result = explored(tmp_path, PAIR, wait, check="self.got == [None] and time.monotonic() > 86_400")
    assert passes(result), told(result)
    result = explored(tmp_path, PAIR, wait, "self.near.send(b'.')", check="self.got == [b'.']")
    assert result.problem is not None, "it may be too late"


SELECTING = "self.reader, self.writer = os.pipe(); self.near, self.far = socket.socketpair(); self.got = []"


@pytest.mark.parametrize("wakes", [True, False])
def test_a_loop_that_selects_is_woken_by_a_pipe(tmp_path, wakes):
    loop = """
        selector = selectors.DefaultSelector()
        selector.register(self.far, selectors.EVENT_READ, 'data')
        selector.register(self.reader, selectors.EVENT_READ, 'stop')
        while True:
            for key, _ in selector.select():
                if key.data == 'stop':
                    return
                self.got.append(self.far.recv(1))
    """
    stop = "self.near.send(b'x')\n" + ("os.write(self.writer, b'.')" if wakes else "os.close(self.reader)")
    result = explored(tmp_path, SELECTING, loop, stop, check="self.got in ([b'x'], [])")
    assert passes(result) == wakes, told(result)


def test_a_file_that_threads_share(tmp_path):
    """What is written to one file is whole lines, in any order; nobody meets a lock of the process."""
    made = PAIR + "; self.file = self.near.makefile('wb')"
    write = "self.file.write(b'{0}{0}\\n'); self.file.flush()"
    read = "for line in self.far.makefile('rb'): self.got.append(line)\n"
    result = explored(
        tmp_path,
        made,
        write.format("a") + "; self.near.shutdown(socket.SHUT_WR)",
        read,
        check="self.got == [b'aa\\n']",
    )
    assert passes(result), told(result)
    result = explored(tmp_path, made, write.format("a"), write.format("b"), check="len(self.far.recv(9)) == 6")
    assert result.problem is None
    assert "reentrant" not in str(result)


def test_a_server_of_the_standard_library(tmp_path):
    """It runs in a thread of its own, answers, and is shut down."""
    made = """
        class Echo(socketserver.StreamRequestHandler):
            def handle(self):
                self.wfile.write(self.rfile.readline().upper())
        self.server, self.got = socketserver.TCPServer(('localhost', 0), Echo), []
    """
    ask = """
        with socket.create_connection(self.server.server_address) as client:
            client.sendall(b'a\\n')
            self.got.append(client.recv(9))
        self.server.shutdown()
    """
    result = explored(tmp_path, made, "self.server.serve_forever()", ask, check="self.got == [b'A\\n']", executions=60)
    assert result.problem is None, told(result)
    assert result.refused == ""


def test_a_poll_waits_for_a_pipe_or_for_a_descriptor_of_the_system(tmp_path):
    """As a reader of inotify does, which a byte in a pipe ends; the file is made known by the system."""
    made = """
        self.reader, self.writer = os.pipe()
        self.far, self.near = socket.socketpair()
        self.got, self.poll = [], select.poll()
        self.poll.register(self.reader, select.POLLIN)
        self.poll.register(self.near.fileno(), select.POLLIN)
    """
    read = "for fd, event in self.poll.poll():\n    self.got.append((fd == self.reader, event == select.POLLIN))"
    write = "os.write(self.writer, b'a')"
    result = explored(tmp_path, made, read, write, check="self.got == [(True, True)]")
    assert passes(result), told(result)
    result = explored(tmp_path, made, read, f"{write}; self.far.send(b'a')", check="self.got == [(True, True)]")
    assert result.problem is not None
    outside = """
        import posix
        self.reader, self.writer = os.pipe()
        self.outer, self.inner = posix.pipe()
        self.got = []
    """
    read = "self.got += select.select([self.reader, self.outer], [], [])[0] == [self.outer],"
    result = explored(
        tmp_path, outside, read, "import posix; posix.write(self.inner, b'a')", check="self.got == [True]"
    )
    assert (result.problem, result.refused) == (None, ""), told(result)
    result = explored(tmp_path, outside, read, "pass")
    assert "a descriptor of the system that no thread of the test makes ready" in result.refused, told(result)


HTTP_IMPORTS = """
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.request import urlopen
"""
HTTP = """
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'A')
    def log_message(self, *_): pass
self.server, self.got = HTTPServer(('localhost', 0), Handler), []
self.url = 'http://localhost:%d/' % self.server.server_address[1]
"""
CLIENTS = {
    "urllib.request": "with urlopen(self.url) as answer: self.got.append(answer.read())",
    "http.client": """
        client = HTTPConnection('localhost', self.server.server_address[1])
        client.request('GET', '/')
        self.got.append(client.getresponse().read())
    """,
}


@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
def test_a_client_of_the_standard_library_talks_to_its_server(tmp_path, client):
    def talking(client: str) -> ScenarioResult:
        serve, check = "self.server.handle_request()", "self.got == [b'A']"
        return explored(tmp_path, HTTP, serve, client, check=check, executions=40, imports=HTTP_IMPORTS)

    result = talking(client)
    assert result.problem is None, told(result)
    assert result.refused == ""
    result = talking(f"{textwrap.dedent(client).strip()}\nself.got.append(b'A')")
    assert result.problem is not None


@pytest.mark.parametrize("name", ["urllib.request", "xmlrpc.client", "wsgiref.simple_server", "smtplib"])
def test_who_talks_to_other_threads_is_virtual_and_who_imports_it(tmp_path, monkeypatch, name):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "talking.py").write_text(f"import {name}\n")
    package, _, part = name.rpartition(".")
    source = f"from {package} import ({part}, other)" if package else f"from {name} import SMTP"
    (tmp_path / "talking_from.py").write_text(f"{source}\n")
    (tmp_path / "parsing.py").write_text("from urllib.parse import urlsplit\nfrom urllib import parse\n")
    importlib.invalidate_caches()
    kinds = [kind_of(unit_of(unit, is_no_root), is_no_root) for unit in (name, "talking", "talking_from", "parsing")]
    assert kinds == [Kind.VIRTUAL, Kind.VIRTUAL, Kind.VIRTUAL, Kind.PLAIN]


def is_no_root(_: str) -> bool:
    return False


REFUSED = {
    "connects to example.com": "socket.create_connection(('example.com', 80))",
    "looks up the address of example.com": "socket.getaddrinfo('example.com', 80)",
    "uses socket.sendto": "socket.socket(type=socket.SOCK_STREAM).sendto(b'', ('localhost', 1))",
    "an unsupported kind": "socket.socket(type=socket.SOCK_DGRAM).bind(('localhost', 0))",
    "uses signal.raise_signal": "signal.raise_signal(signal.SIGINT)",
    "uses signal.alarm": "signal.alarm(1)",
    "uses os.fork": "os.fork()",
    "uses os.kill": "os.kill(os.getpid(), signal.SIGUSR1)",
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_not_there_is_refused_with_its_line(tmp_path, why):
    result = explored(tmp_path, "pass", f"import os\n{REFUSED[why]}", "pass")
    assert result.coverage is not Coverage.EXHAUSTED
    assert result.refused.startswith("using.py:"), told(result)
    assert why in result.refused or "looks up the address" in result.refused


def test_handlers_of_signals_are_kept_and_never_called(tmp_path):
    made = "self.stop = lambda *_: 1\nself.before = signal.signal(signal.SIGTERM, self.stop)"
    real = __import__("signal").getsignal(15)
    result = explored(tmp_path, made, "signal.getsignal(signal.SIGTERM)", check="signal.getsignal(15) is self.stop")
    assert passes(result), told(result)
    assert __import__("signal").getsignal(15) is real
    result = explored(tmp_path, "pass", "signal.signal(signal.SIGTERM, signal.SIG_IGN)", "pass")
    assert "only works in main thread" in str(result.problem)


def _tried(call: str) -> str:
    return f"try: self.got.append(({call},))\nexcept OSError as error: self.got.append(error.errno)\n"


RACES = {
    "close and receive": (
        PAIR + "; self.far.settimeout(0)",
        "self.near.send(b'a')\nself.near.close()",
        _tried("self.far.recv(1)") * 2,
    ),
    "close while others use it": (
        PAIR,
        "self.near.close()",
        _tried("self.near.send(b'a')"),
        _tried("self.far.recv(2)"),
    ),
    "unread data": (
        PAIR,
        "self.near.send(b'a')\nself.near.close()",
        _tried("self.far.send(b'b')"),
        _tried("self.far.recv(1)") * 2,
    ),
    "two who receive": (PAIR, "self.near.sendall(b'ab')\nself.near.close()", *[_tried("self.far.recv(1)")] * 2),
    "connect and listen": (
        "self.got, self.server, self.client = [], socket.socket(), socket.socket(); self.server.bind(('', 5000))",
        "self.server.listen()\nself.server.close()",
        _tried("self.client.connect(('', 5000))") + _tried("self.client.recv(1)"),
    ),
    "two who bind": (
        "self.got, self.one, self.other = [], socket.socket(), socket.socket()",
        _tried("self.one.bind(('', 5000))") + "self.one.close()",
        _tried("self.other.bind(('', 5000))"),
    ),
    "waiting or not": (PAIR, "self.far.setblocking(False)", _tried("self.far.recv(1)"), _tried("self.near.send(b'a')")),
    "descriptors": (
        "self.got, (self.reader, self.writer) = [], os.pipe()",
        _tried("os.write(self.writer, b'a')") + "os.close(self.writer)",
        _tried("os.read(self.reader, 2)"),
        _tried("os.close(self.reader)"),
    ),
    "select": (
        PAIR,
        _tried("self.near.send(b'a')"),
        "self.far.close()",
        _tried("len(select.select([self.far], [self.near], [], 0)[0])"),
    ),
}


@pytest.mark.parametrize("race", RACES)
def test_the_search_reaches_what_samples_reach(tmp_path, race):
    made, *threads = RACES[race]
    reached = {}
    for strategy, executions in (("dpor", 20_000), ("pos", 300)):
        outcomes = reached[strategy] = set()

        def keep(result, outcomes=outcomes):
            outcomes.add(str(result))

        result = explored(tmp_path, made, *threads, executions=executions, strategy=strategy, keep=keep)
        assert result.problem is None, told(result)
    assert reached["dpor"] >= reached["pos"], reached["pos"] - reached["dpor"]
    assert len(reached["dpor"]) > 1


BODIES = """
import fcntl, os, socket, ssl

def test_tls():
    near, far = socket.socketpair()
    started(int)
    ssl.create_default_context().wrap_socket(near, server_hostname="x", do_handshake_on_connect=False)

def test_fcntl():
    reader, writer = os.pipe()
    started(int)
    fcntl.fcntl(reader, fcntl.F_GETFL)

def test_closed_while_it_is_used():
    reader, writer = os.pipe()
    os.write(writer, b"a")
    started(lambda: os.close(reader))
    os.read(reader, 1)
"""


def test_a_virtual_descriptor_is_no_bad_one_because_the_system_does_not_know_it(tmp_path):
    for name in ("test_tls", "test_fcntl"):
        with pytest.raises(UncontrolledError, match=f"in {name} passes a virtual socket or pipe to code"):
            list(searched(tmp_path, BODIES, 2, names=[name]))
    (closed,) = searched(tmp_path, BODIES, 2, names=["test_closed_while_it_is_used"])
    assert "Bad file descriptor" in closed.problem
