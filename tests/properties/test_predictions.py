"""Properties of predictions: any mixture of known substances gives shares or an error of labenv."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labenv.physics.networks import Surroundings
from labenv.physics.prediction import Firing, predict
from labenv.physics.systems import reagents
from labenv.physics.thermochemistry.sources import substance_table
from labenv_schemas.errors import LabEnvError

PRESSURES_PA = st.one_of(st.just(0.0), st.floats(-6.0, 5.0).map(lambda x: 10.0**x))


@cache
def names() -> tuple[str, ...]:
    """Return powders of the shelf, then all solids of few elements."""
    few = [s.name for s in substance_table().substances.values() if len(s.elements) <= 3]
    return (*dict.fromkeys(row["name"] for row in reagents()["bottles"]), *few)


@st.composite
def firings(draw: st.DrawFn) -> Firing:
    """Return firings of one or two substances."""
    chosen = draw(st.lists(st.sampled_from(names()), min_size=1, max_size=2, unique=True))
    return Firing(
        amounts_mol={name: 10.0 ** draw(st.floats(-3.0, 3.0)) for name in chosen},
        temperature_k=draw(st.floats(300.0, 1780.0)),
        hold_s=10.0 ** draw(st.floats(1.0, 5.0)),
        rate_k_per_s=10.0 ** draw(st.floats(-1.5, 1.5)),
        surroundings=Surroundings(
            o2_pa=draw(PRESSURES_PA),
            co2_pa=draw(PRESSURES_PA),
            h2o_pa=draw(PRESSURES_PA),
            other_pa=draw(PRESSURES_PA),
            vessel=draw(st.sampled_from(("covered", "open", "vacuum"))),
        ),
        draws=2,
    )


@given(firing=firings())
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_prediction_adds_up_or_says_why_there_is_none(firing: Firing) -> None:
    try:
        prediction = predict(firing)
    except LabEnvError:
        return
    if not prediction.in_domain:
        assert prediction.notes
        return
    for i, share in enumerate(("weight_fraction", "held", "equilibrium")):
        shares = [getattr(phase, share) for phase in prediction.phases]
        assert all(0.0 <= x <= 1.0 + 1e-9 for x in shares)
        total = sum(shares) + prediction.others[i]
        gone = prediction.residue == 0.0 and total == pytest.approx(0.0, abs=1e-9)
        assert gone or total == pytest.approx(1.0, abs=1e-6)
    assert prediction.mass_change >= -1.0 - 1e-9
