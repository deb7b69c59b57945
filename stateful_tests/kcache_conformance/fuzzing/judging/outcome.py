"""The outcome of one call of the function."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kcache_model.outcomes import error_text, with_article
from kcache_model.places import place_of

from ..rules import Kind

_MOST_SHOWN = 6


@dataclass(frozen=True)
class Answer:
    """The outcome of one call.

    Attributes:
        values: the values of an index function, or only the key of a key function; ``None`` if there is no result.
        error: the error that was raised; else empty.
        wrong: the description of a result of the wrong type; else empty.
        place: the line that raised, of the function or of a function that it calls.
    """

    values: tuple[str, ...] | None
    error: str = ""
    wrong: str = ""
    place: str = ""

    @property
    def meaning(self) -> tuple[frozenset[str] | None, str, str]:
        """The part that must be equal for equal objects: without the order and the repetition of values."""
        kind_of_error = self.error.partition(":")[0]
        return (None if self.values is None else frozenset(self.values), kind_of_error, self.wrong)

    def text(self) -> str:
        """Return the answer as text, for reports."""
        if self.error:
            return f"raised {self.error}"
        if self.values is None:
            return f"returned {self.wrong}"
        values_text = ", ".join(_short(value) for value in self.values[:_MOST_SHOWN])
        more = f", ... {len(self.values) - _MOST_SHOWN} more" if len(self.values) > _MOST_SHOWN else ""
        return f"[{values_text}{more}]"


def answer_of(function: Callable[[Any], Any], kind: Kind, obj: Any) -> tuple[Answer, Any]:
    """Call ``function``; return the answer, and the returned value itself."""
    process = os.getpid()
    try:
        returned = function(obj)
        return (_values if kind is Kind.INDEX else _key)(returned), returned
    except BaseException as error:
        return Answer(None, error=error_text(error), place=place_of(error)), None
    finally:
        if os.getpid() != process:
            os._exit(0)  # the function forked: the copy of this process must not continue kcache's work


def _values(returned: Any) -> Answer:
    if not isinstance(returned, (list, tuple)):
        return Answer(None, wrong=_described(returned))
    for value in returned:
        if not isinstance(value, str):
            return Answer(None, wrong=f"{with_article(type(returned).__name__)} that holds {_described(value)}")
    return Answer(tuple(str.__str__(value) for value in returned))


def _key(returned: Any) -> Answer:
    if not isinstance(returned, str):
        return Answer(None, wrong=_described(returned))
    return Answer((str.__str__(returned),))


def _described(value: Any) -> str:
    if isinstance(value, str):
        return f"the str {_short(value)}"
    if value is None:
        return "None"
    if inspect.isgenerator(value):
        return "a generator"
    if inspect.iscoroutine(value):
        value.close()
        return "a coroutine"
    return with_article(type(value).__name__)


def _short(text: str) -> str:
    return repr(text) if len(text) <= 60 else f"{text[:57]!r}..."
