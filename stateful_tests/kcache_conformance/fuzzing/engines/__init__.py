"""How objects are found that break a rule: each engine in a module of its own."""
