"""Everything that one proposal gave."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from labenv_schemas.analysis import Analysis, PhaseAnalysis
from labenv_schemas.base import KeepsNone, Model
from labenv_schemas.measurement import Measurement, UtcDatetime
from labenv_schemas.sample import Sample

OutcomeStatus = Literal["ok", "invalid", "failed_machine", "failed_chemistry", "cancelled"]


class OperationRecord(Model):
    """When and where one operation of the plan ran, and what it cost."""

    index: int = Field(ge=0, description="Place in the plan, from 0.")
    op: str = Field(description="Kind of operation.")
    station: str = Field(description="Where it ran.")
    status: Literal["ok", "failed", "cancelled", "skipped"] = Field(
        default="ok", description="How it ended."
    )
    queued_s: float = Field(ge=0.0, description="Lab clock when the sample began to wait, s.")
    started_s: float = Field(ge=0.0, description="Lab clock at the start, s.")
    finished_s: float = Field(ge=0.0, description="Lab clock at the end, s.")
    cost: float = Field(ge=0.0, description="In the lab's currency.")
    message: str | None = Field(default=None, description="Why, if it did not end well.")


class Outcome(Model):
    """Everything one proposal gave: measurements, analyses, cost, lab time, status.

    `invalid` is the policy's fault and `message` tells the policy what to change;
    `failed_chemistry` is a lesson about matter (it melted, it ate the crucible); `failed_machine`
    teaches nothing about the proposal and must not be scored.
    """

    experiment_id: str = Field(description="Identity of the experiment.")
    status: OutcomeStatus = Field(description="How it ended.")
    message: str | None = Field(default=None, description="Why, unless the status is ok.")
    sample: Sample | None = Field(default=None, description="What was made.")
    operations: tuple[OperationRecord, ...] = Field(default=(), description="What was done.")
    measurements: tuple[Measurement, ...] = Field(default=(), description="What was measured.")
    analyses: tuple[Analysis, ...] = Field(default=(), description="What was concluded.")
    warnings: tuple[str, ...] = Field(default=(), description="What a reader must know.")
    cost: float = Field(default=0.0, ge=0.0, description="In the lab's currency.")
    submitted_s: float = Field(default=0.0, ge=0.0, description="Lab clock at submission, s.")
    finished_s: float = Field(default=0.0, ge=0.0, description="Lab clock at the end, s.")
    recorded_at: UtcDatetime | None = Field(default=None, description="Wall clock, UTC.")

    @model_validator(mode="after")
    def _says_why(self) -> Outcome:
        if self.status != "ok" and not self.message:
            raise ValueError(f"an outcome with status {self.status} needs a message that says why")
        return self

    @property
    def phase_analysis(self) -> PhaseAnalysis | None:
        """The last phase analysis, or None."""
        for analysis in reversed(self.analyses):
            if isinstance(analysis, PhaseAnalysis):
                return analysis
        return None


class Score(KeepsNone, Model):
    """What a task makes of an outcome."""

    value: float | None = Field(
        description="Measured merit in [0, 1]; null if the outcome must not be scored."
    )
    reward: float = Field(description="Step reward.")
    reason: str = Field(default="", description="Why this value.")
    success: bool = Field(default=False, description="Whether the goal was reached.")
