"""``kcache judge --spec`` as its users meet it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from kcache.cli.test_judge import judge

HEADER = json.dumps({"schema": "kcache/history/1"})


def history(*calls: tuple[str, list[Any], Any]) -> str:
    """Calls of one thread, one after another."""
    lines = [HEADER]
    for at, (name, arguments, result) in enumerate(calls):
        outcome = result if isinstance(result, dict) else {"result": result}
        times = {"invoked": 2 * at, "returned": 2 * at + 1}
        lines.append(json.dumps({"thread": 0, "op": name, "arguments": arguments, **times, "outcome": outcome}))
    return "\n".join(lines) + "\n"


RIGHT = history(("put", ["a", 1], None), ("get", ["a"], 1), ("size", [], 1), ("keys", [], ["a"]))
WRONG = history(("put", ["a", 1], None), ("get", ["a"], 2))
EDN = """[{:process 0, :type :invoke, :f :write, :value 1}
 {:process 0, :type :ok, :f :write, :value 1}
 {:process 1, :type :invoke, :f :read, :value nil}
 {:process 1, :type :ok, :f :read, :value %s}]
"""


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return tmp_path / "recording"


def test_right_and_wrong(recording: Path) -> None:
    recording.write_text(RIGHT, encoding="utf-8")
    done = judge("--spec", "map", str(recording))
    assert done.exit_code == 0, done.output
    assert done.output.splitlines() == [f"kcache judge --spec map {recording}", "  4 calls", "", "ok"]
    done = judge("--spec", "map", "-", input=WRONG)
    assert done.exit_code == 1
    told = "Thread 0: get('a') returned 2. No sequential order of these calls gives that. Closest: "
    assert told in done.output


def test_recording_of_another_tool(recording: Path) -> None:
    recording.write_text(EDN % "1", encoding="utf-8")
    assert judge("--spec", "register", str(recording)).exit_code == 0
    recording.write_text(EDN % "nil", encoding="utf-8")
    done = judge("--spec", "register", str(recording))
    assert done.exit_code == 1
    assert "    lines 1 to 2: write(1) -> None\n    lines 3 to 4: read() -> None\n" in done.output
    done = judge(str(recording))
    assert (done.exit_code, done.output) == (
        2,
        "kcache: error: the recording is in the format EDN: name the type of the recorded object with --spec\n",
    )


def test_every_format(recording: Path, tmp_path: Path) -> None:
    recording.write_text(EDN % "3", encoding="utf-8")
    verdict, junit, page, sarif = (tmp_path / f"out.{name}" for name in ("json", "xml", "html", "sarif"))
    files = ("--json", str(verdict), "--junit", str(junit), "--html", str(page))
    done = judge("--spec", "register", str(recording), *files, "--format", "sarif", "--output", str(sarif))
    assert done.exit_code == 1, done.output
    told = json.loads(verdict.read_text(encoding="utf-8"))
    assert (told["type"], told["status"], told["calls"]) == ("spec=register", "violation", 2)
    assert [call["op"] for call in told["finding"]["calls"]] == ["write", "read"]
    assert ElementTree.parse(junit).getroot().get("failures") == "1"
    assert "read()" in page.read_text(encoding="utf-8")
    assert len(json.loads(sarif.read_text(encoding="utf-8"))["runs"][0]["results"]) == 1


def call(thread: int, name: str, arguments: list[Any], invoked: int, returned: int | None, result: Any = None) -> str:
    ended = {} if returned is None else {"returned": returned, "outcome": {"result": result}}
    return json.dumps({"thread": thread, "op": name, "arguments": arguments, "invoked": invoked, **ended}) + "\n"


def test_threads_and_lines_are_those_of_the_file() -> None:
    wrong = call(0, "put", ["a", 1], 1, 2), call(1, "get", ["a"], 5, 6, 1), call(2, "get", ["a"], 7, 8, 3)
    pending = call(3, "get", ["a"], 3, None)
    done = judge("--spec", "map", "-", input=f"{HEADER}\n{''.join((*wrong, pending))}")
    assert done.exit_code == 1
    assert "Thread 2: get('a') returned 3" in done.output
    assert next(line for line in done.output.splitlines() if "thread 0  " in line).split() == [
        *("thread", "0", "thread", "1", "thread", "2", "thread", "3")
    ]
    assert done.output.endswith(
        "    line 2: put('a', 1) -> None\n    line 5: get('a') -> no response\n    line 3: get('a') -> 1\n"
        "    line 4: get('a') -> 3\n\nviolation\n"
    )


@pytest.mark.parametrize(("returned", "invoked", "code"), [(5, 6, 0), (5, 5, 0), (5, 4, 2), (None, 6, 2)])
def test_a_thread_makes_one_call_at_a_time(returned: int | None, invoked: int, code: int) -> None:
    calls = call(1, "put", ["a", 2], 1, returned) + call(1, "put", ["a", 1], invoked, 9) + call(2, "size", [], 2, 8, 1)
    done = judge("--spec", "map", "-", input=f"{HEADER}\n{calls}")
    assert done.exit_code == code, done.output
    assert ("line 3: thread 1 begins a call before its call of line 2 has returned" in done.output) == (code == 2)


def test_who_forgets_to_say_what_was_called_is_told_how() -> None:
    done = judge("-", input=RIGHT)
    assert done.exit_code == 2
    assert "line 1: the first line lacks indexes" in done.output
    assert "for anything else, add --spec: " in done.output


@pytest.mark.parametrize(("initial", "code"), [("7", 0), ("8", 1)])
def test_what_is_held_at_first(initial: str, code: int) -> None:
    read = history(("read", [], 7))
    assert judge("--spec", "register", "--initial", initial, "-", input=read).exit_code == code


def test_a_long_history_is_told_by_few_calls() -> None:
    many = [("add", [number], True) for number in range(200)]
    done = judge("--spec", "set", "-", input=history(*many, ("contains", [3], False), ("size", [], 200)))
    assert done.exit_code == 1
    assert "Thread 0: contains(3) returned False" in done.output
    assert len(done.output.splitlines()) < 30


@pytest.mark.parametrize(
    ("outcome", "code"), [({"result": None}, 0), ({"error": "IndexError"}, 0), ({"result": 1}, 1), ({"error": "E"}, 0)]
)
def test_an_error_says_that_there_is_nothing(outcome: dict[str, Any], code: int) -> None:
    assert judge("--spec", "stack", "-", input=history(("pop", [], outcome))).exit_code == code


OWN = """
class Doubling:
    def initial(self):
        return 1

    def apply(self, state, call):
        if call.name == "double":
            return 2 * state, None
        if call.name == "value":
            return state, state
        raise TypeError("doublings have no " + call.name)

