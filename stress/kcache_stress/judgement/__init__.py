"""From an execution to what is wrong with it."""
