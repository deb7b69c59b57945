"""The conformance suite: compares any Indexer with the model and with recorded results of client-go."""
