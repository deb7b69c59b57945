"""A fuzzer of the explorer: what an exhaustive search has seen against what the interpreter does."""
