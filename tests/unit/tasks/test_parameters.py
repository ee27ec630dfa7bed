import numpy as np
import pytest

from labenv.tasks import Categorical, Continuous, Ordinal
from labenv_schemas.errors import ConfigError, ProposalError

TEMPERATURE = Continuous("firing_k", 873.15, 1723.15, "K", resolution=1.0, levels=35)
HOLD = Continuous("hold_s", 1800.0, 86400.0, "s", resolution=60.0, log=True, levels=12)
GAS = Categorical("gas", ("air", "oxygen", "nitrogen"))
PRESSING = Ordinal("pressing_pa", (0.0, 5e7, 2e8), "Pa")


def test_unit_bounds_are_the_bounds():
    for parameter in (TEMPERATURE, HOLD):
        assert parameter.from_unit([0.0, 1.0]).tolist() == [parameter.low, parameter.high]


def test_levels_of_temperature_are_25_k_apart():
    assert np.diff(TEMPERATURE.values_of_levels()) == pytest.approx(np.full(34, 25.0))


def test_values_are_rounded_to_the_resolution():
    value = TEMPERATURE.from_unit(0.12345)
    assert (value - 873.15) % 1.0 == pytest.approx(0.0, abs=1e-6)
    ratio = Continuous("r", 0.9, 1.1, resolution=0.001)
    assert float(ratio.from_unit(0.475)) == 0.995  # the float itself, not its neighbour


def test_logarithmic_steps_are_equal_ratios():
    plain = Continuous("t", 1.0, 100.0, "s", log=True)
    assert float(plain.from_unit(0.5)) == pytest.approx(10.0)
    assert float(plain.to_unit(10.0)) == pytest.approx(0.5)


@pytest.mark.parametrize("parameter", [TEMPERATURE, HOLD, GAS, PRESSING])
def test_unit_of_value_gives_the_value_back(parameter):
    values = parameter.values_of_levels()
    assert np.array_equal(parameter.from_unit(parameter.to_unit(values)), values)


def test_choices_share_the_axis_equally():
    index = GAS.from_unit(np.linspace(0.0, 1.0, 3001))
    assert np.allclose(np.bincount(index.astype(int)) / 3001, 1 / 3, atol=1e-3)


@pytest.mark.parametrize("excess", [1e-9, -1e-9])
def test_rounding_error_is_projected(excess):
    bound = TEMPERATURE.high if excess > 0 else TEMPERATURE.low
    assert float(TEMPERATURE.to_unit(bound * (1 + excess))) in {0.0, 1.0}


@pytest.mark.parametrize("value", [872.0, 1800.0, float("nan"), float("inf")])
def test_value_outside_the_range_is_refused_with_the_range(value):
    with pytest.raises(ProposalError, match=r"firing_k .* lies outside 873.15 to 1723.15 K"):
        TEMPERATURE.to_unit(value)


def test_unknown_choice_names_the_choices():
    with pytest.raises(ProposalError, match="air, oxygen, nitrogen"):
        GAS.index("helium")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Continuous("x", 2.0, 1.0),
        lambda: Continuous("x", 0.0, 1.0, log=True),
        lambda: Continuous("x", 0.0, 1.0, levels=1),
        lambda: Categorical("x", ()),
        lambda: Categorical("x", ("a", "a")),
        lambda: Ordinal("x", (2.0, 1.0)),
    ],
)
def test_senseless_parameters_are_refused(make):
    with pytest.raises(ConfigError):
        make()
