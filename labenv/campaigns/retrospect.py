"""From the store's records to the summary that tables and reports are made from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labenv.campaigns.comparison import RecipeComparison, compare
from labenv.campaigns.plan_text import count_text, plan_text
from labenv.campaigns.setup import budget_of, goal_task, policy_name
from labenv.campaigns.summary import CampaignSummary, ExperimentRow, StationUse
from labenv_schemas.analysis import ScalarAnalysis
from labenv_schemas.errors import UnknownPluginError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labenv.store import CampaignRecord, ExperimentRecord, Store
    from labenv.tasks import Task
    from labenv_schemas.campaign import Recipe
    from labenv_schemas.outcome import Outcome


def summarise(store: Store, campaign: str) -> CampaignSummary:
    """Read a campaign from the store.

    Args:
        store: Where it is kept.
        campaign: Its id, or anything that `Store.campaign` understands.

    Returns:
        The summary.
    """
    record = store.campaign(campaign)
    experiments = store.experiments(record.campaign_id)
    task = _task(record)
    spec = None if task is None else task.spec
    limit_s = _lab_time_limit_s(record, task)
    return CampaignSummary(
        campaign_id=record.campaign_id,
        name=record.name,
        description=" ".join(record.config.description.split()),
        status=record.status,
        task=record.config.task,
        target="target" if spec is None else spec.target,
        goal_fraction=1.0 if spec is None else spec.goal_fraction,
        policy=policy_name(record.config),
        seed=record.seed,
        parallelism=record.config.parallelism,
        begun_at=record.created_at,
        provenance=_provenance(store, record),
        rows=tuple(_row(record, experiment, limit_s) for experiment in experiments),
        uses=_uses(experiments),
        lab_time_limit_s=limit_s,
    )


def comparisons(store: Store, campaign: str) -> tuple[RecipeComparison, ...]:
    """Set each replayed recipe beside what its authors report.

    Args:
        store: Where the campaign is kept.
        campaign: Its id, or anything that `Store.campaign` understands.

    Returns:
        One comparison a recipe whose outcome is known; none if the campaign replays no recipes.
    """
    record = store.campaign(campaign)
    if not record.config.recipes:
        return ()
    found: list[RecipeComparison] = []
    for experiment in store.experiments(record.campaign_id):
        recipe = _recipe(record, experiment.index)
        if recipe is not None and experiment.outcome is not None:
            found.append(compare(recipe, experiment.outcome))
    return tuple(found)


def goal_of(record: CampaignRecord) -> float | None:
    """Return the score that is success in a campaign.

    Args:
        record: The campaign.

    Returns:
        The score, 0 to 1; None if the task's plug-in is no longer installed.
    """
    task = _task(record)
    return None if task is None else task.spec.goal_fraction


def lab_time_limit_s(record: CampaignRecord) -> float | None:
    """Return the limit of lab time in a campaign's budget, or in its task's.

    Args:
        record: The campaign.

    Returns:
        The limit, s, or None if there is none.
    """
    return _lab_time_limit_s(record, _task(record))


def _task(record: CampaignRecord) -> Task | None:
    """Return the campaign's task, or None if its plug-in is no longer installed."""
    try:
        return goal_task(record.config)
    except UnknownPluginError:
        return None


def _lab_time_limit_s(record: CampaignRecord, task: Task | None) -> float | None:
    budget = record.config.budget if task is None else budget_of(record.config, task)
    return None if budget is None else budget.lab_time_s


def _provenance(store: Store, record: CampaignRecord) -> dict[str, str]:
    packages = ", ".join(f"{name} {version}" for name, version in sorted(record.versions.items()))
    facts = {
        "versions": packages,
        "lab fingerprint": record.lab_hash,
        "task fingerprint": record.task_hash,
        "store": store.location,
        "lab": f"{record.config.lab.system}, {count_text(record.config.lab.furnaces, 'furnace')}, "
        + ("randomised per seed" if record.config.lab.randomise else "nominal"),
    }
    if record.status_reason:
        facts["ended because"] = record.status_reason
    return facts


def _recipe(record: CampaignRecord, index: int) -> Recipe | None:
    recipes = record.config.recipes
    return recipes[index] if index < len(recipes) else None


def _row(
    record: CampaignRecord, experiment: ExperimentRecord, limit_s: float | None
) -> ExperimentRow:
    outcome, score = experiment.outcome, experiment.score
    analysis = None if outcome is None else outcome.phase_analysis
    recipe = _recipe(record, experiment.index)
    phases = () if analysis is None else analysis.phases
    return ExperimentRow(
        index=experiment.index,
        experiment_id=experiment.experiment_id,
        status="running" if outcome is None else outcome.status,
        plan=plan_text(experiment.proposal),
        value=None if score is None else score.value,
        reward=None if score is None else score.reward,
        success=score is not None and score.success,
        submitted_s=0.0 if outcome is None else outcome.submitted_s,
        finished_s=None if outcome is None else outcome.finished_s,
        cost=0.0 if outcome is None else outcome.cost,
        phases=tuple(sorted(phases, key=lambda phase: -phase.weight_fraction)),
        analysis_status=None if analysis is None else analysis.status,
        message=_message(outcome, "" if score is None else score.reason),
        recipe=None if recipe is None else recipe.name,
        late=outcome is not None and limit_s is not None and outcome.finished_s > limit_s,
        numbers=numbers_of(outcome),
    )


def numbers_of(outcome: Outcome | None) -> tuple[ScalarAnalysis, ...]:
    """Return what other measurements than diffraction gave.

    Args:
        outcome: Of an experiment; None if there is none yet.

    Returns:
        The numbers, in the order of the analyses.
    """
    found = () if outcome is None else outcome.analyses
    return tuple(one for one in found if isinstance(one, ScalarAnalysis))


def _message(outcome: Outcome | None, reason: str) -> str:
    if outcome is None:
        return ""
    return outcome.message or reason


def _uses(experiments: Sequence[ExperimentRecord]) -> tuple[StationUse, ...]:
    uses = [
        StationUse(
            station=operation.station,
            index=experiment.index,
            op=operation.op,
            started_s=operation.started_s,
            finished_s=operation.finished_s,
            queued_s=operation.queued_s,
            status=operation.status,
        )
        for experiment in experiments
        if experiment.outcome is not None
        for operation in experiment.outcome.operations
        if operation.status != "skipped"
    ]
    return tuple(sorted(uses, key=lambda use: (use.started_s, use.index)))
