"""pyee 8.0.1, issue 77: a listener of ``once`` may be called twice, or removed twice."""

from pyee import EventEmitter

from kcache import testing as kt


def once_is_once():
    calls, emitter = [], EventEmitter()
    emitter.once("x", calls.append)
    kt.run(lambda: emitter.emit("x", 1), lambda: emitter.emit("x", 2))
    assert len(calls) == 1
