"""The page: what it says, that nothing of a target becomes markup, and that the order drawn is one of the model."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcache_conformance.report.page import (
    Detail,
    Page,
    Picture,
    Table,
    page_of_finding,
    page_of_history,
    page_text,
    picture_of_finding,
    picture_of_history,
    write_page,
)
from kcache_conformance.report.page.cutting import drawn_calls
from kcache_conformance.report.page.encode import encode_picture, json_for_html
from kcache_conformance.report.page.placing import place_calls, place_points
from kcache_conformance.report.page.states import differences
from kcache_model.finding import Finding, FindingKind
from kcache_model.history import FINAL_THREAD, PREFIX_THREAD, Call
from kcache_model.indexers import operations
from kcache_model.indexers.check import check_linearizable
from kcache_model.indexers.indexer_model import IndexerModel, State
from kcache_model.indexers.items import Item
from kcache_model.indexers.program import History, Program
from kcache_model.interleaving import Interleaving
from kcache_model.outcomes import ErrorKind, raised, returned
from kcache_model.verdict import Status, Verdict

MakeHistory = Callable[..., History]

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!--<script>",
    "]]>",
    "&lt;b&gt; &amp;",
    "\x00\x07\x1b[31m",
    "\u2028\u2029\u202e",
    "\ud800 alone",
    "{{ page }} {% raw %}",
    "'\"` onload=alert(1)",
    "__proto__",
    "x" * 100_000,
]


class Document(HTMLParser):
    """What a browser would make of it, as far as it matters here."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "input", "img", "link"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self._open[-1] if self._open else "", []).append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)


