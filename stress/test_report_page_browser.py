"""The page in a real browser: it draws, it listens, it asks for nothing, and it stays harmless."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kcache_conformance.report.page import Detail, Page, Picture, Table, page_of_history, picture_of_history, write_page
from kcache_model.history import Call
from kcache_model.indexers import operations
from kcache_model.indexers.check import check_linearizable
from kcache_model.indexers.items import Item
from kcache_model.indexers.program import History
from kcache_model.outcomes import ErrorKind, raised, returned
from kcache_model.verdict import Status

MakeHistory = Callable[..., History]

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
IS_REQUIRED = os.environ.get("KCACHE_REQUIRE_BROWSER") == "1"

pytestmark = pytest.mark.skipif(
    CHROMIUM is None and not IS_REQUIRED, reason="there is no chromium, chromium-browser or google-chrome on the PATH"
)

HOSTILE = [
    "</script><script>document.title='owned';alert(1)</script>",
    "<img src=http://127.0.0.1:9/x onerror=alert(1)>",
    "__proto__",
    "\x1b[31m\u202e\u2028",
    "constructor",
    "'\"><svg onload=alert(1)>",
]


@dataclass
class Watched:
    """What a page did that it should not do."""

    requests: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").sync_playwright
    assert CHROMIUM is not None, "KCACHE_REQUIRE_BROWSER is set, and there is no browser"
    with sync_playwright() as started:
        launched = started.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
            timeout=120_000,
        )
        yield launched
        launched.close()


class Visit:
    """A page that is open in the browser."""

    def __init__(self, browser: Any, file: Path, scheme: str = "light", width: int = 1200) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.watched = Watched()
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.page.on("request", lambda request: self.watched.requests.append(request.url))
        self.page.on("console", lambda message: self.watched.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.watched.messages.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.watched.messages.append("dialog"), dialog.dismiss()))
        self.page.goto(file.as_uri())
        self.file = file

    def panel(self) -> str:
        return str(self.page.inner_text("#panel"))

    def title_of_selected(self) -> str:
        return str(self.page.inner_text("#panel h2"))

    def frame(self) -> None:
        """Wait until what was asked for is drawn."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def shows(self, selector: str) -> bool:
        """Whether it lies within what can be seen of the picture."""
        inside = """selector => {
            const box = document.querySelector(selector).getBoundingClientRect();
            const frame = document.getElementById('scroller').getBoundingClientRect();
            return box.left < frame.right && box.right > frame.left;
        }"""
        return bool(self.page.evaluate(inside, selector))


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Visit]]:
    visits: list[Visit] = []

    def go(page: Page, **options: Any) -> Visit:
        file = tmp_path / f"page{len(visits)}.html"
        write_page(file, page)
        visits.append(Visit(browser, file, **options))
        return visits[-1]

    yield go
    for visited in visits:
        assert visited.watched.messages == []
        assert visited.watched.requests == [visited.file.as_uri()]
        visited.context.close()


def item(stamp: str, value: str) -> Item:
    return Item("a", stamp, {"node": (value,)})


def small_history(*, right: bool) -> History:
    found = returned(("v2",) if right else ("v1", "v2"))
    return History(
        ("node",),
        (
            Call(0, operations.add(item("v1", "n1")), 0, 10, returned()),
            Call(0, operations.update(item("v2", "n2")), 20, 60, returned()),
            Call(1, operations.get_by_key("a"), 30, 40, returned("v1")),
            Call(1, operations.list_objects(), 70, 80, found),
            Call(2, operations.delete(item("v3", "n1")), 90, None, None),
        ),
    )


def judged(history: History) -> Page:
    return page_of_history(history, check_linearizable(history), title="kcache judge history.jsonl")


@pytest.fixture
def violation() -> Page:
    page = judged(small_history(right=False))
    assert page.status is Status.VIOLATION
    return page


def test_it_draws_the_calls_and_the_order(visit: Callable[..., Visit]) -> None:
    shown = visit(judged(small_history(right=True)))
    assert shown.page.inner_text(".pill") == "\u2713 ok"
    assert shown.page.locator("#drawing [role=option]").count() == 5
    assert shown.page.locator("#drawing .point").count() == 4
    assert shown.page.locator("#drawing .path").count() == 1
    assert shown.page.locator("#drawing .pending").count() == 1
    assert shown.page.locator("#drawing .cross").count() == 0
    assert shown.page.locator("#jump").is_hidden()
    assert shown.page.locator("#lanes text").all_text_contents() == ["thread 1", "thread 2", "thread 3"]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("how", ["button", "key"])
