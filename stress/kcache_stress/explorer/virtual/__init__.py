"""Virtual threads, and the standard library's threading on top of them."""
