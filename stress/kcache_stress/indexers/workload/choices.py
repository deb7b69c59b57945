"""Random choices from the vocabulary: some of its templates, or one operation."""

from __future__ import annotations

import random

from kcache_model.indexers.operations import Operation
from kcache_model.indexers.vocabulary import Templates

from .writer import Writer

_MOST_KINDS = 3

MOST_WRITERS = 4
"""Most threads that write. More writers reveal no more faults, and make histories hard to judge."""


def swarm(rng: random.Random, templates: Templates) -> Templates:
    """Return up to three of the templates: a program that mixes all of them seldom runs an operation twice at once.

    A. Groce et al.: Swarm Testing (2012).
    """
    return tuple(rng.sample(templates, min(len(templates), rng.randint(1, _MOST_KINDS))))


def pick(make: Writer, templates: Templates) -> Operation:
    """Choose a template by weight, and return an operation of it."""
    (template,) = make.rng.choices(templates, weights=[template.weight for template in templates])
    return template.make(make)