def test_jump_to_the_first_error(visit: Callable[..., Visit], make_history: MakeHistory, how: str) -> None:
    shown = visit(judged(make_history(900, 3, wrong_from=600)))
    assert "first error" in shown.panel()
    error = "#" + str(shown.page.get_attribute("#drawing .error[role=option]", "id"))
    shown.page.evaluate("document.getElementById('scroller').scrollLeft = 0")
    shown.frame()
    assert shown.page.locator(error).count() == 0
    shown.page.focus("#scroller")
    shown.page.keyboard.press("Home")
    assert "first error" not in shown.panel()
    if how == "button":
        shown.page.click("#jump")
    else:
        shown.page.keyboard.press("e")
    shown.frame()
    assert "first error" in shown.panel()
    assert "never" in shown.panel()
    assert shown.shows(error)
    assert shown.page.get_attribute("#scroller", "aria-activedescendant") == error[1:]
    assert shown.page.evaluate("document.activeElement.id") == "scroller"


def test_a_click_tells_everything_about_a_call(visit: Callable[..., Visit], violation: Page) -> None:
    shown = visit(violation)
    assert shown.title_of_selected() == "list()"
    assert re.search(r"expected by the model\s+\[v2\]", shown.panel())
    assert re.search(r"a\s+a@v2\{node: n2\}", shown.panel()), "the state in which the order gets stuck"
    shown.page.locator("#call-1 .box").click(position={"x": 5, "y": 5})
    assert shown.title_of_selected() == "update(a@v2{node: n2})"
    text = shown.panel()
    assert re.search(r"a\s+a@v1\{node: n1\}\s+a@v2\{node: n2\}", text), "the states before and after"
    assert "thread 1" in text
    assert "from 20 to 60" in text
    assert re.search(r"order\s+\d of \d", text)
    assert re.search(r"result\s+None", text)


@pytest.mark.nightly
def test_hovering_tells_the_essence(visit: Callable[..., Visit], violation: Page) -> None:
    shown = visit(violation)
    assert shown.page.locator("#hint").is_hidden()
    shown.page.locator("#call-1 .box").hover(position={"x": 5, "y": 5})
    assert shown.page.locator("#hint").is_visible()
    text = shown.page.inner_text("#hint")
    assert "update(a@v2{node: n2})" in text
    assert "changes: a = a@v2{node: n2}" in text
    shown.page.mouse.move(5, 5)
    assert shown.page.locator("#hint").is_hidden()


def test_the_keyboard_reaches_every_call(visit: Callable[..., Visit], violation: Page) -> None:
    shown = visit(violation)
    shown.page.focus("#show-keys")
    shown.page.keyboard.press("Tab")
    assert shown.page.evaluate("document.activeElement.id") == "scroller"
    seen = []
    shown.page.keyboard.press("Home")
    for _ in range(5):
        seen.append(shown.title_of_selected())
        active = shown.page.get_attribute("#scroller", "aria-activedescendant")
        assert shown.page.get_attribute(f"#{active}", "aria-selected") == "true"
        assert seen[-1] in str(shown.page.get_attribute(f"#{active}", "aria-label"))
        shown.page.keyboard.press("ArrowRight")
    assert [text.partition("(")[0] for text in seen] == ["add", "update", "get_by_key", "list", "delete"]
    shown.page.keyboard.press("ArrowUp")
    assert shown.title_of_selected() == "list()"
    shown.page.keyboard.press("Home")
    in_order = []
    for _ in range(4):
        in_order.append(shown.title_of_selected().partition("(")[0])
        shown.page.keyboard.press("n")
    assert in_order == ["add", "get_by_key", "update", "list"], "the order, and then the call where it gets stuck"
    shown.page.keyboard.press("p")
    assert shown.title_of_selected().startswith("update")
    shown.page.keyboard.press("Enter")
    assert shown.page.evaluate("document.activeElement.id") == "panel"
    shown.page.keyboard.press("?")
    assert shown.page.locator("#keys").is_visible()
    assert "first error" in shown.page.inner_text("#keys")
    shown.page.keyboard.press("Escape")
    assert shown.page.locator("#keys").is_hidden()
    shown.page.keyboard.press("Escape")
    assert "Choose a call" in shown.panel()


def width_of(shown: Visit, selector: str) -> float:
    shown.frame()
    box = shown.page.locator(selector).bounding_box()
    assert box is not None
    return float(box["width"])


