"""A test that follows the schedule of a counterexample, as source text."""

from __future__ import annotations

import re
import textwrap

from .replay_token import Token

_WIDTH = 100


def regression_test(word: str, token: Token) -> str:
    """The source of a pytest file; it fails as long as the counterexample can be reproduced."""
    pieces = textwrap.wrap(word, _WIDTH, break_on_hyphens=False)
    lines = "\n".join(f'    "{piece}"' for piece in pieces)
    name = re.sub(r"\W+", "_", token.target.rpartition("/")[2].partition(":")[0].removesuffix(".py")).strip("_")
    return (
        f'"""The explorer of kcache found: {token.kind.value} in {token.target}. Fails as long as it is there."""\n\n'
        "from kcache.testing import replay\n\n"
        f"_SCHEDULE = (\n{lines}\n)\n\n\n"
        f"def test_{name}_{token.kind.value}() -> None:\n"
        "    replay(_SCHEDULE)\n"
    )
