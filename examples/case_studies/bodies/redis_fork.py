"""redis 3.3.11, issue 1270: after a fork, two threads may each reset the pool, and one loses the other's connection."""

from redis.connection import Connection, ConnectionPool

from kcache import testing as kt


class Quiet(Connection):
    def connect(self):
        pass

    def can_read(self, timeout=0):
        return False


def after_a_fork_each_connection_counts():
    pool = ConnectionPool(connection_class=Quiet, max_connections=5)
    pool.pid = -1  # as in a process that was just forked
    kt.run(lambda: pool.get_connection("PING"), lambda: pool.get_connection("PING"))
    assert pool._created_connections == 2
