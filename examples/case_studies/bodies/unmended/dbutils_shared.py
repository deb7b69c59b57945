"""DBUtils 3.2.0, unmended: a pool of one shared connection refuses to share it while its last user gives it back."""

import types

from dbutils.pooled_db import PooledDB

from kcache import testing as kt


def both_may_use_the_connection():
    connection = types.SimpleNamespace(close=int, commit=int, rollback=int, cursor=int)
    api = types.SimpleNamespace(threadsafety=2, connect=lambda: connection, OperationalError=OSError)
    api.Error = api.InterfaceError = api.InternalError = OSError
    pool = PooledDB(api, maxshared=1, maxconnections=1, ping=0)
    kt.run(lambda: pool.connection().close(), lambda: pool.connection().close())
