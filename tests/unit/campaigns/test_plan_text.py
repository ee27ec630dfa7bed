"""Plans and quantities in words."""

from __future__ import annotations

import pytest

from labenv.campaigns.plan_text import celsius_text, duration_text, plan_text
from labenv_schemas import parse_proposal


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (45.0, "45 s"),
        (1800.0, "30 min"),
        (3600.0, "1 h"),
        (23_400.0, "6.5 h"),
        (276_480.0, "3.2 d"),
        (86_400.0 * 365, "365 d"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_temperatures_are_in_celsius() -> None:
    assert celsius_text(1373.15) == "1100 °C"


def test_a_plan_fits_one_line() -> None:
    plan = parse_proposal({
        "operations": [
            {
                "op": "dose",
                "precursors": [
                    {"substance": "BaCO3", "amount": "12.5 mmol"},
                    {"substance": "TiO2 (rutile)", "mass": "1 g"},
                ],
            },
            {"op": "mix", "method": "ball_mill", "duration": "2 h"},
            {"op": "press", "pressure": "50 MPa"},
            {
                "op": "heat",
                "segments": [
                    {"target": "900 degC", "hold": "4 h"},
                    {"target": "1100 degC", "hold": "30 min"},
                ],
                "atmosphere": "carbon_dioxide",
                "cooling": "quench",
            },
            {"op": "regrind"},
            {
                "op": "heat",
                "segments": [{"target": "1100 degC"}],
                "atmosphere": {"o2": "10 Pa"},
                "cooling": {"rate": "2 K/min"},
            },
            {"op": "measure"},
        ]
    })
    assert plan_text(plan) == (
        "12.5 mmol BaCO3 + 1 g TiO2 (rutile), ball mill 2 h, press 50 MPa, "
        "900 °C 4 h → 1100 °C 30 min in CO₂, quench, regrind 15 min, "
        "1100 °C 0 s in O₂ 10 Pa / CO₂ 0.1 Pa, cooled at 2 K/min"
    )


def test_what_is_done_several_times_is_written_once() -> None:
    fire = {"op": "heat", "segments": [{"target": "900 degC", "hold": "1 h"}]}
    regrind = {"op": "regrind"}
    plan = parse_proposal({
        "operations": [
            {"op": "dose", "precursors": [{"substance": "BaCO3", "mass": "1 g"}]},
            fire,
            regrind,
            fire,
            regrind,
            fire,
            {"op": "measure"},
        ]
    })
    assert (
        plan_text(plan) == "1 g BaCO3, 2 × (900 °C 1 h in air, regrind 15 min), 900 °C 1 h in air"
    )
