"""Programs that the explorer runs: all small ones, one of each kind; or random ones that are likely to go wrong."""
