"""What the tests of informers share: a server that follows a script, and handlers that write a journal."""

from .journal import Journal, Recorder, eventually, shown
from .probe import Probe, store_version
from .scripted_server import ScriptedServer, ScriptedWatch, manifest
from .threads import WATCHDOG_SECONDS, in_thread, threads_since

__all__ = [
    "WATCHDOG_SECONDS",
    "Journal",
    "Probe",
    "Recorder",
    "ScriptedServer",
    "ScriptedWatch",
    "eventually",
    "in_thread",
    "manifest",
    "shown",
    "store_version",
    "threads_since",
]