def picture_data(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="picture">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def hostile_history() -> History:
    calls = []
    for number, text in enumerate(HOSTILE):
        item = Item(text, f"{text[:200]}{number}", {"node": (text,), text[:30]: (text,)})
        calls.append(Call(0, operations.add(item), 4 * number, 4 * number + 1, returned()))
        error = raised(ErrorKind.OTHER, text)
        calls.append(Call(1, operations.get_by_key(text), 4 * number + 2, 4 * number + 3, error))
    return History(("node",), tuple(calls))


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_data_in_a_script_element_stays_data(data: object) -> None:
    text = json_for_html(data)
    assert not set(text) & set("<>&\u2028\u2029")
    assert text.isascii()
    assert json.loads(text) == data


def test_nothing_of_a_target_becomes_markup(tmp_path: Path) -> None:
    history = hostile_history()
    picture = Picture(history, tuple(range(0, len(history.calls), 2)), (1, 3), 1, HOSTILE[0], returned(HOSTILE[1]))
    harmless = Page(
        "t", Status.VIOLATION, "h", ("p",), picture, (Table("t", ("c",), (("x",),)),), (Detail("d", "x"),), "c"
    )
    for text in HOSTILE:
        page = Page(
            text,
            Status.VIOLATION,
            text,
            (text,),
            picture,
            (Table(text, (text,), ((text,),)),),
            (Detail(text, text),),
            text,
        )
        file = tmp_path / "page.html"
        write_page(file, page)
        written = file.read_text(encoding="utf-8")
        document, same = Document(written), Document(page_text(harmless))
        assert [name for name, _ in document.elements] == [name for name, _ in same.elements]
        for _, attributes in document.elements:
            assert not [name for name in attributes if name.startswith("on") or name in ("src", "href", "style")]
        assert not re.search("[\x00-\x08\x0b-\x1f\u202e\u2028\ud800]", written)


def test_only_its_own_script_and_style_may_run() -> None:
    text = page_text(Page("t", Status.OK, "fine", picture=Picture(hostile_history())))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy[1].split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["base-uri"] == rules["form-action"] == "'none'"
    for name, pattern in (("style-src", "<style>(.*?)</style>"), ("script-src", "<script>(.*?)</script>")):
        (content,) = re.findall(pattern, text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
        assert "<!--" not in content
    assert not re.search(r"""(?:https?:|url\(["']?(?!#))""", text.replace("http://www.w3.org/2000/svg", ""))
    assert "innerHTML" not in text


def test_without_javascript_the_page_says_everything(golden: Callable[[str, str], None]) -> None:
    item, other = Item("a", "v1", {"node": ("n1",)}), Item("a", "v2", {"node": ("n2",)})
    calls = (
        Call(PREFIX_THREAD, operations.add(item), 0, 1, returned()),
        Call(0, operations.update(other), 2, 5, returned()),
        Call(1, operations.get_by_key("a"), 3, 4, returned()),
        Call(FINAL_THREAD, operations.delete(other), 6, None, None),
    )
    program = Program(("node",), (operations.add(item),), ((operations.update(other),), (operations.get_by_key("a"),)))
    finding = Finding(
        FindingKind.NONLINEARIZABLE,
        "explorer",
        "the key a was gone for a moment",
        program,
        calls=calls,
        core=(0, 2),
        interleaving=Interleaving(0, {}, (), (), (), (), (), ("what it raised",), True),
        schedule="kx1.word",
        detail="1 preemption",
    )
    tables = (Table("Coverage", ("call", "ok"), (("add", "12"),)),)
    text = page_text(page_of_finding(finding, "cache:make", title="kcache check cache:make", tables=tables))
    document = Document(text)
    parts = [part for tag, found in document.texts.items() if tag not in ("style", "script") for part in found]
    for said in (
        "a was gone",
        "kcache replay kx1.word",
        "what it raised",
        "1 preemption",
        "update(a@v2{node: n2})",
        "12",
    ):
        assert any(said in part for part in parts), said
    static = re.sub(r"<(style|script)\b.*?</\1>", r"<\1></\1>", text, flags=re.DOTALL)
    golden("page", re.sub(r"sha256-[A-Za-z0-9+/=]+", "sha256-HASH", static))


@pytest.mark.parametrize("status", Status)
def test_a_page_for_every_verdict(status: Status, make_history: MakeHistory) -> None:
    history = make_history(8, 2)
    core = history.calls[:1] if status is Status.VIOLATION else ()
    verdict = Verdict(status, core=core, reason="" if status is Status.OK else "it took too long")
    page = page_of_history(history, verdict, title="judge history.jsonl")
    text = page_text(page)
    assert f'<p class="pill {status.value}">' in text
    assert f"<title>{status.value}: judge history.jsonl</title>" in text
    assert ("it took too long." in text) == (status is not Status.OK)
    data = picture_data(text)
    assert len(data["calls"]) == 8
    assert bool(data["steps"]) == (status is Status.OK or bool(data["steps"]))
    if status is Status.UNKNOWN:
        assert "No order is drawn" in data["note"]


def follow(history: History, order: tuple[int, ...]) -> State:
    model = IndexerModel(history.semantics)
    state = model.initial(history.indexes)
    for position in order:
        state, outcome = model.apply(state, history.calls[position].operation)
        observed = history.calls[position].outcome
        assert observed is None or observed.agrees_with(outcome)
    return state


def respects_time(history: History, order: tuple[int, ...]) -> bool:
    calls = [history.calls[position] for position in order]
    return not any(later.precedes(call) for at, call in enumerate(calls) for later in calls[at + 1 :])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("count", [6, 40, 300])
def test_the_order_explains_the_calls(count: int, seed: int, make_history: MakeHistory) -> None:
    history = make_history(count, 4, seed)
    picture = picture_of_history(history, Status.OK)
    assert sorted(picture.order) == list(range(count))
    follow(history, picture.order)
    assert respects_time(history, picture.order)
    assert picture.first_error is None


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("count", [30, 400])
def test_the_order_that_gets_furthest(count: int, seed: int, make_history: MakeHistory) -> None:
    history = make_history(count, 3, seed, wrong_from=count // 2)
    verdict = check_linearizable(history)
    assert verdict.status is Status.VIOLATION
    picture = page_of_history(history, verdict, title="t").picture
    assert picture is not None
    (wrong,) = (at for at, call in enumerate(history.calls) if call.outcome == returned("never"))
    assert picture.first_error == wrong
    assert wrong in picture.core
    assert wrong not in picture.order
    assert len(picture.order) > count // 4
    state = follow(history, picture.order)
    assert respects_time(history, picture.order)
    _, expected = IndexerModel().apply(state, history.calls[wrong].operation)
    assert picture.expected == expected
    data = encode_picture(picture)
    assert data["firstError"] == wrong
    assert data["expected"] != ""


def test_of_a_very_long_history_only_what_is_drawn_is_ordered(make_history: MakeHistory) -> None:
    history = make_history(6000, 4)
    picture = picture_of_history(history, Status.OK)
    assert 4900 < len(picture.order) <= 5010
    follow(replace(history, calls=tuple(replace(call, outcome=None) for call in history.calls)), picture.order)
    assert respects_time(history, picture.order)
    data = encode_picture(picture)
    assert len(data["calls"]) == 5000
    assert "the first calls." in data["note"]


def test_pending_calls_may_have_no_effect(make_history: MakeHistory) -> None:
    history = make_history(30, 3)
    never = Call(7, operations.delete(Item("k1", "never")), 1200, None, None)
    asked = Call(8, operations.list_objects(), 1300, None, None)
    calls = tuple(sorted((*history.calls, never, asked), key=lambda call: call.invoked))
    picture = picture_of_history(replace(history, calls=calls), Status.OK)
    assert set(picture.order) >= {at for at, call in enumerate(calls) if call.returned is not None}
    data = encode_picture(picture)
    assert sum(call["pending"] for call in data["calls"]) == 2
    assert [lane["name"] for lane in data["lanes"]][-2:] == ["thread 8", "thread 9"]


def test_where_no_order_is_found_none_is_drawn(make_history: MakeHistory) -> None:
    history = make_history(40, 2, wrong_from=5)
    picture = picture_of_history(history, Status.OK)  # not true: stands for a search that gives up
    assert picture.order == ()
    assert "No order is drawn" in picture.note


@pytest.mark.parametrize("seed", range(5))
def test_states_before_and_after(seed: int, make_history: MakeHistory) -> None:
    history = make_history(60, 3, seed)
    item = Item("k1", "w", {"node": ("n9",)}, resource_version="5")
    extra = [operations.add(item), operations.mutate("k1", {"node": ("n0",)}), operations.replace((item,), "7")]
    calls = (
        *history.calls,
        *(Call(0, more, 10**6 + 2 * at, 10**6 + 2 * at + 1, returned()) for at, more in enumerate(extra)),
    )
    history = replace(history, calls=calls)
    model, shown = IndexerModel(), {}
    state, facts = model.initial(history.indexes), {}
    for call, difference in zip(calls, differences(history, range(len(calls))), strict=True):
        state, _ = model.apply(state, call.operation)
        for key, text in difference.items:
            if text is None:
                del shown[key]
            else:
                shown[key] = text
        facts.update(difference.facts)
        assert {key: text.removesuffix(", later changed in place") for key, text in shown.items()} == {
            key: str(stored.item) for key, stored in state.stored.items()
        }
        assert facts.get("resource version", "") == state.resource_version
    assert shown == {"k1": "k1@w{node: n9} rv=5, later changed in place"}


def test_long_histories_are_cut_around_the_first_error(make_history: MakeHistory) -> None:
    history = make_history(7000, 4, wrong_from=6000)
    verdict = check_linearizable(history)
    picture = page_of_history(history, verdict, title="t").picture
    assert picture is not None
    assert picture.first_error is not None
    drawn = drawn_calls(picture)
    assert len(drawn) <= 5000 + len(picture.core)
    assert picture.first_error in drawn
    assert 0 not in drawn
    data = encode_picture(picture)
    assert "of 7,000 calls are drawn" in data["note"]
    assert data["calls"][data["firstError"]]["result"] == "never"
    items: dict[str, str] = {}
    for step in data["steps"]:
        for change in (step.get("unseen"), step.get("change")):
            items |= dict(change["items"]) if change else {}
    items |= dict(data["rest"]["items"])
    state = follow(history, picture.order)
    left = {key: text for key, text in items.items() if text is not None}
    assert left == {key: str(stored.item) for key, stored in state.stored.items()}
    assert len(drawn_calls(replace(picture, first_error=None, core=()), 100)) == 100


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30), st.integers(0, 10) | st.none()), max_size=12))
def test_calls_and_points_have_their_place(made: list[tuple[int, int, int | None]]) -> None:
    calls = sorted(
        (
            Call(thread, operations.list_keys(), begin, None if length is None else begin + length, None)
            for thread, begin, length in made
        ),
        key=lambda call: call.invoked,
    )
    placed = place_calls(calls)
    for one in range(len(calls)):
        for other in range(len(calls)):
            before = placed.spans[one][1] < placed.spans[other][0]
            assert before == calls[one].precedes(calls[other])
            if one < other and calls[one].thread == calls[other].thread and placed.rows[one] == placed.rows[other]:
                assert before
    points = place_points(placed.spans)
    for slot, (first, last) in zip(points, placed.spans, strict=True):
        assert first <= slot <= last
    assert list(points) == sorted(points)


