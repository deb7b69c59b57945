"""Programs that the explorer runs: all small programs up to equivalence, or random programs that are likely to fail."""
