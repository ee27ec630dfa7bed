"""The tables: campaign ▸ episode ▸ experiment ▸ operation, measurement ▸ array, analysis, reward.

Beside them the lab's journal, the lease of the process that leads a campaign, and, apart from all
others, the truth about simulated samples. Numbers are SI unless their name says otherwise; moments
are UTC. What a change here needs: a migration in ``migrations/versions`` (a test compares the two)
and `SCHEMA_VERSION` in `migrate`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from labenv.store.types import CompressedJson, FiniteFloat, FiniteJson, FreeText, UtcDateTime

_OUTCOMES = "'ok', 'invalid', 'failed_machine', 'failed_chemistry', 'cancelled'"


class Base(DeclarativeBase):
    """Root of the tables."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_label)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class Campaign(Base):
    """A budgeted series of proposals toward one task."""

    __tablename__ = "campaign"
    __table_args__ = (
        CheckConstraint("status IN ('running', 'finished', 'stopped', 'failed')", name="status"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    name: Mapped[str] = mapped_column(FreeText, index=True)
    status: Mapped[str] = mapped_column(String(16))
    status_reason: Mapped[str | None] = mapped_column(FreeText)
    config: Mapped[Any] = mapped_column(FiniteJson, nullable=False)
    seed: Mapped[str] = mapped_column(String(40))
    versions: Mapped[Any] = mapped_column(FiniteJson, nullable=False)
    lab_hash: Mapped[str] = mapped_column(FreeText)
    task_hash: Mapped[str] = mapped_column(FreeText)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class Episode(Base):
    """A campaign as one policy sees it."""

    __tablename__ = "episode"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id"), index=True)
    seed: Mapped[str] = mapped_column(String(40))
    policy: Mapped[str] = mapped_column(FreeText)
    started_at: Mapped[datetime] = mapped_column(UtcDateTime)


class Experiment(Base):
    """A proposal and, once `completion` is set, its outcome."""

    __tablename__ = "experiment"
    __table_args__ = (
        UniqueConstraint("campaign_id", "position"),
        UniqueConstraint("campaign_id", "name", name="uq_experiment_campaign_id_name"),
        Index("ix_experiment_completion", "campaign_id", "completion"),
        CheckConstraint(f"status IN ('pending', {_OUTCOMES})", name="status"),
        CheckConstraint("(status = 'pending') = (completion IS NULL)", name="completion"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id"))
    episode_id: Mapped[int] = mapped_column(ForeignKey("episode.id"), index=True)
    position: Mapped[int] = mapped_column(Integer)
    name: Mapped[str] = mapped_column(String(200), index=True)
    proposal: Mapped[Any] = mapped_column(FiniteJson, nullable=False)
    proposal_digest: Mapped[str] = mapped_column(String(64))
    submitted_s: Mapped[float] = mapped_column(FiniteFloat)
    submitted_at: Mapped[datetime] = mapped_column(UtcDateTime)
    status: Mapped[str] = mapped_column(String(32))
    message: Mapped[str | None] = mapped_column(FreeText)
    sample: Mapped[Any | None] = mapped_column(FiniteJson)
    warnings: Mapped[Any | None] = mapped_column(FiniteJson)
    extra: Mapped[Any | None] = mapped_column(FiniteJson)
    cost: Mapped[float | None] = mapped_column(FiniteFloat)
    finished_s: Mapped[float | None] = mapped_column(FiniteFloat)
    outcome_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    recorded_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    completion: Mapped[int | None] = mapped_column(Integer)
    content_digest: Mapped[str | None] = mapped_column(String(64))


class Operation(Base):
    """When and where one operation of the plan ran."""

    __tablename__ = "operation"
    __table_args__ = (
        CheckConstraint("status IN ('ok', 'failed', 'cancelled', 'skipped')", name="status"),
    )

    experiment_id: Mapped[int] = mapped_column(ForeignKey("experiment.id"), primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True)
    plan_index: Mapped[int] = mapped_column(Integer)
    op: Mapped[str] = mapped_column(FreeText)
    station: Mapped[str] = mapped_column(FreeText)
    status: Mapped[str] = mapped_column(String(16))
    queued_s: Mapped[float] = mapped_column(FiniteFloat)
    started_s: Mapped[float] = mapped_column(FiniteFloat)
    finished_s: Mapped[float] = mapped_column(FiniteFloat)
    cost: Mapped[float] = mapped_column(FiniteFloat)
    message: Mapped[str | None] = mapped_column(FreeText)


class Measurement(Base):
    """What an instrument returned, without its arrays."""

    __tablename__ = "measurement"

    experiment_id: Mapped[int] = mapped_column(ForeignKey("experiment.id"), primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True)
    kind: Mapped[str] = mapped_column(String(64))
    instrument: Mapped[Any | None] = mapped_column(FiniteJson)
    measured_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    lab_time_s: Mapped[float | None] = mapped_column(FiniteFloat)
    body: Mapped[Any] = mapped_column(FiniteJson, nullable=False)


class ArrayBlob(Base):
    """Numbers, compressed; see `labenv.store.arrays`."""

    __tablename__ = "array_blob"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    dtype: Mapped[str] = mapped_column(String(8))
    shape: Mapped[str] = mapped_column(String(80))
    encoding: Mapped[str] = mapped_column(String(16))
    data: Mapped[bytes] = mapped_column(LargeBinary)


class MeasurementArray(Base):
    """Which array is which channel of a measurement."""

    __tablename__ = "measurement_array"
    __table_args__ = (
        ForeignKeyConstraint(
            ["experiment_id", "position"], ["measurement.experiment_id", "measurement.position"]
        ),
    )

    experiment_id: Mapped[int] = mapped_column(Integer, primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True)
    channel: Mapped[str] = mapped_column(String(64), primary_key=True)
    digest: Mapped[str] = mapped_column(ForeignKey("array_blob.digest"))


class Analysis(Base):
    """What was concluded from the measurements."""

    __tablename__ = "analysis"

    experiment_id: Mapped[int] = mapped_column(ForeignKey("experiment.id"), primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True)
    kind: Mapped[str] = mapped_column(String(64))
    status: Mapped[str] = mapped_column(String(32))
    body: Mapped[Any] = mapped_column(FiniteJson, nullable=False)


class Reward(Base):
    """What the task made of the outcome: a value, or none and the reason why."""

    __tablename__ = "reward"
    __table_args__ = (CheckConstraint("value IS NOT NULL OR reason <> ''", name="says_why"),)

    experiment_id: Mapped[int] = mapped_column(ForeignKey("experiment.id"), primary_key=True)
    value: Mapped[float | None] = mapped_column(FiniteFloat)
    reason: Mapped[str] = mapped_column(FreeText)
    reward: Mapped[float] = mapped_column(FiniteFloat)
    success: Mapped[bool] = mapped_column(Boolean(create_constraint=True, name="success"))


class JournalEntry(Base):
    """One event of the lab's journal."""

    __tablename__ = "journal_event"

    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id"), primary_key=True)
    sequence: Mapped[int] = mapped_column(Integer, primary_key=True)
    kind: Mapped[str] = mapped_column(String(64))
    experiment_name: Mapped[str] = mapped_column(FreeText)
    lab_time_s: Mapped[float] = mapped_column(FiniteFloat)
    recorded_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    data: Mapped[Any] = mapped_column(CompressedJson, nullable=False)


class LeaseRow(Base):
    """Which process leads a campaign, and until when."""

    __tablename__ = "lease"

    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id"), primary_key=True)
    token: Mapped[str] = mapped_column(String(64))
    owner: Mapped[str] = mapped_column(FreeText)
    host: Mapped[str] = mapped_column(FreeText)
    pid: Mapped[int] = mapped_column(Integer)
    process: Mapped[str] = mapped_column(FreeText)
    acquired_at: Mapped[datetime] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)
    ttl_s: Mapped[float] = mapped_column(FiniteFloat)


class Truth(Base):
    """The true mass fractions of a simulated sample; for evaluation only."""

    __tablename__ = "truth"

    experiment_id: Mapped[int] = mapped_column(ForeignKey("experiment.id"), primary_key=True)
    phase: Mapped[str] = mapped_column(String(200), primary_key=True)
    fraction: Mapped[float] = mapped_column(FiniteFloat)
