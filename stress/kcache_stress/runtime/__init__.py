"""Runtime: threads as actors of the engine, in a virtual world with its own clock, locks, sockets and databases."""
