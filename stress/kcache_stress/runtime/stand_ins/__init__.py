"""Stand-ins for modules that reach outside of the process: sockets, pipes, signals, databases, randomness."""
