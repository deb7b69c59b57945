"""Reports of runs, in every format, from one kind of data."""
