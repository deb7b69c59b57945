"""The CS programs of SCTBench, told again in Python: tests of a search, each with a correct twin.

What they do is from P. Thomson, A. Donaldson, A. Betts: Concurrency Testing Using Controlled Schedulers (2016), and the
repository mc-imperial/sctbench. A pthread is a ``threading.Thread``, an atomic section a lock of its own, and a failed
assertion an exception that ends a thread. State is made anew by each call, for module-level state would live on.
"""
