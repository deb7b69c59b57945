"""Answers one question about one law in a process of its own, JSON in, JSON out."""

from __future__ import annotations

import json
import sys

from .law import LAWS, Mutant
from .mutation import plant


def main() -> None:
    """Reads the question from standard input, as ``questions`` wrote it."""
    question = json.load(sys.stdin)
    if question["mutant"] is not None:
        plant(Mutant(**question["mutant"]))
    from . import catalogue  # noqa: F401 - only now, because it imports the code under test

    law = LAWS[question["law"]]
    if question["call"] is None:
        from .symbolic import search

        answer: object = search(law)
    else:
        from .replay import holds

        answer = holds(law, question["call"])
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
