# ruff: noqa: D103
"""As ``primitives``: timers, queues, pools, thread-local data, threads."""

import _thread
import concurrent.futures
import queue
import threading
import time

from stress.material.explorer_targets.observing import SOON, in_another_thread, kind_of_error, outcome, started

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
