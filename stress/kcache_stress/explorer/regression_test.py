"""A test that shows a finding again, as source text."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from .replay_token import ReplayToken

_WIDTH = 100


def regression_test(word: str, token: ReplayToken[Any]) -> str:
    """The source of a pytest file; it fails as long as the finding can be reproduced."""
    pieces = textwrap.wrap(word, _WIDTH, break_on_hyphens=False)
    lines = "\n".join(f'    "{piece}"' for piece in pieces)
    name = re.sub(r"\W+", "_", token.target.rpartition("/")[2].partition(":")[0].removesuffix(".py")).strip("_")
    by = "The explorer of kcache" if token.schedule else "kcache"
    return (
        f'"""{by} found: {token.kind.value} in {token.target}. Fails as long as it is there."""\n\n'
        "from kcache.testing import replay\n\n"
        f"_SCHEDULE = (\n{lines}\n)\n\n\n"
        f"def test_{name}_{token.kind.value}() -> None:\n"
        "    replay(_SCHEDULE)\n"
    )
