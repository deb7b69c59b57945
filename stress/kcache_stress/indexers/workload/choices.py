"""Some of the vocabulary, and one operation of it."""

from __future__ import annotations

import random

from kcache_model.indexers.operations import Operation
from kcache_model.indexers.vocabulary import Templates

from .writer import Writer

_MOST_KINDS = 3

MOST_WRITERS = 4
"""More threads that write find nothing more, and make histories hard to judge."""


def swarm(rng: random.Random, templates: Templates) -> Templates:
    """A few of the operations: a program that mixes all of them seldom does the same thing twice at once.

    A. Groce et al.: Swarm Testing (2012).
    """
    return tuple(rng.sample(templates, min(len(templates), rng.randint(1, _MOST_KINDS))))


def pick(make: Writer, templates: Templates) -> Operation:
    """One operation."""
    (template,) = make.rng.choices(templates, weights=[template.weight for template in templates])
    return template.make(make)
