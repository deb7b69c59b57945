"""Tests of sentences about calls."""

from __future__ import annotations

import pytest

from kcache_model.history import FINAL_THREAD, Call, RecordedThread
from kcache_model.outcomes import UNTOLD, WAITS, ErrorKind, Outcome, raised, returned
from kcache_model.render import no_order_text, result_text


def _call(thread: int, operation: str, outcome: Outcome | None = None) -> Call[str]:
    return Call(thread, operation, 0, 1, outcome)


def test_the_closest_order_begins_with_the_call_itself() -> None:
    assert no_order_text(_call(1, "draw()", returned(2)), [], returned(1)) == (
        "Thread 2: draw() returned 2. No sequential order of these calls gives that. "
        "Closest: draw() first, which returns 1."
    )


def test_the_closest_order_has_other_calls_before_it() -> None:
    text = no_order_text(
        _call(FINAL_THREAD, "size()", returned(0)), [_call(0, "put(1)"), _call(1, "put(2)")], returned(2)
    )
    assert text.startswith("After the threads: size() returned 0. ")
    assert text.endswith("Closest: put(1), put(2), then size(), which returns 2.")


def test_long_orders_are_cut_and_counted() -> None:
    text = no_order_text(_call(RecordedThread(7), "get()"), [_call(0, f"put({n})") for n in range(20)], WAITS)
    assert text.startswith("Thread 7: get() ")
    assert "Closest: 8 other calls, put(8), put(9), " in text
    assert text.endswith("put(19), then get(), which would wait.")


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (returned(), "returned None"),
        (UNTOLD, "returned"),
        (WAITS, "would wait"),
        (raised("KeyError", "KeyError: 'a'"), "raised KeyError: 'a'"),
        (raised("KeyError"), "raised KeyError"),
        (raised(ErrorKind.OTHER, "ValueError: no"), "raised ValueError: no"),
        (raised(ErrorKind.INDEX_NOT_FOUND, "'zone'"), "raised an index_not_found error ('zone')"),
    ],
)
def test_results(outcome: Outcome, text: str) -> None:
    assert result_text(outcome) == text


def test_sums_of_fractions_are_short_unless_their_last_digit_matters() -> None:
    assert str(returned((0.1 + 0.2, 3.0))) == "[0.3, 3.0]"
    assert result_text(returned(12.300000000000001)) == "returned 12.3"
    text = no_order_text(_call(0, "get()", returned(0.1 + 0.2)), [], returned(0.3))
    assert "returned 0.30000000000000004." in text
    assert text.endswith("which returns 0.3.")
    assert "returned 0.3." in no_order_text(_call(0, "get()", returned(0.1 + 0.2)), [], returned(0.1))
