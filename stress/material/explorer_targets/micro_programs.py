"""Micro-programs: random straight-line threads over a few variables and everything that synchronises them."""

import functools
import random
import textwrap
from typing import Any

from kcache_stress.engine.execution import Execution
from kcache_stress.engine.granularity import Granularity
from kcache_stress.modules.roots import Roots
from kcache_stress.modules.sandbox import Sandbox
from kcache_stress.runtime.threads.virtual_thread import Aborted

MOST_TIMEOUTS = 50
"""More than any micro-program has waits: none is withheld."""


SCENE = """
import queue
import threading
import time


class Scene:
    def __init__(self):
        self.x = 0
        self.y = 0
        self.d = {}
        self.l = []
        self.a = threading.Lock()
        self.b = threading.Lock()
        self.r = threading.RLock()
        self.c = threading.Condition(self.a)
        self.k = threading.Condition()
        self.e = threading.Event()
        self.s = threading.Semaphore(1)
        self.z = threading.Semaphore(0)
        self.q = queue.Queue(1)
        self.m = queue.SimpleQueue()
        self.w = threading.Barrier(2)
        self.t = None
        self.own = threading.local()
"""
"""What the threads share. A step gets it as ``s``, and ``note(value)`` adds to what the thread has seen."""

STEPS = {
    "memory": """
        note(s.x)
        note(s.y)
        s.x = NUMBER
        s.y = NUMBER
        s.x += 1
        s.y = s.x
        if s.x: s.y = NUMBER
        if s.y: note(s.x)
        s.d[KEY] = NUMBER
        note(s.d.get(KEY))
        note(tuple(s.d))
        s.d.pop(KEY, None)
        s.l.append(NUMBER)
        note(tuple(s.l))
        if s.l: note(s.l.pop())
    """,
    "lock": """
        s.LOCK.acquire()
        s.LOCK.release()
        with s.LOCK: s.x += 1
        with s.LOCK: note(s.x)
        with s.LOCK: s.y = NUMBER
        with s.LOCK: s.l.append(NUMBER)
        with s.LOCK, s.OTHER: s.x = NUMBER
        with s.LOCK: pass
    """,
    "try": """
        note(s.LOCK.acquire(blocking=False))
        if s.LOCK.acquire(blocking=False): s.x = NUMBER; s.LOCK.release()
        note(s.PLAIN.locked())
        if s.PLAIN.locked(): s.y = NUMBER
    """,
    "timed": """
        note(s.LOCK.acquire(timeout=1))
        note(s.LOCK.acquire(timeout=2))
        if s.LOCK.acquire(timeout=1): s.x = NUMBER; s.LOCK.release()
    """,
    "clock": """
        time.sleep(1)
        time.sleep(2)
        time.sleep(0)
        note(time.monotonic())
    """,
    "condition": """
        with s.CONDITION: s.CONDITION.wait()
        with s.CONDITION: s.CONDITION.notify()
        with s.CONDITION: s.CONDITION.notify_all()
        with s.CONDITION: s.x = NUMBER; s.CONDITION.notify()
        with s.CONDITION: note(s.CONDITION.wait_for(lambda: s.x))
        with s.CONDITION: note(s.CONDITION.wait(timeout=1))
        s.CONDITION.notify()
    """,
    "event": """
        s.e.set()
        s.e.clear()
        s.e.wait()
        note(s.e.is_set())
        if s.e.is_set(): s.x = NUMBER
        note(s.e.wait(timeout=1))
    """,
    "semaphore": """
        s.SEMAPHORE.acquire()
        s.SEMAPHORE.release()
        note(s.SEMAPHORE.acquire(blocking=False))
        with s.SEMAPHORE: s.x += 1
        note(s.SEMAPHORE.acquire(timeout=1))
    """,
    "queue": """
        s.q.put(NUMBER)
        note(s.q.get())
        note(s.q.qsize())
        s.q.put_nowait(NUMBER)
        note(s.q.get_nowait())
        note(s.q.get(timeout=1))
        s.m.put(NUMBER)
        note(s.m.get())
        note(s.m.empty())
    """,
    "thread": """
        t = CHILD; t.start(); t.join()
        t = CHILD; t.start()
        s.t = CHILD; s.t.start()
        if s.t is not None: s.t.join()
        if s.t is not None: note(s.t.is_alive())
        if s.t is not None: s.t.join(timeout=1); note(s.t.is_alive())
    """,
    "barrier": """
        note(s.w.wait() >= 0)
        note(s.w.n_waiting)
    """,
    "local": """
        s.own.v = NUMBER
        note(getattr(s.own, "v", None))
    """,
}

MIXTURES = {
    ("memory",): 10,
    ("memory", "lock"): 20,
    ("memory", "lock", "try"): 15,
    ("lock", "try"): 15,
    ("lock", "try", "timed", "memory"): 12,
    ("timed", "clock", "memory"): 10,
    ("clock", "memory"): 4,
    ("condition",): 6,
    ("condition", "lock", "memory"): 8,
    ("event", "memory"): 8,
    ("event", "timed", "lock"): 4,
    ("semaphore", "memory"): 6,
    ("queue",): 6,
    ("queue", "memory"): 5,
    ("thread", "memory"): 8,
    ("thread", "lock", "try"): 8,
    ("barrier", "memory"): 3,
    ("local", "memory"): 2,
    tuple(STEPS): 6,
}
SLOW = {"condition", "event", "semaphore", "queue", "thread", "barrier"}
"""Each of their steps is many events."""


