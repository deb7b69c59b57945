"""Runtime: threads as actors of the engine, in a world with a clock, locks, sockets and processes of its own."""
