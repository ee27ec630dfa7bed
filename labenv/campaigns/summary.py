"""What a campaign came to: the plain record that the final table and the report are made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from labenv_schemas.analysis import PhaseFraction, ScalarAnalysis


@dataclass(frozen=True)
class ExperimentRow:
    """One experiment of a campaign, as the final table shows it.

    Attributes:
        index: Order of submission, from 0.
        experiment_id: Name in the store.
        status: Of the outcome, or ``"running"``.
        plan: The proposal in one line.
        value: Score in [0, 1]: what the measurement shows of the target; None if it must not be
            scored.
        reward: Step reward; None while running.
        success: Whether the goal was reached.
        submitted_s: Lab clock, s.
        finished_s: Lab clock, s; None while running.
        cost: In the lab's currency.
        phases: Measured phase fractions, largest first.
        analysis_status: Of the last analysis, or None.
        message: Why the outcome is not ``ok``, or why the score is what it is.
        recipe: Name of the published recipe that was replayed, if one was.
        late: Whether it finished after the limit of lab time, and is therefore not scored.
        numbers: What other measurements than diffraction gave, such as a critical temperature.
    """

    index: int
    experiment_id: str
    status: str
    plan: str
    value: float | None
    reward: float | None
    success: bool
    submitted_s: float
    finished_s: float | None
    cost: float
    phases: tuple[PhaseFraction, ...] = ()
    analysis_status: str | None = None
    message: str = ""
    recipe: str | None = None
    late: bool = False
    numbers: tuple[ScalarAnalysis, ...] = ()

    @property
    def status_text(self) -> str:
        """The status in words; of what came after the limit, ``late`` and what else it is.

        Such as ``"ok"``, ``"failed machine"``, ``"late"`` or ``"late, failed machine"``.
        """
        if self.late:
            return "late" if self.status == "ok" else f"late, {self.status.replace('_', ' ')}"
        return self.status.replace("_", " ")


@dataclass(frozen=True)
class StationUse:
    """One operation at one station, for the timeline.

    Attributes:
        station: Name of the station.
        index: Of the experiment.
        op: Kind of the operation.
        started_s: Lab clock, s.
        finished_s: Lab clock, s.
        queued_s: Lab clock when the sample began to wait, s.
        status: ``ok``, ``failed``, ``cancelled`` or ``skipped``.
    """

    station: str
    index: int
    op: str
    started_s: float
    finished_s: float
    queued_s: float
    status: str


@dataclass(frozen=True)
class CampaignSummary:
    """A campaign at a glance.

    Attributes:
        campaign_id: Name in the store.
        name: From the campaign file.
        description: From the campaign file.
        status: ``running``, ``finished``, ``interrupted``, ...
        task: Name of the task.
        target: Formula of the target.
        goal_fraction: Score that counts as success.
        policy: Name of the policy, or ``"recipes"``.
        seed: Of the campaign.
        parallelism: Proposals in flight at most.
        begun_at: Wall clock, UTC.
        provenance: Versions and hashes.
        rows: Experiments in order of submission.
        uses: Operations in order of start.
        lab_time_limit_s: Limit of lab time in the budget, s, if it has one.
    """

    campaign_id: str
    name: str
    description: str
    status: str
    task: str
    target: str
    goal_fraction: float
    policy: str
    seed: int
    parallelism: int
    begun_at: datetime | None = None
    provenance: dict[str, str] = field(default_factory=dict[str, str])
    rows: tuple[ExperimentRow, ...] = ()
    uses: tuple[StationUse, ...] = ()
    lab_time_limit_s: float | None = None

    @property
    def best(self) -> ExperimentRow | None:
        """The experiment of highest score, the earliest of equals; None if nothing was measured."""
        scored = [row for row in self.rows if row.value is not None and row.status == "ok"]
        return max(scored, key=lambda row: (row.value or 0.0, -row.index), default=None)

    @property
    def finished_rows(self) -> tuple[ExperimentRow, ...]:
        """Experiments with an outcome, in the order in which the outcomes came."""
        done = [row for row in self.rows if row.finished_s is not None]
        return tuple(sorted(done, key=lambda row: (row.finished_s or 0.0, row.index)))

    @property
    def lab_time_s(self) -> float:
        """Lab clock at the last outcome, s."""
        return max((row.finished_s or 0.0 for row in self.rows), default=0.0)

    @property
    def cost(self) -> float:
        """Sum over the experiments, in the lab's currency."""
        return sum(row.cost for row in self.rows)

    @property
    def late_rows(self) -> tuple[ExperimentRow, ...]:
        """Experiments that finished after the limit of lab time."""
        return tuple(row for row in self.rows if row.late)

    def best_so_far(self) -> list[tuple[ExperimentRow, float]]:
        """Return the highest score known after each scored outcome.

        Returns:
            Pairs of the experiment and the best value then, in order of outcomes.
        """
        curve: list[tuple[ExperimentRow, float]] = []
        best = 0.0
        for row in self.finished_rows:
            if row.value is not None:
                best = max(best, row.value)
                curve.append((row, best))
        return curve
