"""The model: operations, programs and histories as plain data, what a sequential Indexer does, and who judges."""
