"""What the store answers with: frozen records that hold vocabulary models, never rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from labenv_schemas.campaign import CampaignConfig
    from labenv_schemas.outcome import Outcome, OutcomeStatus, Score
    from labenv_schemas.proposal import Proposal

ClosingStatus = Literal["finished", "stopped", "failed"]
"""How a campaign can end: budget or goal reached, a person stopped it, an error ended it."""

CampaignStatus = Literal["running", "interrupted", "finished", "stopped", "failed"]
"""As shown to people: `interrupted` never ended, and no live process leads it."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of one process to lead a campaign until a moment.

    Attributes:
        campaign_id: Which campaign.
        owner: Who, in words for people, such as ``"labenv run"``.
        host: Name of the machine.
        pid: Process on that machine.
        token: What proves that the lease is ours.
        acquired_at: When it was taken, UTC.
        expires_at: Until when it holds unless renewed, UTC.
        ttl_s: For how long each renewal holds, s.
    """

    campaign_id: str
    owner: str
    host: str
    pid: int
    token: str
    acquired_at: datetime
    expires_at: datetime
    ttl_s: float


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """One campaign, or one pass through it, as seen by one policy.

    Attributes:
        episode_id: Its name.
        campaign_id: Where it belongs.
        seed: Seed of the lab and the policy.
        policy: Name of the policy.
        started_at: Wall clock, UTC.
    """

    episode_id: str
    campaign_id: str
    seed: int
    policy: str
    started_at: datetime


@dataclass(frozen=True, slots=True)
class CampaignRecord:
    """One campaign and how far it is.

    Attributes:
        campaign_id: Its name in this store, such as ``"c00003"``.
        name: Name in the campaign file.
        status: Running, interrupted, or how it ended.
        status_reason: Why it ended, if that was said.
        config: The campaign file.
        seed: Seed of everything random.
        versions: Package name to version, as they were when it began.
        lab_hash: Fingerprint of the lab's configuration and data.
        task_hash: Fingerprint of the task.
        created_at: Wall clock, UTC.
        finished_at: Wall clock, UTC; None while it has not ended.
        experiments: Number with an outcome.
        pending: Number submitted without an outcome.
        best_value: Highest score of what was carried out; None if nothing was scored.
        best_experiment_id: Which experiment that was.
        lease: Who leads it now, if anyone.
    """

    campaign_id: str
    name: str
    status: CampaignStatus
    status_reason: str | None
    config: CampaignConfig
    seed: int
    versions: Mapping[str, str]
    lab_hash: str
    task_hash: str
    created_at: datetime
    finished_at: datetime | None
    experiments: int
    pending: int
    best_value: float | None
    best_experiment_id: str | None
    lease: Lease | None


@dataclass(frozen=True, slots=True)
class ExperimentRecord:
    """One proposal and what came of it.

    Attributes:
        campaign_id: Where it belongs.
        episode_id: In which episode.
        index: Order of submission in the campaign, from 0.
        experiment_id: Its name in the lab.
        status: ``"pending"``, or the outcome's status.
        proposal: What was asked for.
        outcome: What it gave; None while pending. Its measurements are empty unless asked for.
        score: What the task made of it; None while pending, or if no task scored it.
        extra: What else the recorder wrote down.
        measurement_count: How many measurements the store holds of it.
        completion: Order of recording in the campaign, from 0; None while pending.
        submitted_at: Wall clock, UTC.
        recorded_at: Wall clock of recording, UTC; None while pending.
    """

    campaign_id: str
    episode_id: str
    index: int
    experiment_id: str
    status: OutcomeStatus | Literal["pending"]
    proposal: Proposal
    outcome: Outcome | None
    score: Score | None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    measurement_count: int = 0
    completion: int | None = None
    submitted_at: datetime | None = None
    recorded_at: datetime | None = None
