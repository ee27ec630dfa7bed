"""Scans that leave out what would tell the phases apart."""

from __future__ import annotations

import pytest

from labenv.lab import Lab
from labenv.tasks import Session, make_task
from labenv_schemas import LabConfig, parse_proposal


def outcome_of(low: float, high: float, step: float):
    plan = parse_proposal({
        "operations": [
            {
                "op": "dose",
                "precursors": [
                    {"substance": "BaCO3", "amount": "12.5 mmol"},
                    {"substance": "TiO2 (anatase)", "amount": "12.5 mmol"},
                ],
            },
            {"op": "mix", "duration": "1 h"},
            {"op": "heat", "segments": [{"target": "1000 degC", "hold": "2 h"}]},
            {
                "op": "measure",
                "two_theta_min_deg": low,
                "two_theta_max_deg": high,
                "step_deg": step,
            },
        ]
    })
    session = Session(make_task("batio3-synthesis"), Lab(LabConfig(), seed=1))
    session.submit(plan)
    return session.collect("all")[0]


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [
        (5, 10, 0.02),
        (5, 18, 0.05),
        (5, 26, 0.05),
        (10, 20, 0.05),
        (40, 41, 0.005),
        (29, 30.5, 0.01),
    ],
)
def test_a_range_without_a_phases_strong_lines_tells_nothing(low, high, step):
    result = outcome_of(low, high, step)
    (analysis,) = result.outcome.analyses
    assert analysis.status == "unidentified"
    assert all(phase.weight_fraction == 0.0 for phase in analysis.phases)
    assert "no strong line of" in analysis.warnings[0]
    assert "widen it" in analysis.warnings[0]
    assert result.score.value == 0.0


def test_a_range_with_the_strong_lines_does():
    (analysis,) = outcome_of(15, 60, 0.03).outcome.analyses
    assert analysis.status == "ok"
    assert analysis.warnings == ()
