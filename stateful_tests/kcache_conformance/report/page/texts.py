"""Texts of a target, made fit to be shown."""

from __future__ import annotations

from kcache_model.render import printable

LONGEST_TEXT = 2_000
_MOST_ARGUMENTS = 100


def shown(text: str) -> str:
    """``text`` without control characters and lone surrogates, and not longer than anybody reads."""
    if len(text) > LONGEST_TEXT:
        text = f"{text[:LONGEST_TEXT]}... ({len(text) - LONGEST_TEXT} more characters)"
    return printable(text)


def sentences(*texts: str) -> str:
    """One after another, each with a full stop; empty texts are left out."""
    return " ".join(text if text[-1] in ".!?" else f"{text}." for text in texts if text)


def tick_text(tick: int) -> str:
    """A moment, or how long something took, in ticks of the clock of the history."""
    try:
        return f"{tick:,}"
    except ValueError:  # Python refuses to write out integers of several thousand digits
        return "a very large number"


def argument_texts(operation: object) -> tuple[tuple[str, str], ...]:
    """(name, text) of each argument, in full; nothing where the text of a call says it all."""
    found: list[tuple[str, str]] = list(getattr(operation, "in_full", ()))
    cut = found[:_MOST_ARGUMENTS]
    if len(found) > len(cut):
        cut.append(("and", f"{len(found) - len(cut)} more"))
    return tuple((name, shown(text)) for name, text in cut)
