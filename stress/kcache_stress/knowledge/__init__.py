"""Knowledge of code that is not instrumented: functions, methods and types in C and in the standard library.

Each fact is one row of a TOML file in this folder, whose columns its first lines explain. :mod:`.rows` loads the rows;
the other modules answer questions from them. All other code is unknown: it may touch everything that it can reach, and
if that matters, a search is no proof.
"""