class Unfinished:
    def initial(self):
        return 1
"""


def test_a_specification_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "doublings.py").write_text(OWN, encoding="utf-8")
    calls = [("double", [], None), ("double", [], None)]
    spec = ("--spec", "doublings.py:Doubling", "-")
    assert judge(*spec, input=history(*calls, ("value", [], 4))).exit_code == 0
    assert judge(*spec, input=history(*calls, ("value", [], 2))).exit_code == 1
    done = judge(*spec, input=history(("halve", [], None)))
    assert done.exit_code == 2
    assert "apply(1, halve()) raised TypeError: doublings have no halve" in done.output
    done = judge("--spec", "doublings.py:Unfinished", "-", input=history(*calls))
    assert (done.exit_code, done.output) == (
        2,
        "kcache: error: doublings.py:Unfinished is not a specification: it has no apply\n",
    )
    done = judge(*spec, input=EDN % "1")
    assert "a recording in the format EDN needs a standard specification, not doublings.py:Doubling" in done.output


@pytest.mark.parametrize(
    ("arguments", "input", "message"),
    [
        (("--spec", "tree"), RIGHT, "unknown specification tree; known are register, cas-register, "),
        (("--spec", "map"), history(("fly", [], None)), 'line 2: unknown operation "fly"; known are: get, put, '),
        (("--spec", "map"), history(("put", ["a"], None)), "line 2: put takes 2 arguments, not 1: ["),
        (("--spec", "queue"), history(("enqueue", [None], None)), "line 2: enqueue(None): null cannot be put in"),
        (("--spec", "counter"), history(("add", ["x"], None)), "line 2: add('x'): a counter adds numbers"),
        (("--spec", "map"), RIGHT + "{", "line 6: "),
        (("--spec", "map"), "nothing", "line 1: neither JSON lines"),
        (
            ("--spec", "map"),
            '{"schema": "kcache/events/1"}',
            'line 1: expected "schema": "kcache/history/1", found "kca',
        ),
        (("--spec", "set", "--initial", "1"), RIGHT, "the specification set has a fixed initial value"),
        (("--spec", "map", "--type", "fifo"), RIGHT, "use --spec or --type, not both"),
        (("--initial", "1"), RIGHT, "--initial needs --spec"),
        (("--spec", "map", "--initial", "x"), RIGHT, "'x' is not JSON"),
    ],
)
def test_what_is_asked_wrongly_is_one_clear_line(arguments: tuple[str, ...], input: str, message: str) -> None:
    done = judge(*arguments, "-", input=input)
    assert done.exit_code == 2
    assert message in done.output
    assert "Traceback" not in done.output


@pytest.mark.parametrize("text", ["", HEADER + "\n"])
def test_a_recording_without_calls_is_unknown(text: str) -> None:
    done = judge("--spec", "map", "-", input=text)
    assert done.exit_code == 3
    assert "contains no finished call" in done.output
