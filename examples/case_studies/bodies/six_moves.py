"""six 1.8.0, issue 98: two threads that use a moved module for the first time may fail with an AttributeError."""

import six

from kcache import testing as kt


def a_module_is_found_by_all():
    class Moves(six._LazyModule):
        pprint = six.MovedModule("pprint", "pprint")

    moves = Moves("moves")
    first, second = kt.run(lambda: moves.pprint, lambda: moves.pprint)
    assert first is second
