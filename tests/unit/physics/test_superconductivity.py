"""Critical temperatures against published values; unknown materials stay unknown."""

from __future__ import annotations

import numpy as np
import pytest

from labenv.physics.superconductivity import (
    CriticalTemperature,
    UnknownCriticalTemperature,
    allen_dynes_tc,
    critical_temperature,
    dome_tc,
    lsco_tc,
    mcmillan_tc,
    nb3sn_tc,
    pair_breaking_tc,
    superconductors,
    ybco_tc,
)
from labenv_schemas.errors import ProposalError
from labenv_schemas.formula import parse_formula


def test_lead_by_allen_and_dynes() -> None:
    # Allen & Dynes 1975: lambda 1.55, omega_log 56 K, omega_2 65 K, mu* 0.105; measured 7.2 K
    assert float(allen_dynes_tc(56.0, 1.55, 0.105, 65.0)) == pytest.approx(7.27, abs=0.05)
    assert float(allen_dynes_tc(56.0, 1.55, 0.105)) == pytest.approx(7.09, abs=0.01)  # f2 = 1


def test_allen_and_dynes_turns_into_the_exponential_at_weak_coupling() -> None:
    weak = allen_dynes_tc(300.0, np.array([0.2, 0.35, 0.4]), 0.1)
    bare = 300.0 / 1.2 * np.exp(-1.04 * 1.35 / (0.35 - 0.1 * (1 + 0.62 * 0.35)))
    assert weak[1] == pytest.approx(bare, rel=0.02)
    assert (np.diff(weak) > 0).all()
    assert float(allen_dynes_tc(300.0, 0.05, 0.1)) == 0.0


def test_a_shape_factor_raises_lead() -> None:
    # omega_2 of lead is 65 K (Allen & Dynes 1975)
    assert float(allen_dynes_tc(56.0, 1.55, 0.105, 65.0)) > float(allen_dynes_tc(56.0, 1.55, 0.105))


def test_mcmillan_gives_back_his_own_niobium() -> None:
    # McMillan 1968, table II: Nb, Debye 277 K, mu* 0.13, Tc 9.22 K gives lambda 0.82
    assert float(mcmillan_tc(277.0, 0.82, 0.13)) == pytest.approx(9.22, abs=0.3)
    # Al: 428 K, mu* 0.10, lambda 0.38, Tc 1.16 K
    assert float(mcmillan_tc(428.0, 0.38, 0.10)) == pytest.approx(1.16, abs=0.15)
    # Sn: 195 K, mu* 0.10, lambda 0.60, Tc 3.72 K
    assert float(mcmillan_tc(195.0, 0.60, 0.10)) == pytest.approx(3.72, abs=0.1)


def test_the_dome_has_its_top_at_016_and_ends() -> None:
    assert float(dome_tc(0.16, 92.0)) == 92.0
    # superconductivity from about p = 0.05 to 0.27 (Presland 1991)
    np.testing.assert_array_equal(dome_tc(np.array([0.0, 0.045, 0.275, 0.5]), 92.0), 0.0)
    assert float(dome_tc(0.06, 92.0)) > 0.0
    assert float(lsco_tc(0.16)) == 38.0


@pytest.mark.parametrize(("x", "published"), [(0.10, 27.0), (0.20, 32.0), (0.24, 17.0)])
def test_lsco_follows_published_samples(x: float, published: float) -> None:
    # Takagi et al. 1989; Radaelli et al., Phys. Rev. B 49 (1994) 4163, read from the figures
    assert float(lsco_tc(x)) == pytest.approx(published, abs=4.0)


@pytest.mark.parametrize(
    ("y", "published", "tolerance"),
    [
        *((6.3, 0.0, 1.0), (6.5, 52.0, 5.0), (6.6, 59.0, 3.0), (6.7, 61.0, 4.0)),
        *((6.8, 84.0, 5.0), (6.9, 91.0, 2.0), (6.95, 92.0, 1.5), (7.0, 90.6, 2.0)),
    ],
)
def test_ybco_has_two_plateaus(y: float, published: float, tolerance: float) -> None:
    # Jorgensen et al. 1990; Cava et al. 1990
    assert float(ybco_tc(y)) == pytest.approx(published, abs=tolerance)


