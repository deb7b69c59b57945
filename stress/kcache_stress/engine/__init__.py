"""Engine: the search of the interleavings of actors. It knows no threads, no greenlets and no types of targets.

The idea
--------
Actors (threads, coroutines, a source of events) share some places. The engine runs the same actors again and again,
chooses each time which actor performs the next event, and judges every execution. If no choice is left, every
interleaving is judged, up to the order of events that do not depend on each other.

1. A runtime reports the **events** of an execution as a trace: :mod:`.events` says what an event is, and which two
   events **depend** on each other.
2. :mod:`.happens_before` computes which events of a trace are ordered, and which are **races**: dependent events that
   could have happened the other way round.
3. A :mod:`.strategy` chooses schedules. :mod:`.dpor` reverses each race once, and so exhausts the interleavings.
   :mod:`.preemption_bounded` tries schedules with the fewest preemptions first. :mod:`.schedule_replay` follows one
   schedule.
4. :mod:`.search` runs executions until a judge reports a problem, nothing is left, or the budget is spent.
5. :mod:`.counterexample` reproduces a problem in a schedule that is as small as possible. :mod:`.audit` compares an
   exhaustive search with executions of a runtime that reports every opcode: it shares none of the search's
   assumptions. :mod:`.recorded_search` records the choices of a search, so that another program can check them.

:mod:`.scheduling` is the interface to a runtime, :mod:`.execution` the interface to runners and judges.

Prior art
---------
Stateless model checking comes from VeriSoft (P. Godefroid: Model Checking for Programming Languages using VeriSoft,
1997). The reduction is source-DPOR (P. Abdulla, S. Aronis, B. Jonsson, K. Sagonas: Optimal Dynamic Partial Order
Reduction, 2014), whose proof needs what :func:`~.events.are_dependent` has to guarantee: two events that it calls
independent can be swapped, and neither disables the other. Loom and Shuttle for Rust, and Coyote for .NET, have the
same split into a scheduler and a runtime. Their schedulers see threads. This engine sees numbers and events, so that an
event loop is one more runtime.

Alternatives
------------
* Optimal DPOR (wakeup trees) explores no redundant execution. With sleep sets, about one execution in a hundred is
  redundant in the programs that were measured: wakeup trees could save one percent of the executions.
* A search of states instead of schedules remembers the states that it has seen. It needs a canonical form of every
  object of the target. Such a search was built, no phase used it, and it was removed.
* Context bounding alone finds most faults, but proves nothing. It is used to minimize counterexamples.

What a proof rests on
---------------------
The runtime is deterministic: the same choices give the same events. Everything that two actors share is an event. If
the runtime does not know what an event touches, it marks the event (:class:`~.events.UnknownAccess`), and the search
ends with :attr:`~.strategy.Coverage.NO_PROOF`.

Open questions
--------------
* A wait with a timeout is an event whose outcome the strategy may choose. The number of these choices is bounded
  (:attr:`~.execution.Execution.timeouts_withheld`). The timeout should be a choice of the search like any other.
* Actors that do the same are swapped only before they begin (:mod:`.equal_actors`).
"""
