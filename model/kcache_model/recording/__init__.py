"""Histories recorded elsewhere, in any language: read line by line, and judged while they are read."""

from .events import EVENTS_SCHEMA, Begin, End, Event, Header, dump_events
from .judging import RecordingVerdict, judge_recording, recorded_history
from .reading import Recording, read_recording

__all__ = [
    "EVENTS_SCHEMA",
    "Begin",
    "End",
    "Event",
    "Header",
    "Recording",
    "RecordingVerdict",
    "dump_events",
    "judge_recording",
    "read_recording",
    "recorded_history",
]