@pytest.mark.nightly
def test_zoom(visit: Callable[..., Visit], make_history: MakeHistory) -> None:
    shown = visit(judged(make_history(200, 3, wrong_from=100)))
    error = "#drawing .error .box"
    start = width_of(shown, error)
    shown.page.click("#zoom-in")
    assert width_of(shown, error) == pytest.approx(1.4 * start, rel=0.05)
    shown.page.keyboard.press("-")
    assert width_of(shown, error) == pytest.approx(start, rel=0.05)
    shown.page.keyboard.press("+")
    shown.page.keyboard.press("0")
    assert width_of(shown, error) == pytest.approx(start, rel=0.05)
    shown.page.locator(error).hover()
    shown.page.keyboard.down("Control")
    shown.page.mouse.wheel(0, -200)
    shown.page.keyboard.up("Control")
    shown.page.wait_for_function("document.getElementById('zoom-reset').textContent !== '100 %'")
    assert width_of(shown, error) > 1.3 * start
    shown.page.click("#zoom-fit")
    shown.frame()
    assert shown.page.evaluate("document.getElementById('scroller').scrollWidth <= innerWidth")
    assert shown.page.locator("#drawing [role=option]").count() == 200


@pytest.mark.nightly
def test_logical_and_real_time(visit: Callable[..., Visit], violation: Page) -> None:
    shown = visit(violation)
    first = width_of(shown, "#call-0 .box"), width_of(shown, "#call-1 .box")
    shown.page.click("#real-time")
    assert shown.page.get_attribute("#real-time", "aria-pressed") == "true"
    second = width_of(shown, "#call-0 .box"), width_of(shown, "#call-1 .box")
    assert second[1] / second[0] == pytest.approx(4, rel=0.05), "it took four times as long"
    assert first[1] / first[0] < 3.5
    shown.page.keyboard.press("t")
    assert width_of(shown, "#call-0 .box") == pytest.approx(first[0], rel=0.01)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dark_and_light(visit: Callable[..., Visit], violation: Page, scheme: str) -> None:
    shown = visit(violation, scheme=scheme)

    def brightness() -> int:
        colour = shown.page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    before = brightness()
    assert (before > 600) == (scheme == "light")
    shown.page.click("#theme")
    assert (brightness() > 600) != (scheme == "light")
    shown.page.keyboard.press("d")
    assert brightness() == before


CONTRAST = """() => {
    const part = value => { value /= 255; return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4; };
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const luminance = colour => {
        canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
        const [r, g, b] = canvas.getImageData(0, 0, 1, 1).data;
        return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    };
    const variable = name => {
        const probe = document.createElement('i');
        probe.style.color = `var(--${name})`; document.body.append(probe);
        const colour = getComputedStyle(probe).color; probe.remove(); return colour;
    };
    const contrast = (one, other) => {
        const [low, high] = [luminance(variable(one)), luminance(variable(other))].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
    };
    const pairs = [['muted', 'card'], ['muted', 'ground'], ['muted', 'write'], ['muted', 'core'], ['focus', 'card'],
        ['error-edge', 'error'], ['error-edge', 'card'], ['on-error', 'error-edge'], ['accent', 'card'],
        ['on-accent', 'accent'], ['ok', 'ok-ground'], ['unknown', 'unknown-ground'],
        ['text', 'read'], ['text', 'write'], ['text', 'core'], ['text', 'error']];
    return pairs.map(([one, other]) => [`${one} on ${other}`, contrast(one, other)]);
}"""


@pytest.mark.one_in(2, start=1)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_there_is_enough_contrast(visit: Callable[..., Visit], violation: Page, scheme: str) -> None:
    for pair, contrast in visit(violation, scheme=scheme).page.evaluate(CONTRAST):
        assert contrast >= 4.5, pair


def test_hostile_names_are_only_text(visit: Callable[..., Visit]) -> None:
    calls = []
    for number, text in enumerate(HOSTILE):
        stored = Item(text, f"{text}{number}", {"node": (text,)})
        calls.append(Call(0, operations.add(stored), 4 * number, 4 * number + 1, returned()))
        calls.append(Call(1, operations.get_by_key(text), 4 * number + 2, 4 * number + 3, returned(f"{text}{number}")))
    picture = picture_of_history(History(("node",), tuple(calls)), Status.OK, note=HOSTILE[0])
    assert len(picture.order) == len(calls)
    table, detail = Table(HOSTILE[0], (HOSTILE[1],), ((HOSTILE[0],),)), Detail(HOSTILE[1], HOSTILE[0])
    page = Page(HOSTILE[0], Status.OK, HOSTILE[1], (HOSTILE[0],), picture, (table,), (detail,), HOSTILE[0])
    shown = visit(page)
    assert shown.page.inner_text("h1") == HOSTILE[1]
    assert shown.page.inner_text("#command") == HOSTILE[0]
    assert HOSTILE[0] in shown.page.title()
    shown.page.focus("#scroller")
    shown.page.keyboard.press("Home")
    for number in range(len(calls)):
        if number == 0:
            assert "</script><script>document.title='owned'" in shown.panel()
        shown.page.locator(f"#call-{number} .box").hover(position={"x": 3, "y": 3})
        shown.page.keyboard.press("ArrowRight")
    text = shown.panel()
    for name in ("__proto__", "constructor"):
        assert re.search(rf"{name}\s+\W*{name}@", text), "a key like any other in the state of the model"
    assert shown.page.locator("img").count() == 0
    assert shown.page.locator("script").count() == 2


