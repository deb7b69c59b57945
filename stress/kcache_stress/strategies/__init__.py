"""Search strategies, one in each module; :mod:`.interface` says what one is."""
