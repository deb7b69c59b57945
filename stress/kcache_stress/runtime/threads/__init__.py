"""Virtual threads: what schedules them, what they wait for, and ``threading`` on top of them."""