STEPS = (operations.add(Item("a", "v1")), operations.get_by_key("a"), operations.list_keys())


def test_a_sequential_finding_is_one_lane_up_to_the_wrong_step() -> None:
    finding = Finding(
        FindingKind.DIVERGENCE, "stateful", "it lost a", Program((), STEPS), 1, returned("v1"), returned()
    )
    finding = replace(finding, schedule="kx1.abc")
    page = page_of_finding(finding, "m:f", title="t")
    assert page.picture is not None
    data = encode_picture(page.picture)
    assert [call["text"] for call in data["calls"]] == ["add(a@v1)", "get_by_key(a)"]
    assert [call["result"] for call in data["calls"]] == ["None", "None"]
    assert (data["firstError"], data["expected"]) == (1, "v1")
    assert [step["call"] for step in data["steps"]] == [0]
    assert "1 later steps" in data["note"]
    assert page.command == "kcache replay kx1.abc"
    assert any("Expected by the model: v1" in paragraph for paragraph in page.paragraphs)


def test_a_step_that_breaks_an_invariant_was_right_itself() -> None:
    finding = Finding(FindingKind.INVARIANT, "stateful", "a is nowhere", Program((), STEPS[:1]), 0)
    picture = picture_of_finding(finding)
    assert picture is not None
    assert (picture.order, picture.first_error) == ((0,), 0)
    assert encode_picture(picture)["expected"] == ""


