"""Runs of an Indexer under real threads and in processes that can be killed, and reports what was seen."""
