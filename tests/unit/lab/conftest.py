"""Plans for the laboratory's tests."""

from __future__ import annotations

import pytest

from labenv_schemas import Proposal, parse_proposal


def make_plan(
    target="1100 degC", hold="4 h", barium="1.97 g", titania="TiO2 (rutile)", **heat
) -> Proposal:
    return parse_proposal({
        "operations": [
            {
                "op": "dose",
                "precursors": [
                    {"substance": "BaCO3", "mass": barium},
                    {"substance": titania, "mass": "0.8 g"},
                ],
            },
            {"op": "mix", "duration": "2 h"},
            {
                "op": "heat",
                "segments": [{"target": target, "rate": "5 K/min", "hold": hold}],
                **heat,
            },
            {"op": "measure", "two_theta_min_deg": 20, "two_theta_max_deg": 60},
        ]
    })


@pytest.fixture
def plan():
    """Return a function that makes plans."""
    return make_plan