def test_the_plateaus_are_flatter_than_the_step_between() -> None:
    low, step, high = (
        float(ybco_tc(b) - ybco_tc(a)) for a, b in ((6.58, 6.66), (6.72, 6.80), (6.87, 6.95))
    )
    assert step > 5 * low
    assert step > 5 * high


@pytest.mark.parametrize(("share", "published"), [(0.25, 17.9), (0.18, 6.1), (0.22, 12.15)])
def test_nb3sn_by_its_tin(share: float, published: float) -> None:
    assert float(nb3sn_tc(share)) == pytest.approx(published, abs=0.15)  # Godeke 2006


def test_pair_breaking_starts_and_ends_as_published() -> None:
    # Abrikosov & Gor'kov 1961: initial slope -pi/4, end at alpha = pi Tc0 / (2 e^gamma) = 0.882 Tc0
    slope = (float(pair_breaking_tc(10.0, 0.01)) - 10.0) / 0.01
    assert slope == pytest.approx(-np.pi / 4, rel=5e-3)
    assert float(pair_breaking_tc(10.0, 8.83)) == 0.0
    assert 0.0 < float(pair_breaking_tc(10.0, 8.80)) < 2.0
    assert float(pair_breaking_tc(10.0, 0.0)) == 10.0
    many = pair_breaking_tc(10.0, np.linspace(0.0, 8.8, 40))
    assert (np.diff(many) < 0).all()


@pytest.mark.parametrize(
    ("material", "published"),
    [
        *(("Nb", 9.25), ("Al", 1.18), ("Sn", 3.72), ("Ta", 4.48), ("Hg", 4.15), ("Pb", 7.2)),
        *(("V", 5.4), ("V3Si", 17.1), ("NbN", 16.0), ("Nb3Sn", 18.0), ("MgB2", 39.0)),
        *(("FeSe", 8.0), ("Hg-1223", 133.0), ("La1.84Sr0.16CuO4", 38.0), ("YBa2Cu3O6.93", 92.0)),
    ],
)
def test_the_table_answers_by_formula(material: str, published: float) -> None:
    answer = critical_temperature(material)
    assert isinstance(answer, CriticalTemperature)
    assert answer.tc_k == pytest.approx(published, abs=max(2 * answer.uncertainty_k, 0.01))
    assert answer.source


def test_contents_decide_the_families() -> None:
    poor = critical_temperature("YBa2Cu3O6.3")
    rich = critical_temperature("YBCO", oxygen=6.6)
    parent = critical_temperature("La2CuO4")
    tin = critical_temperature("Nb3Sn", tin_share=0.2)
    assert isinstance(poor, CriticalTemperature)
    assert isinstance(rich, CriticalTemperature)
    assert isinstance(parent, CriticalTemperature)
    assert isinstance(tin, CriticalTemperature)
    assert (poor.tc_k, rich.tc_k, parent.tc_k) == (0.0, 59.0, 0.0)
    assert tin.tc_k == pytest.approx(7.5, abs=0.3)
    assert "1/8" in getattr(critical_temperature("LSCO", doping=0.125), "note", "")


def test_normal_metals_are_not_unknown_and_unknown_is_not_normal() -> None:
    copper = critical_temperature("copper")
    assert isinstance(copper, CriticalTemperature)
    assert copper.tc_k == 0.0
    assert "normal down to" in copper.note
    for strange in ("BaTiO3", "YBa2Cu2O5", "no formula at all"):
        unknown = critical_temperature(strange)
        assert isinstance(unknown, UnknownCriticalTemperature)
        assert "not in the table" in unknown.reason


def test_the_table_is_sound() -> None:
    assert len(superconductors()) >= 40
    for row in superconductors():
        assert parse_formula(row.formula).elements
        assert row.uncertainty_k > 0.0
        assert len(row.source) > 10
        depth = row.penetration_depth_m
        assert depth is None or 5e-9 < depth < 2e-6


@pytest.mark.parametrize("bad", [np.nan, np.inf, 5.9, 7.01])
def test_an_oxygen_content_out_of_range_is_refused(bad: float) -> None:
    with pytest.raises(ProposalError, match="oxygen content"):
        ybco_tc(np.array([6.5, bad]))
    with pytest.raises(ProposalError):
        critical_temperature("YBCO", oxygen=bad)
