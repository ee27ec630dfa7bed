"""What happened, kept: campaigns, experiments, measurements, rewards and their provenance.

One `Store` is one database: an SQLite file unless told otherwise, or any database that SQLAlchemy
speaks to (PostgreSQL is tested). Answers are vocabulary models and frozen records.
"""

from labenv.store.journal import StoreJournal
from labenv.store.records import (
    CampaignRecord,
    CampaignStatus,
    ClosingStatus,
    EpisodeRecord,
    ExperimentRecord,
    Lease,
)
from labenv.store.store import Store

__all__ = [
    "CampaignRecord",
    "CampaignStatus",
    "ClosingStatus",
    "EpisodeRecord",
    "ExperimentRecord",
    "Lease",
    "Store",
    "StoreJournal",
]
