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
        "A str is treated as a list of its characters. A generator is empty when it is read again. None and other "
        "types raise in some caches and are ignored by others.",
        kinds=_INDEX_ONLY,
    ),
    Rule.RETURNS_STR: RuleText(
        "returns a str",
        "If a key is not a str, lookups by key miss the object, and a store sorts and prints keys in surprising ways.",
        kinds=_KEY_ONLY,
    ),
    Rule.TOTAL: RuleText(
        "does not raise for any legal object",
        "If an index function raises, client-go panics in the middle of the write: the object is stored, but it is "
        "missing from this index and perhaps from others (kubernetes#43566). kcache's reference refuses the whole "
        "write. If a key function raises, the object is not stored.",
    ),
    Rule.TERMINATES: RuleText(
        "returns within a reasonable time",
        "client-go holds its lock while it calls an index function, so every reader and writer waits.",
    ),
    Rule.PURE: RuleText(
        "does not change the object",
        "All readers share the stored object. They see the change without a lock, and the informer's copy differs from "
        "the object on the server.",
    ),
    Rule.REPEATABLE: RuleText(
        "returns the same values each time it gets the same object",
        "On update and delete, client-go computes the values of the old object again. If they differ, the old entries "
        "stay in the index for ever and point to a removed object.",
    ),
    Rule.EQUAL_OBJECTS: RuleText(
        "returns the same values for equal objects",
        "If the same object is decoded again (another watch event, a relist), it is indexed under other values, and "
        "lookups miss it.",
    ),
    Rule.HISTORY: RuleText(
        "does not depend on earlier calls",
        "The index then depends on the order of events, which differs between relists. Old entries are not found on "
        "update or delete, and stay in the index for ever.",
    ),
    Rule.OWN_RESULT: RuleText(
        "returns a new list each time",
        "If a caller changes the returned list, the stored object or the values of other objects change, too.",
        kinds=_INDEX_ONLY,
    ),
    Rule.FAN_OUT: RuleText(
        "returns a number of values in proportion to the size of the object",
        "Each value is an entry of the index. One object can exhaust the memory, and each update holds the lock until "
        "all its values are processed.",
        kinds=_INDEX_ONLY,
    ),
    Rule.DISTINCT: RuleText(
        "returns each value only once",
        "client-go and kcache count a value once; in other caches by_index returns the object twice.",
        severity=Severity.WARNING,
        kinds=_INDEX_ONLY,
    ),
    Rule.STABLE_KEY: RuleText(
        "returns the same key if other parts of the object change",
        "An update adds a second object instead of replacing the first, and a delete does not find the object.",
        kinds=_KEY_ONLY,
    ),
    Rule.ONE_KEY_EACH: RuleText(
        "returns different keys for objects with different namespaces or names",
        "If two objects have the same key, the second silently replaces the first.",
        severity=Severity.WARNING,
        kinds=_KEY_ONLY,
    ),
    Rule.HASH_SEED: RuleText(
        "does not depend on hash() or the order of sets",
        "Each process hashes strings differently (PYTHONHASHSEED). Two replicas, or one replica before and after a "
        "restart, index the same object under different values, and test failures are not repeatable.",
    ),
    Rule.CLOCK: RuleText(
        "does not depend on the time",
        "The values of an object change without a write. Lookups then return outdated results. Updates and deletes do "
        "not find the entries under the old values.",
    ),
    Rule.ENVIRONMENT: RuleText(
        "does not depend on time zone, locale, environment variables, working directory or the global random state",
        "The function returns other values on another machine, or after another part of the program changes a global.",
    ),
    Rule.THREAD_SAFE: RuleText(
        "can be called by several threads at once",
        "Informers, resyncs and readers (Index) call it from their own threads; kcache's reference calls it before it "
        "takes the lock.",
    ),
    Rule.CONSISTENT: RuleText(
        "keeps an index correct through adds, updates, deletes and replaces",
        "A cache that works like client-go ends up with stale or missing entries.",
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
            fix=f"See the example and the fix in docs/index-functions.md#{rule.value}.",
            contract=common.Contract.CLIENT_GO if text.severity is Severity.ERROR else common.Contract.STRICT,
        )
        for rule, text in RULES.items()
        if kind in text.kinds
    }


def rules_for(kind: Kind) -> tuple[Rule, ...]:
    """Return the rules that apply to functions of ``kind``, in the order of the reports."""
    return tuple(rule for rule, text in RULES.items() if kind in text.kinds)
