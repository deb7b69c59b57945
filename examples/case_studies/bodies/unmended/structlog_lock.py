"""structlog 26.1.0, unmended: two loggers of one file, made at once, have two locks."""

import io

from structlog import PrintLogger

from kcache import testing as kt


def one_file_has_one_lock():
    file = io.StringIO()
    one, other = kt.run(lambda: PrintLogger(file), lambda: PrintLogger(file))
    assert one._lock is other._lock
