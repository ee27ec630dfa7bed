"""Everything that one proposal gave."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from labenv_schemas.analysis import Analysis, PhaseAnalysis
from labenv_schemas.base import Model
from labenv_schemas.measurement import Measurement, UtcDatetime
from labenv_schemas.sample import Sample

OutcomeStatus = Literal["ok", "invalid", "failed_machine", "failed_chemistry", "cancelled"]


class OperationRecord(Model):
    """When and where one operation of the plan ran, and what it cost."""

    index: int = Field(ge=0)
    op: str
    station: str
    status: Literal["ok", "failed", "cancelled", "skipped"] = "ok"
    queued_s: float = Field(ge=0.0, description="Lab clock when the sample began to wait, s.")
    started_s: float = Field(ge=0.0)
    finished_s: float = Field(ge=0.0)
    cost: float = Field(ge=0.0, description="In the lab's currency.")
    message: str | None = None


class Outcome(Model):
    """Everything one proposal gave: measurements, analyses, cost, lab time, status.

    `invalid` is the policy's fault and `message` tells the policy what to change; `failed_chemistry`
    is a lesson about matter (it melted, it ate the crucible); `failed_machine` teaches nothing about
    the proposal and must not be scored.
    """

    experiment_id: str
    status: OutcomeStatus
    message: str | None = None
    sample: Sample | None = None
    operations: tuple[OperationRecord, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    analyses: tuple[Analysis, ...] = ()
    warnings: tuple[str, ...] = ()
    cost: float = Field(default=0.0, ge=0.0)
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


class Score(Model):
    """What a task makes of an outcome."""

    value: float | None = Field(
        description="Measured merit in [0, 1]; None if the outcome must not be scored."
    )
    reward: float = Field(description="Step reward.")
    reason: str = ""
    success: bool = False
