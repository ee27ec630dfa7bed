"""Proposals and outcomes with something in every field, for conformance suites."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from labenv_schemas.analysis import PhaseAnalysis, PhaseFraction, ResidualPeak, ScalarAnalysis
from labenv_schemas.measurement import (
    CompositionReading,
    DensityReading,
    Diffractogram,
    InstrumentIdentity,
    MagnetisationCurve,
    MassReading,
    Measurement,
    QualityFlag,
    Radiation,
    ResistanceCurve,
    Spectrum,
    TemperatureReading,
    Unmeasured,
)
from labenv_schemas.outcome import OperationRecord, Outcome
from labenv_schemas.proposal import Proposal, parse_proposal
from labenv_schemas.sample import Sample, SampleEvent

PROPOSAL: Proposal = parse_proposal({
    "operations": [
        {
            "op": "dose",
            "precursors": [
                {"substance": "BaCO3", "mass": "1.973 g"},
                {"substance": "TiO2 (anatase)", "amount": "0.01 mol"},
            ],
        },
        {"op": "mix", "duration": "30 min"},
        {
            "op": "heat",
            "segments": [
                {"target": "1100 degC", "rate": "5 K/min", "hold": "6 h"},
                {"target": "0.7 kK"},
            ],
            "atmosphere": {"o2": "0.2 bar", "co2": "40 Pa"},
        },
        {"op": "measure", "scan_time": "8 min"},
    ],
    "rationale": "Solid-state route.",
})

OTHER_PROPOSAL: Proposal = parse_proposal({
    "operations": [
        {"op": "dose", "precursors": [{"substance": "BaO", "mass": "3 g"}]},
        {"op": "press", "pressure": "100 MPa"},
        {"op": "regrind"},
        {"op": "measure"},
    ],
})

_MOMENT = datetime(2026, 3, 1, 12, 0, 0, 1, tzinfo=UTC)
_DIFFRACTOMETER = InstrumentIdentity(
    station="diffractometer",
    model="twin",
    serial="0",
    driver="powder_diffractometer",
    driver_version="1",
    simulated=True,
)


def diffractogram(seed: int = 0) -> Diffractogram:
    """Return a scan of 1,000 points with one peak and counting noise."""
    two_theta_deg = np.linspace(10.0, 40.0, 1000)
    peak = 1000.0 * np.exp(-((two_theta_deg - 31.5) ** 2) / 0.02)
    counts = np.random.default_rng(seed).poisson(200.0 + peak).astype(np.float64)
    return Diffractogram(
        two_theta_deg=two_theta_deg,
        counts=counts,
        counting_time_s=0.48,
        radiation=Radiation(k_alpha2_a=None),
        instrument=_DIFFRACTOMETER,
        sample_id="s-1",
        measured_at=_MOMENT,
        lab_time_s=1e5 / 3.0,
        flags=(QualityFlag(code="low_counts", message="Fewer than 1,000 counts at the peak."),),
        provenance={"stream": "powder_diffractometer/0/3"},
    )


def every_measurement(seed: int = 0) -> tuple[Measurement, ...]:
    """Return one measurement of every kind."""
    temperature_k = 300.0 + np.cumsum(np.random.default_rng(seed).uniform(size=17))
    awkward = np.array([-0.0, 5e-324, 1.7976931348623157e308, 0.1, 1.0 / 3.0])
    return (
        diffractogram(seed),
        ResistanceCurve.model_validate({
            "temperature_k": temperature_k,
            "resistance_ohm": temperature_k / 3.0,
            "field_t": 0.02,
            "current_a": 1e-3,
        }),
        MagnetisationCurve(temperature_k=temperature_k[:5], field_t=awkward, moment_a_m2=-awkward),
        MassReading.model_validate({
            "mass_kg": 1.9734e-3,
            "standard_uncertainty_kg": 1e-7,
            "substance": "BaCO3",
        }),
        TemperatureReading.model_validate({
            "temperature_k": 1374.45,
            "standard_uncertainty_k": 1.5,
        }),
        DensityReading(density_kg_m3=6012.5, standard_uncertainty_kg_m3=7.25),
        CompositionReading(
            elements=("Ba", "O"),
            mass_fraction=np.array([0.9, 0.1]),
            standard_uncertainty=np.array([0.01, 0.015]),
            blind_to=("H", "Li"),
        ),
        Unmeasured(technique="resistance", reason="nobody knows how it conducts"),
        Spectrum(
            technique="eds",
            axis=np.arange(5.0),
            axis_unit="keV",
            intensity=np.array([0.0, 3.0, 70000.0, 2.0**31, 1.0]),
            intensity_unit="counts",
        ),
    )


def outcome(experiment_id: str, *, seed: int = 0) -> Outcome:
    """Return an outcome with something in every field."""
    return Outcome(
        experiment_id=experiment_id,
        status="ok",
        sample=Sample(
            sample_id="s-1",
            experiment_id=experiment_id,
            history=(
                SampleEvent(operation="heat", station="furnace-1", started_s=0.1, finished_s=2.0),
            ),
        ),
        operations=tuple(
            OperationRecord(
                index=index,
                op=operation.op,
                station=f"{operation.op}-1",
                queued_s=10.0 * index,
                started_s=10.0 * index + 0.1,
                finished_s=10.0 * index + 1.0 / 3.0,
                cost=1.1,
                message="slow" if index else None,
            )
            for index, operation in enumerate(PROPOSAL.operations)
        ),
        measurements=every_measurement(seed),
        analyses=(
            PhaseAnalysis(
                status="ok",
                phases=(
                    PhaseFraction(
                        name="batio3", formula="BaTiO3", weight_fraction=0.875, uncertainty=0.01
                    ),
                    PhaseFraction(
                        name="ba2tio4", formula="Ba2TiO4", weight_fraction=0.125, uncertainty=0.02
                    ),
                ),
                goodness_of_fit=1.3,
                r_wp=0.09,
                residual_peaks=(ResidualPeak(two_theta_deg=24.1, height=30.0, significance=4.2),),
                method="full pattern",
            ),
            ScalarAnalysis(quantity="t_c", value=393.0, uncertainty=1.0, unit="K"),
        ),
        warnings=("The furnace was 12 K off.",),
        cost=4.4,
        submitted_s=0.0,
        finished_s=1e5 / 3.0,
        recorded_at=_MOMENT,
    )
