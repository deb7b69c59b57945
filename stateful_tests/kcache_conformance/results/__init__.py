"""Results of runs as data: events, completeness, certificates and baselines."""
