"""Real threads: a pool that runs tasks together, the noise that makes them switch, and what overlapped."""
