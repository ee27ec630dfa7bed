"""From vocabulary models to rows, made before the transaction that writes them begins."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labenv.store.arrays import PackedArray, pack
from labenv.store.plain import arrays_in, plain
from labenv.store.types import to_json
from labenv_schemas.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv_schemas.measurement import Measurement
    from labenv_schemas.outcome import Outcome, Score
    from labenv_schemas.proposal import Proposal

# Wall-clock times differ when a campaign is resumed and an outcome recorded again.
_WALL_CLOCK = frozenset({"recorded_at", "measured_at"})
_IN_TABLES = frozenset({"operations", "measurements", "analyses"})

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ExperimentRows:
    """One experiment, ready to be written; rows lack the experiment's number.

    Attributes:
        digest: Of all that must not differ when the experiment is recorded again.
        proposal_digest: Of the proposal.
        outcome: Columns of the experiment.
        operations: Rows of `operation`.
        measurements: Rows of `measurement`.
        channels: Rows of `measurement_array`.
        arrays: By digest, in order of it: the order in which every process inserts them.
        analyses: Rows of `analysis`.
        reward: Row of `reward`, if the outcome was scored.
    """

    digest: str
    proposal_digest: str
    outcome: Row
    operations: list[Row]
    measurements: list[Row]
    channels: list[Row]
    arrays: dict[str, PackedArray]
    analyses: list[Row]
    reward: Row | None


def proposal_digest(proposal: Proposal) -> str:
    """Return the fingerprint of a proposal."""
    return _digest(plain(proposal))


def experiment_rows(
    proposal: Proposal, outcome: Outcome, score: Score | None, extra: Mapping[str, Any] | None
) -> ExperimentRows:
    """Turn an experiment into rows.

    Args:
        proposal: What was asked for.
        outcome: What it gave.
        score: What the task made of it.
        extra: What else to keep.

    Returns:
        The rows.

    Raises:
        StoreError: If a machine's failure carries a value.
        ValueError: If a number is not finite or `extra` is not JSON.
    """
    measurements, channels, arrays = _measurement_rows(outcome.measurements)
    operations = [
        {"position": position, "plan_index": fields.pop("index"), **fields}
        for position, fields in enumerate(plain(record) for record in outcome.operations)
    ]
    analyses = [
        {"position": position, "kind": analysis.kind, "status": analysis.status, "body": body}
        for position, (analysis, body) in enumerate(
            (analysis, plain(analysis)) for analysis in outcome.analyses
        )
    ]
    reward = None if score is None else _reward_row(outcome, score)
    content = {
        "outcome": plain(outcome, without=_IN_TABLES | _WALL_CLOCK),
        "operations": operations,
        "measurements": [_timeless(row) for row in measurements],
        "channels": channels,
        "analyses": analyses,
        "reward": reward,
        "extra": None if extra is None else _plain_extra(extra),
    }
    columns: Row = {
        "status": outcome.status,
        "message": outcome.message,
        "sample": None if outcome.sample is None else plain(outcome.sample),
        "warnings": list(outcome.warnings),
        "extra": content["extra"],
        "cost": outcome.cost,
        "submitted_s": outcome.submitted_s,
        "finished_s": outcome.finished_s,
        "outcome_at": outcome.recorded_at,
    }
    return ExperimentRows(
        digest=_digest(content),
        proposal_digest=proposal_digest(proposal),
        outcome=columns,
        operations=operations,
        measurements=measurements,
        channels=channels,
        arrays=dict(sorted(arrays.items())),
        analyses=analyses,
        reward=reward,
    )


def _measurement_rows(
    measurements: tuple[Measurement, ...],
) -> tuple[list[Row], list[Row], dict[str, PackedArray]]:
    rows: list[Row] = []
    channels: list[Row] = []
    arrays: dict[str, PackedArray] = {}
    for position, measurement in enumerate(measurements):
        own_arrays = arrays_in(measurement)
        in_columns = {"kind", "instrument", "measured_at", "lab_time_s"}
        rows.append({
            "position": position,
            "kind": measurement.kind,
            "instrument": None if measurement.instrument is None else plain(measurement.instrument),
            "measured_at": measurement.measured_at,
            "lab_time_s": measurement.lab_time_s,
            "body": plain(measurement, without=in_columns | own_arrays.keys()),
        })
        for channel, array in own_arrays.items():
            packed = pack(array)
            arrays[packed.digest] = packed
            channels.append({"position": position, "channel": channel, "digest": packed.digest})
    return rows, channels, arrays


def _reward_row(outcome: Outcome, score: Score) -> Row:
    if outcome.status == "failed_machine" and score.value is not None:
        raise StoreError(
            f"experiment {outcome.experiment_id}: a machine's failure says nothing about the "
            f"proposal and cannot have the value {score.value:g}; record value None and a reason"
        )
    reason = score.reason
    if score.value is None and not reason:
        reason = f"not scored: {outcome.status}: {outcome.message or 'no reason was given'}"
    return {
        "value": score.value,
        "reason": reason,
        "reward": score.reward,
        "success": score.success,
    }


def _plain_extra(extra: Mapping[str, Any]) -> Any:  # noqa: ANN401 - plain JSON
    to_json({
        "extra": dict(extra)
    })  # refuses what contains itself, which `plain` would follow for ever
    return plain(dict(extra))


def _timeless(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in _WALL_CLOCK}


def _digest(content: object) -> str:
    return hashlib.sha256(to_json(content).encode()).hexdigest()
