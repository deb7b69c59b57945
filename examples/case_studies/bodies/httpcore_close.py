"""httpcore 0.14.2, pull request 437: of two threads whose connections are closed, one may fail with a ValueError."""

from httpcore import ConnectionPool
from httpcore.backends.mock import MockBackend

from kcache import testing as kt

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def requests_do_not_disturb_each_other():
    pool = ConnectionPool(network_backend=MockBackend([ANSWER]))
    kt.run(lambda: pool.request("GET", "http://a/"), lambda: pool.request("GET", "http://a/"))
