"""Texts of a target, prepared for display."""

from __future__ import annotations

from kcache_model.render import printable

LONGEST_TEXT = 2_000
_MOST_ARGUMENTS = 100


def limited_text(text: str) -> str:
    """Return ``text`` without control characters and lone surrogates, cut to ``LONGEST_TEXT`` characters."""
    if len(text) > LONGEST_TEXT:
        text = f"{text[:LONGEST_TEXT]}... ({len(text) - LONGEST_TEXT} more characters)"
    return printable(text)


def sentences(*texts: str) -> str:
    """Join texts, each with a full stop; empty texts are left out."""
    return " ".join(text if text[-1] in ".!?" else f"{text}." for text in texts if text)


def tick_text(tick: int) -> str:
    """Return a moment or a duration in ticks of the history's clock as text."""
    try:
        return f"{tick:,}"
    except ValueError:  # Python refuses to write out integers of several thousand digits
        return "a very large number"


def argument_texts(operation: object) -> tuple[tuple[str, str], ...]:
    """Return (name, text) of each argument, in full; empty if the text of a call already shows them."""
    texts: list[tuple[str, str]] = list(getattr(operation, "in_full", ()))
    cut = texts[:_MOST_ARGUMENTS]
    if len(texts) > len(cut):
        cut.append(("and", f"{len(texts) - len(cut)} more"))
    return tuple((name, limited_text(text)) for name, text in cut)
