"""Source rewriting: instrumented code reports each access to possibly shared state immediately before the access."""

from .facts import Facts, collect_facts
from .hooks import Report, make_hooks
from .names import HOOK_MARK
from .rewriter import rewrite

__all__ = ["HOOK_MARK", "Facts", "Report", "collect_facts", "make_hooks", "rewrite"]
