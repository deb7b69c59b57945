"""psycopg 3.3.1, issue 1230: two threads that adapt the first value of a type may fail with a KeyError."""

from decimal import Decimal

from psycopg.adapt import AdaptersMap, PyFormat
from psycopg.types.string import StrDumper

from kcache import testing as kt


@kt.interleaved(instrument="psycopg._adapters_map")
def a_type_is_known_to_all():
    adapters = AdaptersMap()
    adapters.register_dumper("decimal.Decimal", StrDumper)
    kt.run(*[lambda: adapters.get_dumper(Decimal, PyFormat.TEXT)] * 2)
