"""The conformance suite: holds any Indexer against the model and against the recorded client-go."""
