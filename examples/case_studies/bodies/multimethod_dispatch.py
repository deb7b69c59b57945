"""multimethod 1.9, mended in 1.9.1: a call with types that are new may fail while another thread makes one."""

from multimethod import multimethod

from kcache import testing as kt


def all_are_dispatched():
    @multimethod
    def double(value: object):
        return value * 2

    assert kt.run(lambda: double(1), lambda: double("a")) == [2, "aa"]
