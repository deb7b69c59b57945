"""Small-scope verification: batches of programs in child processes, spread over executors."""
