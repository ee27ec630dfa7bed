"""From rows to vocabulary models, bit for bit what was recorded."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from labenv.store.arrays import PackedArray, unpack
from labenv.store.models import (
    Analysis,
    ArrayBlob,
    Experiment,
    Measurement,
    MeasurementArray,
    Operation,
    Reward,
)
from labenv.store.names import campaign_name, episode_name
from labenv.store.records import ExperimentRecord
from labenv_schemas.base import parse
from labenv_schemas.errors import StoreError
from labenv_schemas.outcome import Outcome, Score
from labenv_schemas.proposal import Proposal

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray
    from sqlalchemy import Connection

    Parts = dict[int, list[Any]]


def restore_experiments(
    connection: Connection, numbers: Sequence[int], *, with_measurements: bool
) -> list[ExperimentRecord]:
    """Read experiments.

    Args:
        connection: In a reading transaction.
        numbers: Of the rows, a few hundred at most.
        with_measurements: Whether to load measurements and their arrays.

    Returns:
        The records, in the order of `numbers`.

    Raises:
        StoreError: If a row no longer fits the vocabulary, or an array is damaged.
    """
    rows = {
        row.id: row
        for row in connection.execute(select(Experiment).where(Experiment.id.in_(numbers)))
    }
    operations = _parts(connection, Operation, numbers)
    analyses = _parts(connection, Analysis, numbers)
    rewards = {
        row.experiment_id: row
        for row in connection.execute(select(Reward).where(Reward.experiment_id.in_(numbers)))
    }
    measurements = _measurements(connection, numbers) if with_measurements else {}
    counts = {
        row.experiment_id: row.number
        for row in connection.execute(
            select(Measurement.experiment_id, func.count().label("number"))
            .where(Measurement.experiment_id.in_(numbers))
            .group_by(Measurement.experiment_id)
        )
    }
    records: list[ExperimentRecord] = []
    for number in numbers:
        row = rows[number]
        outcome = None
        if row.completion is not None:
            outcome = _outcome(
                row,
                operations=operations.get(number, []),
                measurements=measurements.get(number, []),
                analyses=analyses.get(number, []),
            )
        records.append(
            ExperimentRecord(
                campaign_id=campaign_name(row.campaign_id),
                episode_id=episode_name(row.episode_id),
                index=row.position,
                experiment_id=row.name,
                status=row.status,
                proposal=parse(Proposal, row.proposal, StoreError),
                outcome=outcome,
                score=_score(rewards.get(number)),
                extra=row.extra or {},
                measurement_count=counts.get(number, 0),
                completion=row.completion,
                submitted_at=row.submitted_at,
                recorded_at=row.recorded_at,
            )
        )
    return records


def _parts(connection: Connection, table: Any, numbers: Sequence[int]) -> Parts:  # noqa: ANN401
    query = (
        select(table)
        .where(table.experiment_id.in_(numbers))
        .order_by(table.experiment_id, table.position)
    )
    parts: Parts = defaultdict(list)
    for row in connection.execute(query):
        parts[row.experiment_id].append(row)
    return parts


def _measurements(connection: Connection, numbers: Sequence[int]) -> dict[int, list[Any]]:
    """Return plain measurements with their arrays, by experiment."""
    query = (
        select(MeasurementArray, ArrayBlob)
        .join(ArrayBlob, ArrayBlob.digest == MeasurementArray.digest)
        .where(MeasurementArray.experiment_id.in_(numbers))
    )
    unpacked: dict[str, NDArray[np.float64]] = {}
    channels: dict[tuple[int, int], dict[str, NDArray[np.float64]]] = defaultdict(dict)
    for row in connection.execute(query):
        if row.digest not in unpacked:
            unpacked[row.digest] = unpack(
                PackedArray(row.digest, row.dtype, row.shape, row.encoding, row.data)
            )
        channels[row.experiment_id, row.position][row.channel] = unpacked[row.digest]
    return {
        number: [
            {
                **row.body,
                "kind": row.kind,
                "instrument": row.instrument,
                "measured_at": row.measured_at,
                "lab_time_s": row.lab_time_s,
                **channels.get((number, row.position), {}),
            }
            for row in rows
        ]
        for number, rows in _parts(connection, Measurement, numbers).items()
    }


def _outcome(
    row: Any,  # noqa: ANN401 - a row
    *,
    operations: list[Any],
    measurements: list[Any],
    analyses: list[Any],
) -> Outcome:
    content = {
        "experiment_id": row.name,
        "status": row.status,
        "message": row.message,
        "sample": row.sample,
        "operations": [
            {
                "index": part.plan_index,
                "op": part.op,
                "station": part.station,
                "status": part.status,
                "queued_s": part.queued_s,
                "started_s": part.started_s,
                "finished_s": part.finished_s,
                "cost": part.cost,
                "message": part.message,
            }
            for part in operations
        ],
        "measurements": measurements,
        "analyses": [part.body for part in analyses],
        "warnings": row.warnings or [],
        "cost": row.cost,
        "submitted_s": row.submitted_s,
        "finished_s": row.finished_s,
        "recorded_at": row.outcome_at,
    }
    return parse(Outcome, content, StoreError)


def _score(row: Any) -> Score | None:  # noqa: ANN401 - a row
    if row is None:
        return None
    return Score(value=row.value, reward=row.reward, reason=row.reason, success=row.success)