def test_a_call_that_hangs_is_open_ended() -> None:
    picture = picture_of_finding(Finding(FindingKind.HANG, "stateful", "it hangs", Program((), STEPS)))
    assert picture is not None
    assert picture.first_error == 2
    assert [call["pending"] for call in encode_picture(picture)["calls"]] == [False, False, True]


def test_a_concurrent_finding_without_a_core_gets_its_prefix_back() -> None:
    program = Program((), STEPS[:1], ((STEPS[1],), (STEPS[2],)))
    calls = (Call(0, STEPS[1], 100, 105, returned("v1")), Call(1, STEPS[2], 101, None, None))
    picture = picture_of_finding(Finding(FindingKind.HANG, "stress", "it hangs", program, calls=calls))
    assert picture is not None
    assert [call.thread for call in picture.history.calls] == [PREFIX_THREAD, 0, 1]
    assert picture.order == (0, 1)


def test_a_finding_without_calls_shows_its_program() -> None:
    program = Program((), STEPS[:1], ((STEPS[1],), (STEPS[2],)))
    page = page_of_finding(Finding(FindingKind.DEADLOCK, "explorer", "stuck", program), "m:f", title="t")
    assert page.picture is None
    (table,) = page.tables
    assert table.rows == (("before", "add(a@v1)"), ("thread 1", "get_by_key(a)"), ("thread 2", "list_keys()"))
    assert 'id="picture"' not in page_text(page)


def test_a_finding_without_a_program() -> None:
    page = page_of_finding(Finding(FindingKind.LEAK, "stress", "2 threads are left"), "m:f", title="t")
    assert page.picture is None
    assert page.command == ""
    assert "Run it again" not in page_text(page)


def test_times_may_be_any_integers() -> None:
    first, last = -(10**5000), 10**5000
    calls = (Call(0, STEPS[0], first, 0, returned()), Call(0, STEPS[1], 1, last, returned("v1")))
    data = picture_data(page_text(Page("t", Status.OK, "h", picture=picture_of_history(History((), calls), Status.OK))))
    assert [place for place, _ in data["ticks"]] == sorted(place for place, _ in data["ticks"])
    assert data["ticks"][0][0] == 0.0
    assert data["ticks"][-1][0] == 1.0