def test_a_foreign_script_does_not_run(visit: Callable[..., Visit], tmp_path: Path) -> None:
    shown = visit(judged(small_history(right=True)))
    done = shown.page.evaluate(
        """() => new Promise(resolve => {
            document.addEventListener('securitypolicyviolation', event => resolve(event.effectiveDirective));
            const script = document.createElement('script');
            script.textContent = 'window.foreign = true';
            document.body.append(script);
        })"""
    )
    assert done.startswith("script-src")
    assert shown.page.evaluate("window.foreign") is None
    shown.watched.messages.clear()  # the browser says that it has refused


@pytest.mark.nightly
def test_five_thousand_calls_stay_usable(visit: Callable[..., Visit], make_history: MakeHistory) -> None:
    page = judged(make_history(5000, 4, wrong_from=4000))
    began = time.monotonic()
    shown = visit(page)
    shown.frame()
    assert shown.page.locator("#drawing [role=option]").count() < 200
    for action in ("f", "Home", "n", "n", "ArrowDown", "+", "+", "t", "t", "0", "e", "ArrowLeft", "End"):
        shown.page.focus("#scroller")
        shown.page.keyboard.press(action)
        shown.frame()
    assert time.monotonic() - began < 60
    shown.page.click("#zoom-fit")
    shown.frame()
    assert shown.page.locator("#drawing .bulk").count() >= 2
    frame = shown.page.locator("#drawing").bounding_box()
    assert frame is not None
    shown.page.mouse.click(frame["x"] + frame["width"] / 2, frame["y"] + 60)
    assert shown.title_of_selected()
    assert shown.page.locator("#drawing [role=option]").count() == 1


@pytest.mark.one_in(2)
@pytest.mark.parametrize("width", [1200, 500])
def test_long_names_and_messages_leave_each_other_room(visit: Callable[..., Visit], width: int) -> None:
    index, message = "index" * 40, "it failed " * 40
    given = Item("a", "v1", {index: ("n1" * 40,)})
    calls = (Call(0, operations.add(given), 0, 1, raised(ErrorKind.OTHER, message)),)
    shown = visit(judged(History((index,), calls)), width=width)
    assert message.strip() in shown.panel()
    widths = shown.page.eval_on_selector_all("#panel dd", "all => all.map(one => one.getBoundingClientRect().width)")
    assert min(widths) > 120
    heights = shown.page.eval_on_selector_all("#panel dt", "all => all.map(one => one.getBoundingClientRect().height)")
    assert max(heights) < 400
    assert shown.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_on_a_narrow_screen_nothing_is_lost(visit: Callable[..., Visit], violation: Page) -> None:
    shown = visit(violation, width=420)
    assert shown.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.nightly
def test_paper_shows_the_picture_in_strips(visit: Callable[..., Visit], make_history: MakeHistory) -> None:
    shown = visit(judged(make_history(60, 3, wrong_from=40)))
    shown.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    shown.page.emulate_media(media="print")
    assert shown.page.locator("#strips svg").count() > 1
    assert shown.page.locator("#strips").is_visible()
    assert shown.page.locator(".chart").is_hidden()
    shown.page.emulate_media(media="screen")
    shown.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert shown.page.locator("#strips svg").count() == 0


def test_without_javascript_the_text_is_there(browser: Any, tmp_path: Path, violation: Page) -> None:
    file = tmp_path / "page.html"
    write_page(file, violation)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    text = page.inner_text("body")
    assert violation.headline in text
    assert "cannot be right" in text
    assert "list()" in text
    assert not page.locator("#scroller").is_visible()
    assert not page.locator("#theme").is_visible()
    context.close()


def test_an_empty_history(visit: Callable[..., Visit]) -> None:
    shown = visit(Page("t", Status.OK, "nothing", picture=Picture(History((), ()))))
    for key in ("e", "n", "p", "+", "-", "0", "f", "t"):
        shown.page.keyboard.press(key)
    shown.page.focus("#scroller")
    for key in ("Home", "End", "ArrowRight", "ArrowDown"):
        shown.page.keyboard.press(key)
    assert "Choose a call" in shown.panel()