class Author:
    """Writes micro-programs: the source of one function for each thread."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.groups = self.rng.choices(list(MIXTURES), list(MIXTURES.values()))[0]
        self.locks = self.rng.choice((["a"], ["a", "b"], ["a", "r"], ["r"], ["a", "b", "r"]))

    def bodies(self):
        """The steps of each thread."""
        threads = self.rng.choice((2, 2, 2, 3))
        longest = {2: 4, 3: 2}[threads] - bool(SLOW.intersection(self.groups))
        return [[self.step() for _ in range(self.rng.randint(1, longest))] for _ in range(threads)]

    def step(self):
        """One step, out of one of the groups."""
        rng = self.rng
        text = rng.choice(textwrap.dedent(STEPS[rng.choice(self.groups)]).strip().splitlines())
        words = {
            "NUMBER": str(rng.randint(1, 3)),
            "KEY": str(rng.randint(0, 1)),
            "LOCK": rng.choice(self.locks),
            "OTHER": rng.choice(self.locks),
            "PLAIN": rng.choice("ab"),
            "CONDITION": rng.choice("ck"),
            "SEMAPHORE": rng.choice("sz"),
        }
        for word, meaning in words.items():
            text = text.replace(word, meaning)
        return text


def function(name, steps):
    """The source of a thread."""
    return "\n".join([f"def {name}(s, note):", *(f"    {step}" for step in steps), ""])


class MicroRunner:
    """Runs the threads of a micro-program, as execution.Runner runs calls of an Indexer.

    Outcomes are what each thread noted, started ones included, and how it ended; then what the shared variables hold.
    """

    def __init__(self, sandbox, module, bodies):
        self.sandbox = sandbox
        self.module = module
        self.bodies = bodies

    def run(self, strategy):
        """Run all threads once."""
        scheduler = self.sandbox.scheduler
        self.clean_up()
        scene = self.module.Scene()
        scheduler.settle()
        notes = {}

        def noting(name):
            seen = notes[name] = [name]
            return lambda value: seen.append(value)

        def child(name):
            # the name belongs to the place where it was started, whoever came first
            return functools.partial(self.module.child, scene, noting(name))

        def work(name, body):
            note = noting(name)
            note.child = child  # pyright: ignore[reportFunctionMemberAccess]

            def run_body():
                try:
                    body(scene, note)
                except Aborted:
                    raise
                except BaseException as error:
                    note(type(error).__name__)
                else:
                    note("ended")

            return run_body

        works = [work(str(number), body) for number, body in enumerate(self.bodies)]
        strategy.begin(scheduler)
        scheduler.explore(works, strategy.choose, MOST_TIMEOUTS)
        assert not scheduler.timeouts_withheld
        results = [notes[name] for name in sorted(notes)]
        failures = tuple(type(error).__name__ for error in scheduler.failures)
        state: Any = (scene.x, scene.y, tuple(scene.d.items()), tuple(scene.l))
        return Execution(
            strategy.ending, scheduler.trace, len(scheduler.actors), [], results, final=state, failures=failures
        )

    def clean_up(self):
        """Unwind the last execution."""
        self.sandbox.reset(len(self.bodies))


class Micros:
    """Micro-programs in one module, ready to be run.

    Args:
        programs: for each its threads, each a list of steps.
        folder: where the module is written to.
        granularity: where threads may be switched.
        child: what a thread does that is started by one of them.
    """

    def __init__(self, programs, folder, granularity=Granularity.FREE, child=("s.x += 1", "note(s.y)")):
        self.programs = programs
        path = folder / f"micro_{granularity}.py"
        parts = [SCENE, function("child", child)]
        for number, bodies in enumerate(programs):
            for thread, steps in enumerate(bodies):
                texts = [
                    step.replace("CHILD", f"threading.Thread(target=note.child('{thread}.{position}'))")
                    for position, step in enumerate(steps)
                ]
                parts.append(function(f"body_{number}_{thread}", texts))
        path.write_text("\n\n".join(parts))
        self._sandbox = Sandbox(Roots(), granularity)
        self._module = self._sandbox.load(path)

    def runner(self, number):
        """What runs the program of that number."""
        threads = range(len(self.programs[number]))
        bodies = [getattr(self._module, f"body_{number}_{thread}") for thread in threads]
        return MicroRunner(self._sandbox, self._module, bodies)

    def name(self, number):
        """Its steps, thread by thread."""
        return "\n".join(["", *(" / ".join(steps) for steps in self.programs[number])])


def micro(*threads, folder, **options):
    """The runner of one micro-program; the steps of a thread are the lines of its text."""
    return Micros([[text.split("\n") for text in threads]], folder, **options).runner(0)
