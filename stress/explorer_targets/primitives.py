# ruff: noqa: D103
"""What one can observe of Python's primitives, whatever the schedule: each function gives the same result each time.

The test of the virtual world runs each function with the real modules and with the virtual ones, and compares.
"""

import _thread
import concurrent.futures
import queue
import threading
import time

SOON = 0.02


def outcome(function, *args, **kwargs):
    """What a call returned, or the kind and text of what it raised."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return type(error).__name__, str(error)


def kind_of_error(function, *args, **kwargs):
    try:
        return "returned", function(*args, **kwargs)
    except Exception as error:
        return type(error).__name__


def in_another_thread(function, *args, **kwargs):
    """The outcome of a call that another thread makes."""
    found = []
    thread = threading.Thread(target=lambda: found.append(outcome(function, *args, **kwargs)))
    thread.start()
    thread.join()
    return found[0]


def started(function, *args):
    thread = threading.Thread(target=function, args=args)
    thread.start()
    return thread


# Locks


def lock_is_taken_once():
    lock = threading.Lock()
    return lock.acquire(), lock.acquire(blocking=False), lock.acquire(False), lock.acquire(timeout=SOON), lock.locked()


def lock_is_free_again():
    lock = threading.Lock()
    lock.acquire()
    return lock.release(), lock.locked(), lock.acquire(timeout=SOON), outcome(lock.release), outcome(lock.release)


def lock_is_released_by_another_thread():
    lock = threading.Lock()
    lock.acquire()
    return in_another_thread(lock.release), lock.locked(), lock.acquire(blocking=False)


def lock_as_context():
    lock = threading.Lock()
    with lock as entered:
        held = lock.locked()
    try:
        with lock:
            raise KeyError
    except KeyError:
        return entered, held, lock.locked()


def lock_arguments():
    lock = threading.Lock()
    return [
        kind_of_error(lock.acquire, False, 1),
        kind_of_error(lock.acquire, True, -2),
        kind_of_error(lock.acquire, True, 1e200),
        kind_of_error(lock.acquire, timeout=-1),
        kind_of_error(lock.acquire, True, 0),
        kind_of_error(lock.acquire, False, -1),
    ]


def rlock_is_taken_again():
    lock = threading.RLock()
    taken = [lock.acquire(), lock.acquire(blocking=False), lock.acquire(timeout=SOON)]
    seen = [in_another_thread(lock.acquire, False)]
    lock.release()
    lock.release()
    seen.append(in_another_thread(lock.acquire, False))
    lock.release()

    def take_and_give_back():
        with lock:
            return True

    return taken, seen, in_another_thread(take_and_give_back), outcome(lock.release)


def rlock_belongs_to_its_thread():
    lock = threading.RLock()
    with lock:
        return in_another_thread(lock.release), in_another_thread(lock.acquire, True, SOON)


def rlock_arguments():
    lock = threading.RLock()
    return kind_of_error(lock.acquire, False, 1), kind_of_error(lock.acquire, True, -2)


# Conditions


def condition_needs_its_lock():
    condition = threading.Condition()
    return outcome(condition.wait), outcome(condition.notify), outcome(condition.notify_all), outcome(condition.release)


def condition_times_out():
    condition = threading.Condition()
    with condition:
        return condition.wait(SOON), condition.wait(timeout=0), condition.wait_for(lambda: 0, SOON)


def condition_is_told():
    condition, seen = threading.Condition(), []

    def consume():
        with condition:
            while not seen:
                condition.wait()
            seen.append("consumed")

    thread = started(consume)
    with condition:
        seen.append("produced")
        condition.notify()
    thread.join()
    return seen


def condition_tells_all():
    condition, ready, woken = threading.Condition(), [], []

    def wait():
        with condition:
            ready.append(1)
            condition.wait_for(lambda: len(ready) == 3)
            woken.append(1)

    threads = [started(wait), started(wait)]
    with condition:
        ready.append(1)
        condition.notify_all()
    # whoever was not yet ready is the last one, and tells the rest
    while threads[0].is_alive() or threads[1].is_alive():
        with condition:
            condition.notify_all()
        threads[0].join(SOON)
        threads[1].join(SOON)
    return len(woken)


def condition_gives_back_all_of_an_rlock():
    condition, seen = threading.Condition(), []

    def tell():
        with condition:
            seen.append("other")
            condition.notify()

    with condition, condition:
        thread = started(tell)
        told = condition.wait_for(lambda: seen)
        seen.append("own")
        still_mine = in_another_thread(condition.acquire, False)
    thread.join()
    return bool(told), seen, still_mine


# Events, semaphores, barriers


def event_is_set_and_cleared():
    event = threading.Event()
    seen = [event.is_set(), event.wait(SOON)]
    event.set()
    seen += [event.is_set(), event.wait(), event.wait(0)]
    event.clear()
    return [*seen, event.is_set()]


def event_is_set_by_another_thread():
    event = threading.Event()
    thread = started(event.set)
    told = event.wait()
    thread.join()
    return told


def semaphore_counts():
    semaphore = threading.Semaphore(2)
    seen = [semaphore.acquire(), semaphore.acquire(timeout=SOON), semaphore.acquire(blocking=False)]
    seen += [semaphore.acquire(timeout=SOON), semaphore.release(2), semaphore.acquire(), semaphore.acquire(False)]
    return seen, kind_of_error(threading.Semaphore, -1), kind_of_error(semaphore.release, 0)


def semaphore_is_released_by_another_thread():
    semaphore = threading.Semaphore(0)
    thread = started(semaphore.release)
    taken = semaphore.acquire()
    thread.join()
    return taken


def bounded_semaphore_has_a_bound():
    semaphore = threading.BoundedSemaphore(1)
    with semaphore as taken:
        pass
    return taken, outcome(semaphore.release), semaphore.acquire(False), semaphore.release()


def barrier_lets_all_pass_together():
    calls, places = [], []
    barrier = threading.Barrier(2, action=lambda: calls.append("action"))
    threads = [started(lambda: places.append(barrier.wait())) for _ in range(2)]
    for thread in threads:
        thread.join()
    return calls, sorted(places), barrier.n_waiting, barrier.parties, barrier.broken


def barrier_breaks():
    barrier = threading.Barrier(2)
    seen = [kind_of_error(barrier.wait, SOON), barrier.broken, kind_of_error(barrier.wait)]
    barrier.reset()
    seen += [barrier.broken, outcome(barrier.abort), barrier.broken]
    return seen


def barrier_of_which_one_gives_up():
    barrier, seen = threading.Barrier(2), []
    thread = started(lambda: seen.append(kind_of_error(barrier.wait)))
    barrier.abort()
    thread.join()
    return seen


# Timers and time


def timer_goes_off():
    seen = []
    timer = threading.Timer(SOON, seen.append, ["later"])
    timer.start()
    timer.join()
    return seen, timer.is_alive()


def timer_is_cancelled():
    seen = []
    timer = threading.Timer(SOON, seen.append, ["later"])
    timer.cancel()  # not after the start: however long it waits, the time may be over by then
    timer.start()
    timer.join()
    return seen, timer.finished.is_set()


def time_passes():
    began = time.monotonic(), time.perf_counter(), time.time(), time.monotonic_ns(), time.time_ns()
    time.sleep(SOON)
    ended = time.monotonic(), time.perf_counter(), time.time(), time.monotonic_ns(), time.time_ns()
    kinds = [type(value).__name__ for value in ended]
    # the wall clock is coarse, and may be set
    return [after > before for before, after in zip(began, ended, strict=True)], kinds, ended[0] - began[0] > SOON / 2


def time_cannot_run_backwards():
    return kind_of_error(time.sleep, -1), time.sleep(0), time.gmtime(0).tm_year


def waits_take_their_time():
    lock = threading.Lock()
    lock.acquire()
    took = []
    for wait in (
        lambda: lock.acquire(timeout=SOON),
        lambda: threading.Event().wait(SOON),
        lambda: threading.Semaphore(0).acquire(timeout=SOON),
        lambda: outcome(queue.Queue().get, timeout=SOON),
    ):
        began = time.monotonic()
        wait()
        took.append(time.monotonic() - began > SOON / 2)
    return took


# Queues


def _in_and_out(made):
    for value in (2, 3, 1):
        made.put(value)
    return [made.qsize(), made.empty(), *(made.get() for _ in range(3)), made.empty()]


def queues_have_their_order():
    kinds = (queue.Queue, queue.LifoQueue, queue.PriorityQueue, queue.SimpleQueue)
    return [_in_and_out(kind()) for kind in kinds]


def queues_are_full_or_empty():
    seen = []
    for kind in (queue.Queue, queue.LifoQueue, queue.PriorityQueue):
        made = kind(maxsize=1)
        seen += [kind_of_error(made.get_nowait), kind_of_error(made.get, timeout=SOON), made.put(1), made.full()]
        seen += [kind_of_error(made.put_nowait, 2), kind_of_error(made.put, 2, timeout=SOON), made.get(timeout=SOON)]
        seen += [kind_of_error(made.get, timeout=-1), kind_of_error(made.put, 2, timeout=-1)]
    return seen


def simple_queue_is_empty():
    made = queue.SimpleQueue()
    seen = [kind_of_error(made.get_nowait), kind_of_error(made.get, timeout=SOON), kind_of_error(made.get, False)]
    made.put_nowait("x")
    return [*seen, made.get(timeout=SOON), made.empty(), kind_of_error(made.get, timeout=-1)]


def queues_hand_over():
    seen = []
    for made in (queue.Queue(1), queue.SimpleQueue()):

        def produce(made=made):
            for number in range(3):
                made.put(number)

        thread = started(produce)
        seen.append([made.get() for _ in range(3)])
        thread.join()
    return seen


def queue_waits_for_its_tasks():
    made, done = queue.Queue(), []

    def work():
        while (task := made.get()) is not None:
            done.append(task)
            made.task_done()

    thread = started(work)
    made.put("a")
    made.put("b")
    made.join()
    seen = list(done)
    made.put(None)
    thread.join()
    made.task_done()
    return seen, outcome(made.task_done)


def queue_is_shut_down():
    made = queue.Queue()
    shutdown = getattr(made, "shutdown", None)
    if shutdown is None:
        return None
    made.put(1)
    shutdown()
    return made.get(), kind_of_error(made.get), kind_of_error(made.put, 1)


# Pools


def pool_computes():
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        squares = list(pool.map(lambda number: number * number, [1, 2, 3]))
        future = pool.submit(divmod, 7, 2)
        wrong = pool.submit(divmod, 7, 0)
        done, _ = concurrent.futures.wait([future, wrong])
        seen = squares, future.result(), type(wrong.exception()).__name__, kind_of_error(wrong.result), len(done)
    return seen, future.done(), kind_of_error(pool.submit, divmod, 7, 2)


def pool_calls_back():
    seen = []
    with concurrent.futures.ThreadPoolExecutor(1, initializer=seen.append, initargs=("first",)) as pool:
        future = pool.submit(lambda: 5)
        future.add_done_callback(lambda done: seen.append(done.result()))
    return seen, [done.result() for done in concurrent.futures.as_completed([future])]


def pool_is_late():
    gate = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting, never = pool.submit(gate.wait), pool.submit(int)
        seen = kind_of_error(waiting.result, timeout=SOON), never.cancel(), never.cancelled()
        gate.set()
    return seen, waiting.result()


# Thread-local data


def local_data_is_each_threads_own():
    local = threading.local()
    local.x = 1

    def look():
        before = hasattr(local, "x"), outcome(getattr, local, "x", "none")
        local.x = 2
        return before, local.x, sorted(local.__dict__)

    other = in_another_thread(look)
    del local.x
    return other, kind_of_error(lambda: local.x), kind_of_error(delattr, local, "x"), local.__dict__


def local_subclass_is_made_anew_in_each_thread():
    made = []

    class Counter(threading.local):
        shared = "class"

        def __init__(self, start, *, step=1):
            made.append(start)
            self.value = start
            self.step = step

        def count(self):
            self.value += self.step
            return self.value

    counter = Counter(10, step=5)
    own = counter.count(), counter.count()
    other = in_another_thread(counter.count)
    return own, other, counter.count(), made, counter.shared


def local_arguments_need_an_init():
    return kind_of_error(threading.local, 1)


def two_locals_do_not_mix():
    first, second = threading.local(), threading.local()
    first.x = 1
    return hasattr(second, "x"), isinstance(first, threading.local)


# Threads


def threads_have_a_life():
    gate = threading.Event()
    thread = threading.Thread(target=gate.wait)
    seen = [thread.is_alive(), thread.ident, outcome(thread.join)]
    thread.start()
    seen += [thread.is_alive(), thread.join(SOON), thread.is_alive(), outcome(thread.start)]
    gate.set()
    return [*seen, thread.join(), thread.is_alive(), thread.join(), thread.join(SOON), outcome(thread.start)]


def threads_know_themselves():
    seen = []

    def look():
        me = threading.current_thread()
        seen.append((me is thread, me.name, me.ident == threading.get_ident(), me in threading.enumerate()))
        seen.append((isinstance(threading.get_native_id(), int), outcome(me.join)))

    thread = threading.Thread(target=look, name="worker")
    before = threading.active_count()
    thread.start()
    thread.join()
    ident = thread.ident
    return seen, threading.active_count() - before, ident != threading.get_ident(), thread in threading.enumerate()


def threads_have_different_idents():
    idents, barrier = [], threading.Barrier(3)

    def look():
        idents.append(threading.get_ident())
        barrier.wait()

    threads = [started(look) for _ in range(3)]
    for thread in threads:
        thread.join()
    return len(set(idents)), idents.count(threading.get_ident())


def threads_inherit_being_daemons():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(threading.Thread().daemon), daemon=True)
    thread.start()
    thread.join()
    return seen, thread.daemon, threading.Thread(daemon=False).daemon, kind_of_error(setattr, thread, "daemon", False)


def threads_are_subclassed():
    class Worker(threading.Thread):
        def __init__(self, number):
            super().__init__(name=f"worker {number}")
            self.number = number

        def run(self):
            self.number *= 2

    workers = [Worker(number) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return [(worker.name, worker.number) for worker in workers]


def threads_get_their_arguments():
    seen = []
    thread = threading.Thread(target=lambda *args, **named: seen.append((args, named)), args=(1, 2), kwargs={"x": 3})
    thread.start()
    thread.join()
    return seen


def bare_threads_run():
    gate, seen = _thread.allocate_lock(), []
    gate.acquire()

    def work(first, second):
        seen.append((first, second))
        gate.release()

    ident = _thread.start_new_thread(work, (1,), {"second": 2})
    return type(ident).__name__, gate.acquire(), seen, ident != _thread.get_ident()


def exit_of_a_thread_is_silent():
    seen = []

    def leave():
        seen.append("before")
        raise SystemExit

    thread = started(leave)
    thread.join()
    return seen, thread.is_alive()


def threads_start_threads():
    seen = []

    def inner():
        seen.append("inner")

    def outer():
        started(inner).join()
        seen.append("outer")

    started(outer).join()
    return seen
