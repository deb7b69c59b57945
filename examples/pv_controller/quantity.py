"""Kubernetes quantities, ``5Gi`` or ``1500m``, as exact decimal numbers (apimachinery ``resource.Quantity``)."""

from __future__ import annotations

import re
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact

_BINARY = {suffix: Decimal(1024**power) for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_QUANTITY = re.compile(
    r"""(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))
        (?:[eE](?P<exponent>[+-]?[0-9]{1,9})|(?P<suffix>[KMGTPE]i|[numkMGTPE]?))""",
    re.VERBOSE,
)


class QuantityError(ValueError):
    """A text is not a quantity."""


def parse_quantity(text: str) -> Decimal:
    """The number that a quantity stands for, exactly; O(length) for a given suffix.

    Upstream rounds up below nano, and silently takes what is above 2**63-1 with a binary suffix for 2**63-1. Neither
    happens here, so that different quantities never compare as equal.
    Source: apimachinery ``resource.ParseQuantity``.

    Raises:
        QuantityError: ``text`` is no number, or its suffix is none that Kubernetes knows.
    """
    found = _QUANTITY.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise QuantityError(
            f"{text!r} is not a quantity; write a number, then nothing, one of {' '.join(filter(None, _DECIMAL))}, "
            f"one of {' '.join(_BINARY)}, or an exponent such as e3"
        )
    suffix = found["suffix"]
    if suffix in _BINARY:
        # The default context keeps 28 digits; this one keeps all, and would rather fail than round.
        exact = Context(prec=len(text) + 20, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])
        return exact.multiply(Decimal(found["number"]), _BINARY[suffix])
    exponent = _DECIMAL[suffix] if found["exponent"] is None else found["exponent"]
    return Decimal(f"{found['number']}e{exponent}")
