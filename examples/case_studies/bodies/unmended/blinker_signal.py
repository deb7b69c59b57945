"""blinker 1.9.0, unmended: two threads that ask for the signal of a name may get two signals."""

from blinker import Namespace

from kcache import testing as kt


def one_name_is_one_signal():
    names = Namespace()
    one, other = kt.run(lambda: names.signal("saved"), lambda: names.signal("saved"))
    assert one is other
