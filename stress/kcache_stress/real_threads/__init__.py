"""Real threads: a pool that starts tasks at the same time, and a count of the calls that overlapped."""
