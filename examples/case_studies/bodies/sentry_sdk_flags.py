"""sentry-sdk 2.20.0, pull request 4034: a feature flag that is being set again is missing for others."""

from sentry_sdk.feature_flags import FlagBuffer

from kcache import testing as kt


@kt.interleaved(instrument=("sentry_sdk.feature_flags", "sentry_sdk._lru_cache"))
def a_flag_never_disappears():
    flags = FlagBuffer(9)
    flags.set("a", True)
    read, _ = kt.run(flags.get, lambda: flags.set("a", False))
    assert read
