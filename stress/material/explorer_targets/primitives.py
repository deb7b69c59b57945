# ruff: noqa: D103
"""What one can observe of Python's primitives, whatever the schedule: each function gives the same result each time.

The test of the virtual world runs each function with the real modules and with the virtual ones, and compares.
"""

import threading

from stress.material.explorer_targets.observing import SOON, in_another_thread, kind_of_error, outcome, started

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
