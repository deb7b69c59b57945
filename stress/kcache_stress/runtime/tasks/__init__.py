"""Event loops: every schedule that asyncio's loop can have, as choices of the environment.

The state of a loop is its timers, its ready queue, and what the environment still owes. One iteration is a function of
that state and of two inputs: which completions the selector returns, and how long a prefix of the timers is due after
it. Everything else is forced: the ready queue is first in, first out, an iteration runs the callbacks that were ready
when it began, and no callback interrupts another one. A search has tried all behaviours of the loop if it has tried
each completion and each timer at the beginning of each iteration, and if callbacks are deterministic and end. The clock
may jump by any time between two iterations, because a callback may be slow.

The loop here is the one of ``asyncio`` (``BaseEventLoop``): only its selector and its clock are replaced
(:mod:`~.virtual_loop`). It runs in a virtual thread. In a test, the clock, each completion and each cancellation
(:mod:`~.cancellation`) are actors of the search, which can only act when the loop begins an iteration
(:mod:`~.event_loop`). An object with async methods has a loop that serves the threads which call it
(:mod:`~.served_loop`). The search, the reduction, replays and reports are those of threads
(:mod:`~kcache_stress.engine`). Code comes to these loops by the functions of asyncio (:mod:`~.loops`).

Prior art: the testers simloom, simloop and detangle swap ready callbacks, which asyncio never does, or let timers fire
only when nothing is ready, which hides what a slow callback shows.

Open: callbacks of other threads at any event, functions in executors as parts of proofs, streams over virtual sockets,
contracts of other loops, reduction by what callbacks touch.
"""
