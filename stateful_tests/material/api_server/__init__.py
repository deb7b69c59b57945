"""A fake API server over HTTP on this machine, for tests with real clients and real connections."""

from .cuts import Cut
from .http_api_server import HttpApiServer

__all__ = ["Cut", "HttpApiServer"]
