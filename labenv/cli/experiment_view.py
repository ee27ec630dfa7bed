"""One experiment in full, as text and as JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from labenv.campaigns.plan_text import duration_text, plan_text
from labenv.campaigns.score_text import number_text
from labenv.cli.output import print_lines, print_table
from labenv_schemas.analysis import ScalarAnalysis
from labenv_schemas.measurement import (
    CompositionReading,
    DensityReading,
    Diffractogram,
    MagnetisationCurve,
    MassReading,
    ResistanceCurve,
    TemperatureReading,
    Unmeasured,
)

if TYPE_CHECKING:
    from labenv.store import ExperimentRecord
    from labenv_schemas.measurement import Measurement
    from labenv_schemas.outcome import Outcome


_QUANTITY = re.compile(r"(-?\d+\.\d+(?:e[-+]?\d+)?) (\S+)")
_DIGITS = 6


def experiment_json(record: ExperimentRecord) -> dict[str, Any]:
    """Return an experiment with everything the store holds of it, as plain data.

    Args:
        record: The experiment, with measurements.

    Returns:
        What ``labenv show --format json`` prints.
    """
    return {
        "experiment_id": record.experiment_id,
        "campaign_id": record.campaign_id,
        "index": record.index,
        "status": record.status,
        "proposal": _without_noise(record.proposal.model_dump(mode="json", exclude_none=True)),
        "outcome": None if record.outcome is None else record.outcome.model_dump(mode="json"),
        "score": None if record.score is None else record.score.model_dump(mode="json"),
    }


def _without_noise(value: Any) -> Any:  # noqa: ANN401 - plain JSON
    """Return plain data whose quantities lack the last digits, which arithmetic left behind."""
    if isinstance(value, dict):
        return {key: _without_noise(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_noise(item) for item in value]
    found = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    return value if found is None else f"{float(found[1]):.{_DIGITS}g} {found[2]}"


def print_experiment(record: ExperimentRecord) -> None:
    """Write an experiment as text to standard output.

    Args:
        record: The experiment, with measurements.
    """
    print_lines(
        f"experiment {record.experiment_id} (number {record.index} of {record.campaign_id}): "
        f"{record.status.replace('_', ' ')}",
        f"plan: {plan_text(record.proposal)}",
    )
    if record.proposal.rationale:
        print_lines(f"why: {' '.join(record.proposal.rationale.split())}")
    if record.score is not None:
        value = "not scored" if record.score.value is None else f"{record.score.value:.4f}"
        print_lines(f"score: {value}, reward {record.score.reward:+.4f} ({record.score.reason})")
    if record.outcome is None:
        print_lines("its outcome is not known yet")
        return
    _print_outcome(record.outcome, said="" if record.score is None else record.score.reason)


def _print_outcome(outcome: Outcome, said: str) -> None:
    if outcome.message and outcome.message != said:
        print_lines(f"message: {outcome.message}")
    print_lines(*(f"warning: {warning}" for warning in outcome.warnings))
    if outcome.operations:
        rows = [
            {
                "op": operation.op.replace("_", " "),
                "station": operation.station,
                "started": duration_text(operation.started_s),
                "took": duration_text(operation.finished_s - operation.started_s),
                "waited": duration_text(operation.started_s - operation.queued_s),
                "cost": f"{operation.cost:.1f}",
                "status": operation.message or operation.status,
            }
            for operation in outcome.operations
        ]
        columns = {"op": "operation", "station": "station", "started": "started after"}
        columns |= {name: name for name in ("took", "waited", "cost", "status")}
        print_lines("")
        print_table(rows, columns, numbers=frozenset({"started", "took", "waited", "cost"}))
    if outcome.measurements:
        print_lines("", *(f"measured: {_measured(item)}" for item in outcome.measurements))
    numbers = [one for one in outcome.analyses if isinstance(one, ScalarAnalysis)]
    if numbers:
        print_lines("", *(f"found: {number_text(number)}" for number in numbers))
    analysis = outcome.phase_analysis
    if analysis is not None:
        print_lines(
            "",
            f"phases ({analysis.status.replace('_', ' ')}, R_wp {analysis.r_wp:.3f}, goodness of "
            f"fit {analysis.goodness_of_fit:.2f}):",
            *(
                f"  {phase.name} ({phase.formula}): {phase.weight_fraction:.4f} "
                f"± {phase.uncertainty:.4f}"
                for phase in sorted(analysis.phases, key=lambda phase: -phase.weight_fraction)
            ),
        )


def _measured(measurement: Measurement) -> str:
    match measurement:
        case Diffractogram():
            angle = measurement.two_theta_deg
            said = (
                f"diffractogram, {angle.size} points from {angle[0]:g} to {angle[-1]:g} degrees 2θ"
            )
        case MassReading():
            weighed = f" of {measurement.substance}" if measurement.substance else ""
            said = f"mass{weighed}, {measurement.mass_kg * 1e3:.5g} g"
        case TemperatureReading():
            said = f"highest temperature, {measurement.temperature_k - 273.15:.0f} °C"
        case ResistanceCurve() | MagnetisationCurve():
            t = measurement.temperature_k
            named = measurement.kind.replace("_", " ")
            said = f"{named}, {t.size} readings from {t.min():.4g} to {t.max():.4g} K"
        case DensityReading():
            said = f"density, {measurement.density_kg_m3:.1f} kg/m³"
        case CompositionReading():
            said = f"composition by {measurement.technique.upper()}"
        case Unmeasured():
            said = f"{measurement.technique}: nothing, {measurement.reason}"
        case _:
            said = measurement.kind.replace("_", " ")
    flags = ", ".join(flag.message for flag in measurement.flags)
    return f"{said} ({flags})" if flags else said
