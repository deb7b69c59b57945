"""Recordings of other tools are read as they are meant; what cannot be read is told with its line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kcache_model.errors import FormatError
from kcache_model.foreign_recordings import ForeignFormat, format_of, read_foreign
from kcache_model.foreign_recordings.edn import edn_value
from kcache_model.linearizability import SearchBudget
from kcache_model.object_types.checking import CallsVerdict
from kcache_model.object_types.judging import judge_of
from kcache_model.outcomes import UNTOLD, returned
from kcache_model.standard_specifications import STANDARD_SPECIFICATIONS, Specifies
from kcache_model.verdict import Status

PUBLISHED = Path(__file__).resolve().parents[2] / "shared" / "histories"
"""Published histories with known verdicts, beside the checkout."""

needs_published = pytest.mark.skipif(
    not PUBLISHED.is_dir(), reason="there are no published histories beside the checkout"
)


def judged(text: str, name: str, start: Any = None) -> CallsVerdict:
    specification: Specifies = replace(STANDARD_SPECIFICATIONS[name], start=start)
    lines = text.splitlines(keepends=True)
    found = format_of(lines)
    calls = () if found is None else read_foreign(lines, found, specification).calls
    judge = judge_of(specification)
    return judge.judge(list(map(specification.told, calls)), SearchBudget(seconds=60.0, steps=10**9))


def edn(*events: str) -> str:
    """``0 invoke write 3``: one event on each line, in one vector."""
    told = []
    for event in events:
        process, kind, f, *value = event.split(" ", 3)
        told.append(f"{{:process {process}, :type :{kind}, :f :{f}, :value {''.join(value) or 'nil'}}}")
    return "[" + "\n ".join(told) + "]\n"


def log(*events: str) -> str:
    """The same as a log."""
    told = []
    for event in events:
        process, kind, f, *value = event.split(" ", 3)
        told.append(f"INFO  jepsen.util - {process}\t:{kind}\t:{f}\t{''.join(value) or 'nil'}\n")
    return "INFO  jepsen.core - Running test\n" + "".join(told)


def whole(*calls: str) -> list[str]:
    """``write 3`` or ``read -> 3``: calls of one process after another, each begun and ended."""
    events = []
    for call in calls:
        asked, _, given = call.partition(" -> ")
        f, _, value = asked.partition(" ")
        events += [f"0 invoke {f} {value or 'nil'}", f"0 ok {f} {given or value or 'nil'}"]
    return events


TWINS = {
    "register": (["write 1", "write 2", "read -> 2"], ["write 1", "write 2", "read -> 1"]),
    "cas-register": (["write 1", "cas [1 2]", "read -> 2"], ["write 1", "cas [2 1]", "read -> 1"]),
    "multi-register": (
        [
            "write [:x 1]",
            "write [:y 2]",
            "read [:x nil] -> [:x 1]",
            "txn [[:r :x nil] [:w :y 3]] -> [[:r :x 1] [:w :y 3]]",
        ],
        ["write [:x 1]", "write [:y 2]", "read [:x nil] -> [:x 2]"],
    ),
    "map": (["put [7 1]", "get 7 -> 1", "get 8 -> nil"], ["put [7 1]", "get 8 -> 1"]),
    "set": (["add 1", "add 2", "read -> #{2 1}"], ["add 1", "add 2", "read -> #{2}"]),
    "multiset": (["add 1", "add 1", "read -> [1 1]"], ["add 1", "add 1", "read -> [1]"]),
    "counter": (["add 2", "increment", "read -> 3"], ["add 2", "increment", "read -> 2"]),
    "queue": (["enqueue 1", "enqueue 2", "dequeue -> 1"], ["enqueue 1", "enqueue 2", "dequeue -> 2"]),
    "priority-queue": (["push 2", "push 1", "pop -> 1"], ["push 2", "push 1", "pop -> 2"]),
    "stack": (["push 1", "push 2", "pop -> 2"], ["push 1", "push 2", "pop -> 1"]),
    "mutex": (["acquire", "release", "acquire"], ["acquire", "acquire"]),
}


@pytest.mark.parametrize("name", STANDARD_SPECIFICATIONS)
@pytest.mark.parametrize("written", [edn, log])
def test_each_specification_has_a_right_and_a_wrong_recording(name: str, written: Any) -> None:
    right, wrong = TWINS[name]
    assert judged(written(*whole(*right)), name).status is Status.OK
    assert judged(written(*whole(*wrong)), name).status is Status.VIOLATION


def test_a_call_without_news_is_pending_and_one_that_failed_did_not_happen() -> None:
    begins = ["0 invoke write 1", "1 invoke read"]
    for end in ("0 info write 1", "0 info write :timed-out"):
        assert judged(edn(*begins, "1 ok read 1", end), "register").status is Status.OK
        assert judged(edn(*begins, "1 ok read nil", end), "register").status is Status.OK
    assert judged(edn(*begins, "0 fail write 1", "1 ok read nil"), "register").status is Status.OK
    assert judged(edn(*begins, "0 fail write 1", "1 ok read 1"), "register").status is Status.VIOLATION
    assert judged(edn(*begins, "1 ok read 1"), "register").status is Status.OK


def test_a_read_that_timed_out_says_nothing() -> None:
    events = ["0 invoke write 1", "0 ok write 1", "1 invoke read", "1 fail read :timed-out", "2 invoke read"]
    assert judged(log(*events, "2 ok read 1"), "cas-register").status is Status.OK
    assert judged(log(*events, "2 info read :timed-out"), "cas-register").status is Status.OK


def test_a_comparison_that_failed_happened_in_a_log_only() -> None:
    events = [*whole("write 1"), "1 invoke cas [1 2]", "1 fail cas [1 2]", *whole("read -> 1")]
    assert judged(edn(*events), "cas-register").status is Status.OK
    assert judged(log(*events), "cas-register").status is Status.VIOLATION
    unequal = [*whole("write 1"), "1 invoke cas [3 2]", "1 fail cas [3 2]"]
    assert judged(log(*unequal), "cas-register").status is Status.OK


def test_keys_as_fields_and_texts_that_grow() -> None:
    lines = [
        '{:process 0, :type :invoke, :f :append, :key "a", :value "x"}',
        '{:process 0, :type :ok, :f :append, :key "a", :value "x"}',
        '{:process 0, :type :invoke, :f :get, :key "a", :value nil}',
        '{:process 0, :type :ok, :f :get, :key "a", :value "x"}',
        '{:process 0, :type :invoke, :f :get, :key "b", :value nil}',
        '{:process 0, :type :ok, :f :get, :key "b", :value ""}',
    ]
    assert judged("\n".join(lines), "map", start="").status is Status.OK
    assert judged("\n".join(lines), "map").status is Status.VIOLATION  # what is not there is null
    assert judged("\n".join(lines).replace('"b"', '"a"'), "map", start="").status is Status.VIOLATION


def test_transactions_are_judged_as_one_call() -> None:
    swap = "[[:r 1 nil] [:w 2 5]]"
    events = ["0 invoke txn [[:w 1 4]]", "0 ok txn [[:w 1 4]]", f"1 invoke txn {swap}", "1 ok txn [[:r 1 4] [:w 2 5]]"]
    assert (
        judged(edn(*events, "0 invoke txn [[:r 2 nil]]", "0 ok txn [[:r 2 5]]"), "multi-register").status is Status.OK
    )
    late = ["0 invoke txn [[:r 2 nil]]", "0 ok txn [[:r 2 nil]]"]
    assert judged(edn(*events, *late), "multi-register").status is Status.VIOLATION


def test_what_a_value_looks_like() -> None:
    text = r'#record {:a [1 2.5 -3N], "b\n\u0041" #{true}, :c (nil \a \newline), #_ :no :d sym} ; end'
    assert edn_value(text) == {"a": (1, 2.5, -3), "b\nA": frozenset([True]), "c": (None, "a", "\n"), "d": "sym"}


def test_results_that_were_not_recorded_say_nothing() -> None:
    (add, contains) = read_foreign(
        [edn(*whole("add 3", "contains 3 -> true"))], ForeignFormat.EDN, STANDARD_SPECIFICATIONS["set"]
    ).calls
    assert (add.outcome, contains.outcome) == (UNTOLD, returned(True))
    assert (add.invoked, add.returned, contains.invoked, contains.returned) == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (edn("0 invoke fly"), 'line 1: unknown operation "fly"; known are: read, write'),
        (edn(*whole("read"), "0 invoke write [1"), "line 3: expected ] for the \\[ of line 3, not }"),
        (edn("0 invoke read", "0 invoke read"), "line 2: process 0 begins a call before its call of line 1"),
        (edn("0 ok read"), "line 1: process 0 ends a call that it did not begin"),
        (edn("0 invoke read", "0 ok write 1"), "line 2: :write ends :read of line 1"),
        (edn("0 begin read"), "line 1: :type is :begin; known are :invoke, :ok, :fail, :info"),
        ("[{:process 0}]", "line 1: an event needs :type, :f"),
        ("[3]", "line 1: an event must be a map"),
        ("[{:process 0, :type :invoke, :f :read}\n", "line 2: the history ends without \\]"),
        ('[{:process 0, :f "read}]', "line 1: not EDN, or a text without an end"),
        ("Dear reader,", "line 1: neither JSON lines"),
        (log("0 invoke write [1"), "line 2: the text ends within a value"),
        (edn(*whole("write [1 2]"), "0 invoke cas 1"), 'unknown operation "cas"'),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        judged(text, "register")


def test_histories_of_lists_are_refused() -> None:
    with pytest.raises(FormatError, match=r"line 1: a transaction consists of .*list-append cannot be read"):
        judged(edn("0 invoke txn [[:append 1 2]]"), "multi-register")
    with pytest.raises(FormatError, match="line 1: cas takes 2 arguments, not 1"):
        judged(edn("0 invoke cas 1"), "cas-register")
    with pytest.raises(FormatError, match=r"line 1: enqueue.None.: null cannot be put in"):
        judged(edn("0 invoke enqueue nil"), "queue")


@pytest.mark.parametrize("text", ["", "\n\n", "[]", edn("0 invoke write 1"), edn("0 invoke read", "0 fail read")])
def test_a_recording_that_shows_nothing_is_unknown(text: str) -> None:
    assert judged(text, "register").status is Status.UNKNOWN


def published() -> list[tuple[str, str, Any, Status]]:
    told = []
    if PUBLISHED.is_dir():
        verdicts = json.loads((PUBLISHED / "porcupine" / "verdicts.json").read_text(encoding="utf-8"))
        logs = {name: is_right for name, is_right in verdicts.items() if name.endswith(".log")}
        for name, is_right in sorted(logs.items()):
            status = Status.OK if is_right else Status.VIOLATION
            told.append((f"porcupine/jepsen/{name}", "cas-register", None, status))
        for file in sorted((PUBLISHED / "porcupine" / "kv").iterdir()):
            status = Status.OK if "ok" in file.name else Status.VIOLATION
            told.append((f"porcupine/kv/{file.name}", "map", "", status))
        for file in sorted((PUBLISHED / "knossos").glob("*/*/*.edn")):
            name = file.parts[-3]
            start = 0 if name == "multi-register" else None
            status = Status.OK if file.parts[-2] == "good" else Status.VIOLATION
            told.append((file.relative_to(PUBLISHED).as_posix(), name, start, status))
    return told


@needs_published
@pytest.mark.one_in(3)
@pytest.mark.parametrize("part", range(12))
def test_published_verdicts(part: int) -> None:
    told = published()
    assert len(told) == 102 + 6 + 122
    for file, name, start, expected in told[part::12]:
        text = (PUBLISHED / file).read_text(encoding="utf-8")
        shows_nothing = ":ok" not in text
        assert judged(text, name, start).status is (Status.UNKNOWN if shows_nothing else expected), file
