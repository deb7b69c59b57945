"""psycopg-pool 3.3.1, issue 1419: a worker that has nothing to do for a day dies, and no connection is made again."""

from time import sleep

from psycopg_pool import NullConnectionPool


def workers_outlive_a_day_without_work():
    pool = NullConnectionPool("", num_workers=1, open=True)
    sleep(25 * 3600)
    assert pool._workers[0].is_alive()
    pool.close()
