"""The rules for index functions and key functions, and the consequences for a cache if a function breaks them."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from kcache_model import rules as common


class Kind(enum.StrEnum):
    """The kind of the fuzzed function."""

    INDEX = "index"
    """``object -> list of str``: the values under which an index lists the object."""
    KEY = "key"
    """``object -> str``: the key under which a store holds the object."""


class Severity(enum.StrEnum):
    """The effect of a finding on the verdict."""

    ERROR = "error"
    """The run fails."""
    WARNING = "warning"
    """The run passes, unless it is strict."""


class Rule(enum.StrEnum):
    """The rules: a closed set. The value is the name that reports and ``--only`` use."""

    RETURNS_LIST = "returns-list"
    RETURNS_STR = "returns-str"
    TOTAL = "total"
    TERMINATES = "terminates"
    PURE = "pure"
    REPEATABLE = "repeatable"
    EQUAL_OBJECTS = "equal-objects"
    HISTORY = "history"
    OWN_RESULT = "own-result"
    FAN_OUT = "fan-out"
    DISTINCT = "distinct"
    STABLE_KEY = "stable-key"
    ONE_KEY_EACH = "one-key-each"
    HASH_SEED = "hash-seed"
    CLOCK = "clock"
    ENVIRONMENT = "environment"
    THREAD_SAFE = "thread-safe"
    CONSISTENT = "consistent"


@dataclass(frozen=True)
class RuleText:
    """The texts about a rule for reports.

    Attributes:
        demand: the required behaviour of the function.
        why: the consequences for a cache if the function breaks the rule.
        severity: the severity of a violation by a valid object.
        kinds: the kinds of functions to which the rule applies.
    """

    demand: str
    why: str
    severity: Severity = Severity.ERROR
    kinds: frozenset[Kind] = frozenset(Kind)


_INDEX_ONLY = frozenset({Kind.INDEX})
_KEY_ONLY = frozenset({Kind.KEY})

RULES: dict[Rule, RuleText] = {
    Rule.RETURNS_LIST: RuleText(
        "returns a list or tuple of str",
        "A str is taken for a list of its characters, a generator is empty the second time, None and other types "
        "raise in some caches and are swallowed by others.",
        kinds=_INDEX_ONLY,
    ),
    Rule.RETURNS_STR: RuleText(
        "returns a str",
        "A store with keys of other types cannot be looked up by key, and sorts or prints them in surprising ways.",
        kinds=_KEY_ONLY,
    ),
    Rule.TOTAL: RuleText(
        "raises for no legal object",
        "An index function that fails makes client-go panic in the middle of the write: the object is stored, but this "
        "index and perhaps others lack it (kubernetes#43566); kcache's reference refuses the whole write. A key "
        "function that fails keeps the object out of the store.",
    ),
    Rule.TERMINATES: RuleText(
        "returns within a reasonable time",
        "client-go calls index functions with the lock held: every reader and writer waits.",
    ),
    Rule.PURE: RuleText(
        "leaves the object as it is",
        "All readers share the stored object: they see the change without any lock, and the informer's copy no longer "
        "equals the server's.",
    ),
    Rule.REPEATABLE: RuleText(
        "gives the same object the same values each time",
        "On update and delete client-go asks again for the old object's values; if they differ, the old entries stay "
        "for ever and point to an object that is gone.",
    ),
    Rule.EQUAL_OBJECTS: RuleText(
        "gives equal objects the same values",
        "The same object decoded a second time (another watch event, a relist) would be indexed elsewhere: lookups by "
        "value miss it.",
    ),
    Rule.HISTORY: RuleText(
        "does not depend on which objects it was called with before",
        "The index then depends on the order of events, which differs from one relist to the next; old entries are "
        "not found again and stay for ever.",
    ),
    Rule.OWN_RESULT: RuleText(
        "returns a list of its own each time",
        "Whoever changes the returned list changes the stored object, or the values of other objects.",
        kinds=_INDEX_ONLY,
    ),
    Rule.FAN_OUT: RuleText(
        "returns a number of values in proportion to the size of the object",
        "Each value is an entry of the index: one object can exhaust the memory, and each update takes as long as "
        "there are values, with the lock held.",
        kinds=_INDEX_ONLY,
    ),
    Rule.DISTINCT: RuleText(
        "returns no value twice",
        "client-go and kcache count a value once; other caches hand out the object twice in by_index.",
        severity=Severity.WARNING,
        kinds=_INDEX_ONLY,
    ),
    Rule.STABLE_KEY: RuleText(
        "gives an object the same key whatever else in it changes",
        "An update would add a second object instead of replacing the first, and a delete would miss.",
        kinds=_KEY_ONLY,
    ),
    Rule.ONE_KEY_EACH: RuleText(
        "gives objects of different namespace or name different keys",
        "Two objects under one key: the later replaces the earlier, which nobody notices.",
        severity=Severity.WARNING,
        kinds=_KEY_ONLY,
    ),
    Rule.HASH_SEED: RuleText(
        "does not depend on hash() or the order of sets",
        "Each process hashes strings otherwise (PYTHONHASHSEED): two replicas, or the same one restarted, index the "
        "same object elsewhere, and tests do not repeat.",
    ),
    Rule.CLOCK: RuleText(
        "does not depend on the time",
        "An object moves to other values while nobody writes it: lookups give yesterday's answer, and the entries "
        "under the old values are not found on update or delete.",
    ),
    Rule.ENVIRONMENT: RuleText(
        "does not depend on time zone, locale, environment variables, working directory or the global random state",
        "It indexes elsewhere on another machine, or when another part of the program changes a global.",
    ),
    Rule.THREAD_SAFE: RuleText(
        "may be called by several threads at once",
        "Informers, resyncs and readers (Index) call it from their own threads; kcache's reference calls it before it "
        "takes the lock.",
    ),
    Rule.CONSISTENT: RuleText(
        "keeps an index right through adds, updates, deletes and replaces",
        "A cache that works as client-go does ends with stale or missing entries.",
        kinds=_INDEX_ONLY,
    ),
}
"""Every rule, with its text."""


def as_rules(kind: Kind) -> Mapping[str, common.Rule]:
    """Return id -> rule for functions of ``kind``, in the format of all target types."""
    called = f"An {kind.value} function" if kind is Kind.INDEX else "A key function"
    return {
        rule.value: common.Rule(
            id=rule.value,
            promise=f"{called} {text.demand}.",
            source="client-go: IndexFunc, KeyFunc",
            cause=text.why,
            fix=f"docs/index-functions.md#{rule.value} has an example, and what mends it.",
            contract=common.Contract.CLIENT_GO if text.severity is Severity.ERROR else common.Contract.STRICT,
        )
        for rule, text in RULES.items()
        if kind in text.kinds
    }


def rules_for(kind: Kind) -> tuple[Rule, ...]:
    """Return the rules that apply to functions of ``kind``, in the order of the reports."""
    return tuple(rule for rule, text in RULES.items() if kind in text.kinds)
