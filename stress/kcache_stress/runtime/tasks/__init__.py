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

A thread beside a loop reaches it by ``call_soon_threadsafe``, between any two callbacks. So the place of each callback
in the ready queue is an event as soon as there is such a thread, and functions in executors are threads. Servers and
clients connect in memory (:mod:`~.streams`): what arrives is a choice of the environment, too.

Is it the loop of asyncio? The sequence of arrivals determines an execution. The unchanged code runs with the same
sequence in asyncio's own loop (:mod:`~kcache_stress.interleaved.confirming_on_loops`): so findings are confirmed, and
so a test compares all executions of random programs.

Prior art: the testers simloom, simloop and detangle swap ready callbacks, which asyncio never does, or let timers fire
only when nothing is ready, which hides what a slow callback shows.

Open: reduction by what callbacks touch; several loops in threads of their own; threads of the default executor that
are used again; splits of what a stream has written at once.
"""
