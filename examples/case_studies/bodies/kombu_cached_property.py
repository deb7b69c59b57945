"""kombu 5.0.2, pull request 1316: two threads that read a cached property may get different objects."""

from kombu.utils.objects import cached_property

from kcache import testing as kt


class Owner:
    @cached_property
    def made(self):
        return object()


@kt.interleaved(instrument="kombu.utils.objects")
def all_see_one_object():
    owner = Owner()
    first, second = kt.run(lambda: owner.made, lambda: owner.made)
    assert first is second
