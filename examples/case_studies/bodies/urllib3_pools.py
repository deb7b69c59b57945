"""urllib3 1.26.15, issue 1252: the pool that a thread has just been given may be closed by another one."""

from urllib3 import PoolManager

from kcache import testing as kt


def pools_stay_open_while_used():
    manager = PoolManager(num_pools=1)

    def use(host):
        pool = manager.connection_from_host(host, 80)
        pool._put_conn(pool._get_conn())

    kt.run(lambda: use("a"), lambda: use("b"))
