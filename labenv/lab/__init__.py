"""The laboratory: hidden world, stations, clock, interlocks, journal.

`labenv.lab.audit` is the one door to the truth.
"""

from labenv.lab.experiment import Ticket
from labenv.lab.journal import Journal, JournalEvent, JsonlJournal, MemoryJournal
from labenv.lab.laboratory import Lab
from labenv.lab.stations import StationStatus
from labenv.lab.streams import stream
from labenv_instruments.clock import Clock, VirtualClock, WallClock

__all__ = [
    "Clock",
    "Journal",
    "JournalEvent",
    "JsonlJournal",
    "Lab",
    "MemoryJournal",
    "StationStatus",
    "Ticket",
    "VirtualClock",
    "WallClock",
    "stream",
]
