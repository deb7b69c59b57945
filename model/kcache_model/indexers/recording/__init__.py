"""Histories recorded elsewhere, in any language: read line by line, and judged while they are read."""

from .events import EVENTS_SCHEMA, Begin, End, Event, Lines, dump_events, encode_thread
from .judging import MOST_EXPLAINED, RecordingVerdict, judge_recording, recorded_history
from .reading import Recording, read_recording

__all__ = [
    "EVENTS_SCHEMA",
    "MOST_EXPLAINED",
    "Begin",
    "End",
    "Event",
    "Lines",
    "Recording",
    "RecordingVerdict",
    "dump_events",
    "encode_thread",
    "judge_recording",
    "read_recording",
    "recorded_history",
]
