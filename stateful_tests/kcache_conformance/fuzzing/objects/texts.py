"""Texts that a format allows, and pools of special texts and characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from datetime import datetime

from ..schemas.schema import Format, Text

_DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_FORMATS = {
    Format.NAME: re.compile(rf"({_DNS_LABEL}(\.{_DNS_LABEL})*)?"),
    Format.LABEL: re.compile(rf"({_DNS_LABEL})?"),
    Format.LABEL_KEY: re.compile(rf"({_DNS_LABEL}(\.{_DNS_LABEL})*/)?{_QUALIFIED}"),
    Format.LABEL_VALUE: re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?"),
    Format.QUANTITY: re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?"),
    Format.DIGITS: re.compile(r"(0|[1-9][0-9]*)?"),
    Format.TIME: re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z"),
}

POOLS: dict[Format, tuple[str, ...]] = {
    Format.FREE: ("", "a", "web", "Web", "default", "kube-system", "true", "a b", "a,b", "a/b", "a=b", "a:b", "-", " "),
    Format.NAME: ("a", "web", "web-0", "web-1", "node-1", "kube-system", "a.b.c", "0", "10"),
    Format.LABEL: ("a", "default", "kube-system", "web", "prod", "0"),
    Format.LABEL_KEY: ("app", "tier", "a", "b", "env", "app.kubernetes.io/name", "topology.kubernetes.io/zone", "A"),
    Format.LABEL_VALUE: ("", "web", "Web", "db", "true", "a", "v1.2", "eu-west-1a", "0", "1", "a_b", "a-b", "a.b"),
    Format.QUANTITY: ("0", "100m", "1", "1.5", "1500m", "2Gi", "512Mi", "1e3", "1k", "1Ki", "100u", "0.5", ".5", "5.",
                      "-1", "1E", "1Ei", "1T", "1n", "1E3", "9" * 18, "128974848"),
    Format.DIGITS: ("0", "1", "42", "9", "10", "18446744073709551616"),
    Format.TIME: ("2024-02-29T23:59:59Z", "1970-01-01T00:00:00Z", "2038-01-19T03:14:08Z",
                  "2024-01-01T00:00:00.123456Z"),
}  # fmt: skip
"""Typical and awkward texts of each format."""

NUMERIC = (
    "0", "1", "-1", "+1", "100m", "1.5", "1e3", "2Gi", "007", "1_000", "0x10", " 1", "m", "80", "8080", "65536",
    "9" * 20, "nan", "inf", "2024-02-29T23:59:59Z", "2024-02-29T23:59:59+00:00", "2024-02-29", "10.0.0.1",
    "\u00b2", "\u0967", "\uff11", "\u2167",
)  # fmt: skip
"""Texts that only some functions treat as numbers."""

UNICODE = (
    "\u00e9", "e\u0301", "\ufb01", "fi", "\u212a", "K", "\u00df", "SS", "\u1e9e", "\u0130", "\u0131", "i\u0307",
    "\u200b", "\u00a0", "\U0001f600", "\uff57\uff45\uff42", "\u03a3", "\u03c2", "\u01c6", "\u0130stanbul",
    "\u2028", "\x1f", "\x85", "\u00bd", "\ufb00", "\ufeff",
)  # fmt: skip
"""Texts that Unicode normalisation, case mappings or ``strip`` change."""


_OTHER_DIGITS = ("\u00b2", "\u0967", "\uff11")
"""Digits for ``isdigit``; ``int`` rejects the first."""

ALPHABET = "".join(map(chr, range(32, 127))) + (
    "\0\t\n\r\x1f\x7f\x85\xa0\xad\xb2\xb5\xbd\xc4\xc9\xd7\xdf\xe9\xff\u0130\u0131\u017f\u0300\u0301\u03a3"
    "\u03c2\u0416\u05d0\u0661\u0967\u0e01\u1e9e\u200b\u200d\u2028\u202e\u20ac\u212a\u2167\u3042\u4e2d\uac00"
    "\ufb01\ufeff\uff11\uff21\ufffd\U0001d7d8\U0001f600\U0010ffff"
)
"""The characters of random texts: ASCII, and some of each kind that functions treat specially."""


def is_valid_text(text: str, schema: Text) -> bool:
    """Whether the schema, and the API server if the schema has a format, accepts ``text``."""
    if len(text) < schema.least or (schema.most is not None and len(text) > schema.most):
        return False
    if any("\ud800" <= character <= "\udfff" for character in text):
        return False
    if schema.pattern is not None and re.search(schema.pattern, text) is None:
        return False
    pattern = _FORMATS.get(schema.format)
    if pattern is None or (text in schema.examples):
        return True
    if schema.format is Format.LABEL_KEY and len(text.rpartition("/")[0]) > 253:
        return False
    if schema.format in (Format.NAME, Format.LABEL) and any(len(part) > 253 for part in text.split(".")):
        return False
    if pattern.fullmatch(text) is None:
        return False
    return schema.format is not Format.TIME or _is_moment(text)


def _is_moment(text: str) -> bool:
    try:
        datetime.fromisoformat(text[:19])
    except ValueError:
        return False
    return True


def variants(text: str) -> tuple[str, ...]:
    """Return similar texts that some functions confuse: other case, other normal form, with a blank."""
    texts: tuple[str, ...] = (
        text.upper(), text.lower(), text.swapcase(), text.casefold(), unicodedata.normalize("NFKC", text),
        unicodedata.normalize("NFD", text), text + " ", text[::-1], text.replace("-", "_"), text.title(),
    )  # fmt: skip
    digit = next((digit for digit in text if digit in "0123456789"), None)
    if digit is not None:
        texts += tuple(text.replace(digit, other, 1) for other in _OTHER_DIGITS)
    return tuple(dict.fromkeys(variant for variant in texts if variant != text))


def around(text: str, separators: Iterable[str]) -> tuple[str, ...]:
    """Return texts that begin with, end with, or repeat ``text``, and variants of it."""
    texts = [text + "0", text + "-a", "a-" + text, text + text, text[:-1], text[1:], text + "1", text.strip("-./:=,_ ")]
    texts += variants(text)
    for separator in separators:
        texts += [text + separator, separator + text, text + separator + "a", "a" + separator + text]
        texts += [text + separator + "1", f"{text}{separator}{text}", f"a{separator}{text}{separator}1"]
    return tuple(dict.fromkeys(texts))
