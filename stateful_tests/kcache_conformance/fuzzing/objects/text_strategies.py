"""Strategies for texts: constants of the code, texts of a format, and texts that often cause errors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hypothesis import strategies as st
from hypothesis.errors import HypothesisException
from hypothesis.strategies import SearchStrategy

from ..schemas.schema import Format, Text
from ..static_analysis import Reading
from .texts import ALPHABET, NUMERIC, POOLS, UNICODE, around, is_valid_text, variants
from .weights import weighted

_ASCII = st.characters(max_codepoint=127)  # without it Hypothesis goes through all of Unicode first, for a second
_DIGITS = "0123456789\u00b2\uff11.:-/_v"
_ALPHABETS = ((_ASCII, re.ASCII), (ALPHABET, re.UNICODE), (_DIGITS, re.UNICODE))
_LENGTHS = (63, 64, 253, 254, 1000, 5000)
_MOST_MINED = 60
_MOST_LENGTH = 20_000
_FIELD_NAMES = frozenset({"metadata", "spec", "status", "labels", "annotations", "name", "namespace", "containers"})
_PATTERNS = {
    Format.NAME: r"[a-z]([a-z0-9]{0,3}(-[a-z0-9]{1,3})?)?(\.[a-z]{1,3})?",
    Format.LABEL: r"[a-z]([a-z0-9]{0,3}(-[a-z0-9]{1,3})?)?",
    Format.LABEL_KEY: r"([a-z]{1,4}\.[a-z]{2,3}/)?[A-Za-z]([A-Za-z0-9._-]{0,3}[A-Za-z0-9])?",
    Format.LABEL_VALUE: r"[A-Za-z0-9]([A-Za-z0-9._-]{0,4}[A-Za-z0-9])?",
    Format.QUANTITY: r"[0-9]{1,4}(\.[0-9]{1,2})?([numkMGTPE]|[KMGTPE]i|[eE]-?[0-9])?",
    Format.DIGITS: r"[1-9][0-9]{0,8}",
    Format.TIME: r"(19|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z",
}


class TextMaker:
    """A builder of strategies for texts that are valid for their schema."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._mined = [text for text in reading.texts if text][:_MOST_MINED]
        self._numbers = [str(number) for number in reading.numbers if number >= 0]
        self._separators = list(dict.fromkeys((*reading.separators, "-", ".", "/")))[:8]
        self._cached: dict[Text, SearchStrategy[str]] = {}

    def strategy(self, schema: Text) -> SearchStrategy[str]:
        """Return a strategy for valid texts of ``schema``."""
        if schema not in self._cached:
            self._cached[schema] = self._strategy(schema)
        return self._cached[schema]

    def looked_up(self, schema: Text) -> list[str]:
        """Return the constants of the code that may be keys or prefixes of keys, without common field names."""
        named = [text for text in schema.examples if text in self._mined]
        if named:
            return named
        whole = [text for text in self._mined if is_valid_text(text, schema) and text not in _FIELD_NAMES]
        begun = [text + end for text in self._mined for end in ("a", "b") if not is_valid_text(text, schema)]
        return whole + [text for text in begun if len(text) > 2 and is_valid_text(text, schema)]

    def _strategy(self, schema: Text) -> SearchStrategy[str]:
        def valid(texts: Iterable[str]) -> list[str]:
            return [text for text in dict.fromkeys(texts) if is_valid_text(text, schema)]

        mined = valid(self._mined)
        usual = valid((*schema.examples, *POOLS[schema.format]))
        near = valid(text for one in (*self._mined, *schema.examples) for text in around(one, self._separators))
        awkward = valid((*NUMERIC, *UNICODE, *self._long()))
        alike = valid(self._alike(usual))
        pools = (
            (2 if mined else 6, usual),
            (5, mined),
            (2, near),
            (3, alike),
            (3 if schema.format is Format.QUANTITY else 2, awkward),
        )
        options = [(weight, st.sampled_from(pool)) for weight, pool in pools if pool]
        themes = mined + usual
        if len(themes) > 1:
            theme = st.shared(st.lists(st.sampled_from(themes), min_size=1, max_size=2), key=f"theme {schema!r}")
            options.append((2, theme.flatmap(st.sampled_from)))
        strategies = [(1, joined) for joined in self._joined(mined + usual)]
        strategies += [(3, matching) for matching in self._matching(schema)]
        strategies.append((1, self._generated(schema)))
        # A filter would cost more: Hypothesis discards the whole object if a part fails three times.
        instead = usual + mined + alike

        def validated(text: str) -> str:
            return text if is_valid_text(text, schema) or not instead else instead[len(text) % len(instead)]

        options += [(weight, strategy.map(validated)) for weight, strategy in strategies]
        texts = weighted(*options)
        return texts if instead else texts.filter(lambda text: is_valid_text(text, schema))

    def _long(self) -> Iterable[str]:
        for length in (*_LENGTHS, *self._reading.lengths):
            if 3 < length <= _MOST_LENGTH:
                yield "a" * length
                yield ("a" * 62 + ".") * (length // 63) + "a" * (length % 63 or 1)

    def _alike(self, usual: Sequence[str]) -> Iterable[str]:
        """Yield pairs of texts that some functions confuse, joined by separators that the code uses."""
        for separator in self._reading.separators[:4]:
            for text in (*UNICODE, *usual[:8]):
                for other in (*variants(text), text):
                    yield text + separator + other

    def _joined(self, parts: Sequence[str]) -> Iterable[SearchStrategy[str]]:
        """Yield strategies for two or three parts or numbers, joined by separators."""
        if not parts:
            return
        number = st.integers(0, 120).map(str)
        if self._numbers:
            number = st.one_of(number, st.sampled_from(self._numbers))
        part = st.one_of(st.sampled_from(parts), number, st.sampled_from(["a", "b", ""]))
        separator = st.sampled_from([*self._separators, ""])
        yield st.builds(lambda one, by, two: one + by + two, part, separator, part)
        yield st.builds(lambda a, x, b, y, c: a + x + b + y + c, part, separator, part, separator, part)
        if "int" in self._reading.names:  # the code parses numbers in texts: versions, addresses
            numbers = st.lists(st.one_of(number, number, number, st.just("")), min_size=2, max_size=5)
            yield st.builds(lambda by, parts: by.join(parts), st.sampled_from(self._separators), numbers)
        suffix = st.sampled_from([text for text in self._mined if len(text) <= 3] or ["m", "Gi"])
        yield st.builds(lambda digits, unit: digits + unit, st.integers(0, 10**6).map(str), suffix)

    def _matching(self, schema: Text) -> Iterable[SearchStrategy[str]]:
        for pattern in self._reading.patterns[:12]:
            for alphabet, flags in _ALPHABETS if schema.format is Format.FREE else _ALPHABETS[:1]:
                try:
                    strategy = st.from_regex(re.compile(pattern, flags), fullmatch=True, alphabet=alphabet)
                    strategy.validate()
                except (HypothesisException, re.error, ValueError, OverflowError):
                    continue
                yield strategy

    def _generated(self, schema: Text) -> SearchStrategy[str]:
        if schema.pattern is not None:
            return st.from_regex(schema.pattern, alphabet=_ASCII)
        if schema.format is Format.FREE:
            most = 6 if schema.most is None else min(6, schema.most)
            return st.text(ALPHABET, min_size=schema.least, max_size=max(most, schema.least))
        return st.from_regex(_PATTERNS[schema.format], fullmatch=True, alphabet=_ASCII)
