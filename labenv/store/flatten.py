"""One experiment as one flat row, with units in the column names.

Columns of the plan count from 1: ``operation_2.op``, ``operation_2.segment_1.target_k``,
``operation_1.precursor_2.mass_kg``. Those of the conclusions name the phase:
``weight_fraction.batio3``; numbers from other measurements end in their unit: ``tc_zero.K``,
``tc_zero_uncertainty.K``, ``tc_zero_status``, of several with one name the last. Lab-clock times
are seconds since the campaign began.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from labenv.store.plain import plain
from labenv_schemas.analysis import ScalarAnalysis

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labenv.store.records import ExperimentRecord
    from labenv_schemas.outcome import Outcome

Cell = str | float | int | bool | None
Flat = dict[str, Cell]

_LEADING = (
    "campaign_id",
    "episode_id",
    "experiment_index",
    "experiment_id",
    "status",
    "late",
    "message",
    "score",
    "reason",
    "reward",
    "success",
    "cost",
    "submitted_lab_s",
    "finished_lab_s",
    "completion",
    "submitted_at_utc",
    "recorded_at_utc",
    "measurements",
    "analysis_status",
    "goodness_of_fit",
    "r_wp",
)
_NUMBERED = {"operations": "operation", "precursors": "precursor", "segments": "segment"}
_OPERATION = re.compile(r"operation_(\d+)\b")


def flatten(record: ExperimentRecord, lab_time_limit_s: float | None = None) -> Flat:
    """Return an experiment as one row.

    Args:
        record: The experiment; measurements are not needed.
        lab_time_limit_s: Lab time after which an outcome is late, s; None for no limit.

    Returns:
        Column name to cell; the leading columns always, the others where they apply.
    """
    row: Flat = dict.fromkeys(_LEADING)
    row |= {
        "campaign_id": record.campaign_id,
        "episode_id": record.episode_id,
        "experiment_index": record.index,
        "experiment_id": record.experiment_id,
        "status": record.status,
        "late": is_late(record, lab_time_limit_s),
        "completion": record.completion,
        "measurements": record.measurement_count,
        "submitted_at_utc": None
        if record.submitted_at is None
        else record.submitted_at.isoformat(),
        "recorded_at_utc": None if record.recorded_at is None else record.recorded_at.isoformat(),
    }
    if record.score is not None:
        score = record.score
        row |= {
            "score": score.value,
            "reason": score.reason or None,
            "reward": score.reward,
            "success": score.success,
        }
    if record.outcome is not None:
        row |= _outcome_cells(record.outcome)
    row |= _cells("", plain(record.proposal))
    row |= _cells("extra", dict(record.extra))
    return row


def is_late(record: ExperimentRecord, lab_time_limit_s: float | None) -> bool | None:
    """Return whether an outcome came after the campaign's limit of lab time.

    Args:
        record: The experiment.
        lab_time_limit_s: The limit, s; None for none.

    Returns:
        Whether it is late; None while there is no outcome.
    """
    if record.outcome is None:
        return None
    return lab_time_limit_s is not None and record.outcome.finished_s > lab_time_limit_s


def ordered_columns(names: Iterable[str]) -> list[str]:
    """Return column names in reading order: the leading ones, the plan, phases, extras.

    Args:
        names: Of the columns of all rows, in order of appearance.

    Returns:
        Each name once.
    """
    others = [name for name in dict.fromkeys(names) if name not in _LEADING]
    return [*_LEADING, *sorted(others, key=_reading_order)]


def _outcome_cells(outcome: Outcome) -> Flat:
    cells: Flat = {
        "message": outcome.message,
        "cost": outcome.cost,
        "submitted_lab_s": outcome.submitted_s,
        "finished_lab_s": outcome.finished_s,
    }
    analysis = outcome.phase_analysis
    if analysis is not None:
        cells |= {
            "analysis_status": analysis.status,
            "goodness_of_fit": analysis.goodness_of_fit,
            "r_wp": analysis.r_wp,
        }
        for phase in analysis.phases:
            cells[f"weight_fraction.{phase.name}"] = phase.weight_fraction
            cells[f"weight_fraction_uncertainty.{phase.name}"] = phase.uncertainty
    for number in outcome.analyses:
        if isinstance(number, ScalarAnalysis):
            cells[f"{number.quantity}.{number.unit}"] = number.value
            cells[f"{number.quantity}_uncertainty.{number.unit}"] = number.uncertainty
            cells[f"{number.quantity}_status"] = number.status
    return cells


def _cells(prefix: str, value: object) -> Flat:
    """Return the leaves of plain data by their dotted place."""
    if isinstance(value, dict):
        cells: Flat = {}
        for key, item in value.items():
            cells |= _cells(f"{prefix}.{key}" if prefix else str(key), item)
        return cells
    if isinstance(value, list):
        cells = {}
        stem, dot, last = prefix.rpartition(".")
        last = _NUMBERED.get(last, last)
        for number, item in enumerate(value, start=1):
            cells |= _cells(f"{stem}{dot}{last}_{number}", item)
        return cells
    if value is None or isinstance(value, (str, float, int)):
        return {} if value is None else {prefix: value}
    return {prefix: str(value)}


def _reading_order(name: str) -> tuple[int, int]:
    operation = _OPERATION.match(name)
    if operation is not None:
        return 0, int(operation.group(1))
    if name.startswith("weight_fraction"):
        return 2, 0
    return (3 if name.startswith("extra.") else 1), 0
