"""Indexers as targets: programs, runner, judge and findings of the explorer; stress with real threads."""
