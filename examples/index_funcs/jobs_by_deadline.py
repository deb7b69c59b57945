"""Backup jobs by the day of their deadline (seconds since the epoch); the day is that of the machine's time zone."""

from dataclasses import dataclass
from datetime import datetime


@dataclass
class BackupJob:
    name: str
    deadline: int | None
    suspended: bool


def _day(seconds):
    try:
        return datetime.fromtimestamp(seconds).date().isoformat()
    except (OverflowError, OSError, ValueError):
        return "out-of-range"


def index_func(obj: BackupJob):
    if obj.suspended or obj.deadline is None:
        return ["unscheduled"]
    return [f"due/{_day(obj.deadline)}"]


def witness():
    return [
        BackupJob("weekly", None, False),
        BackupJob("nightly", 1_717_201_800, False),  # 2024-06-01 00:30 UTC
        BackupJob("evening", 1_717_284_600, False),  # 2024-06-01 23:30 UTC
    ]
