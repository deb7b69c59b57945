"""The model: operations, programs and histories as plain data, the sequential specifications, and the judges."""
