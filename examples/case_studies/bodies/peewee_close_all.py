"""peewee 4.0.5, issue 3047: a pool that is closed while a thread connects takes the two locks in the other order."""

from playhouse.pool import PooledSqliteDatabase

from kcache import testing as kt


@kt.interleaved(instrument=("peewee", "playhouse"))
def a_pool_can_be_closed_at_any_time():
    pool = PooledSqliteDatabase(":memory:")
    kt.run(pool.connect, pool.close_all)
