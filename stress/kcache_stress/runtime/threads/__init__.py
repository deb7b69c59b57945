"""Virtual threads: their scheduler, clock and locks, and ``threading`` on top of them."""
