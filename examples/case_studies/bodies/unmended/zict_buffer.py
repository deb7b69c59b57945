"""zict 3.0.0, unmended: of two threads that read a key from the slow half of a Buffer, one gets a KeyError."""

from zict import Buffer

from kcache import testing as kt


def both_get_the_value():
    buffer = Buffer({}, {}, 1)
    buffer["a"] = 1
    buffer["b"] = 2  # moves "a" to the slow mapping
    assert kt.run(lambda: buffer["a"], lambda: buffer["a"]) == [1, 1]
