"""psycopg-pool 3.3.0, issue 1300: a pool that two threads open at once may be opened twice, each under its own lock."""

from psycopg_pool import ConnectionPool

from kcache import testing as kt


def a_pool_is_opened_once():
    pool = ConnectionPool("", min_size=0, max_size=1, num_workers=1, open=False)
    kt.run(pool.open, pool.open)
    assert len(pool._workers) == 1
    pool.close()
