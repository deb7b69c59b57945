# ruff: noqa: D103
"""How the functions of ``primitives`` and ``primitives_of_time`` look at what happens."""

import threading

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
