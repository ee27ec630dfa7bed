"""Critical temperatures: from doping, oxygen content, electron-phonon coupling, disorder, tables.

The relations are arrays in and arrays out. `critical_temperature` answers for one material from
the cited table `data/superconductors.toml` and says `UnknownCriticalTemperature` where nothing is
known: no formula here predicts the critical temperature of a new compound.

It holds one subject, hence its length.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from labenv_schemas.errors import ConfigError, ProposalError
from labenv_schemas.formula import parse_formula

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

LSCO_MAXIMUM_K = 38.0  # Takagi et al., Phys. Rev. B 40 (1989) 2254
OPTIMAL_DOPING = 0.16  # Presland et al., Physica C 176 (1991) 95
# Tc of YBa2Cu3Oy against y: read from the published curves of Jorgensen et al., Phys. Rev. B 41
# (1990) 1863 and Cava et al., Nature 329 (1987) 423; Physica C 165 (1990) 419. Between the plateaus
# samples of different ordering differ; the standard uncertainties in the third row are estimates.
_YBCO_CURVE = np.array([
    (6.00, 0.0, 2.0),
    (6.35, 0.0, 8.0),
    (6.40, 22.0, 12.0),
    (6.45, 43.0, 8.0),
    (6.50, 53.0, 5.0),
    (6.55, 57.0, 4.0),
    (6.60, 59.0, 3.0),
    (6.65, 60.0, 3.0),
    (6.70, 62.5, 4.0),
    (6.75, 71.0, 6.0),
    (6.80, 83.0, 5.0),
    (6.85, 89.5, 2.5),
    (6.90, 91.5, 1.5),
    (6.94, 92.2, 1.0),
    (7.00, 90.5, 1.5),
]).T
_AG_LIMIT = float(np.pi / (2.0 * np.exp(np.euler_gamma)))  # pair breaking over Tc0 that ends it
_DATA = resources.files("labenv.physics") / "data" / "superconductors.toml"


@dataclass(frozen=True)
class Superconductor:
    """One row of the table.

    Attributes:
        name: Slug, unique.
        formula: Chemical formula.
        tc_k: Critical temperature, K; 0 for a material that stayed normal.
        uncertainty_k: Standard uncertainty of a good sample's Tc, K, or, of a normal material, the
            temperature down to which it stayed normal.
        penetration_depth_m: Magnetic penetration depth at 0 K, m, or `None`.
        coherence_length_m: Coherence length at 0 K (BCS for pure elements, Ginzburg-Landau for the
            others, in the plane if layered), m, or `None`.
        critical_field_t: Thermodynamic critical field of type I, upper one of type II, at 0 K, T,
            or `None`.
        source: Citation of Tc.
        aliases: Other names.
    """

    name: str
    formula: str
    tc_k: float
    uncertainty_k: float
    penetration_depth_m: float | None
    coherence_length_m: float | None
    critical_field_t: float | None
    source: str
    aliases: tuple[str, ...]


@dataclass(frozen=True)
class CriticalTemperature:
    """A critical temperature that somebody measured, or a published relation gives.

    Attributes:
        material: Formula.
        tc_k: Critical temperature, K; 0 if the material is not known to superconduct.
        uncertainty_k: Standard uncertainty, K.
        source: Citation.
        note: What a reader must know.
    """

    material: str
    tc_k: float
    uncertainty_k: float
    source: str
    note: str = ""


@dataclass(frozen=True)
class UnknownCriticalTemperature:
    """No critical temperature is known here.

    Attributes:
        material: What was asked for.
        reason: Why there is no answer.
    """

    material: str
    reason: str


def dome_tc(doping: ArrayLike, tc_max_k: ArrayLike) -> Floats:
    """Return the critical temperature of a hole-doped cuprate.

    Args:
        doping: Holes per planar copper p, any shape.
        tc_max_k: Critical temperature at optimal doping, K, broadcast.

    Returns:
        ``Tc = Tc,max (1 - 82.6 (p - 0.16)^2)``, K; zero outside about 0.05 < p < 0.27. The dip near
        p = 1/8, deepest in La-based cuprates, is not in it.

    Raises:
        ProposalError: If a doping is not from 0 to 1, or a maximum not positive.

    Source:
        Presland, Tallon, Buckley, Liu & Flower, Physica C 176 (1991) 95.
    """
    p = _within(doping, 0.0, 1.0, "doping")
    return np.maximum(
        _within(tc_max_k, 1e-6, 1e3, "tc_max_k") * (1.0 - 82.6 * (p - OPTIMAL_DOPING) ** 2), 0.0
    )


def lsco_tc(strontium: ArrayLike) -> Floats:
    """Return the critical temperature of La2-xSrxCuO4, taking p = x (oxygen content 4).

    Args:
        strontium: x, 0 to 0.35, any shape.

    Returns:
        K. Near x = 1/8 real samples fall below the dome, in La2-xBaxCuO4 far below it.

    Raises:
        ProposalError: If an x is outside 0 to 0.35, beyond which the series was not studied.

    Source:
        Dome of Presland et al. 1991 with Tc,max = 38 K, Takagi et al., Phys. Rev. B 40 (1989) 2254.
    """
    return dome_tc(_within(strontium, 0.0, 0.35, "strontium content"), LSCO_MAXIMUM_K)


def ybco_tc(oxygen: ArrayLike) -> Floats:
    """Return the critical temperature of YBa2Cu3Oy by linear interpolation of published curves.

    Args:
        oxygen: y, 6 to 7, any shape.

    Returns:
        K: zero up to y = 6.35, a plateau near 60 K, another near 92 K. For samples annealed long
        enough for the chains to order; quenched ones can be 20 K lower near y = 6.5.

    Raises:
        ProposalError: If a y is outside 6 to 7.

    Source:
        Jorgensen et al., Phys. Rev. B 41 (1990) 1863; Cava et al., Physica C 165 (1990) 419.
    """
    y = _within(oxygen, 6.0, 7.0, "oxygen content")
    return np.asarray(np.interp(y, _YBCO_CURVE[0], _YBCO_CURVE[1]))


def ybco_tc_uncertainty(oxygen: ArrayLike) -> Floats:
    """Return the standard uncertainty of `ybco_tc`, K, an estimate of the spread of samples.

    Args:
        oxygen: y, 6 to 7, any shape.

    Returns:
        K.

    Raises:
        ProposalError: If a y is outside 6 to 7.
    """
    y = _within(oxygen, 6.0, 7.0, "oxygen content")
    return np.asarray(np.interp(y, _YBCO_CURVE[0], _YBCO_CURVE[2]))


def nb3sn_tc(tin_share: ArrayLike) -> Floats:
    """Return the critical temperature of Nb(1-β)Sn(β), the A15 phase.

    Args:
        tin_share: Atomic share of tin β, 0.17 to 0.26 (the phase's field is 0.18 to 0.255).

    Returns:
        ``18.3 - 12.3 / (1 + exp((β - 0.22) / 0.009))``, K.

    Raises:
        ProposalError: If a β is outside.

    Source:
        Godeke, Supercond. Sci. Technol. 19 (2006) R68.
    """
    beta = _within(tin_share, 0.17, 0.26, "tin share")
    return 18.3 - 12.3 / (1.0 + np.exp((beta - 0.22) / 0.009))


def mcmillan_tc(debye_k: ArrayLike, coupling: ArrayLike, mu_star: ArrayLike) -> Floats:
    """Return McMillan's critical temperature.

    Args:
        debye_k: Debye temperature, K.
        coupling: Electron-phonon coupling λ, 0 to about 1.5, broadcast.
        mu_star: Coulomb pseudopotential μ*, broadcast.

    Returns:
        K; zero where the repulsion wins.

    Raises:
        ProposalError: If an input is out of range.

    Source:
        McMillan, Phys. Rev. 167 (1968) 331.
    """
    theta = _within(debye_k, 1e-3, 1e5, "debye_k")
    return theta / 1.45 * _pairing(coupling, mu_star)


def allen_dynes_tc(
    omega_log_k: ArrayLike,
    coupling: ArrayLike,
    mu_star: ArrayLike,
    omega_2_k: ArrayLike | None = None,
) -> Floats:
    """Return Allen and Dynes's critical temperature, with both correction factors.

    Good for one isotropic gap; MgB2, with two, comes out near 28 K instead of 39 K.

    Args:
        omega_log_k: Logarithmic average phonon frequency, K.
        coupling: Electron-phonon coupling λ, 0 to 10, broadcast.
        mu_star: Coulomb pseudopotential μ*, broadcast.
        omega_2_k: Root mean square phonon frequency, K; by default equal to `omega_log_k`, which
            makes the shape factor f2 equal to 1.

    Returns:
        K; zero where the repulsion wins.

    Raises:
        ProposalError: If an input is out of range.

    Source:
        Allen & Dynes, Phys. Rev. B 12 (1975) 905.
    """
    omega = _within(omega_log_k, 1e-3, 1e5, "omega_log_k")
    strong, mu = _within(coupling, 0.0, 10.0, "coupling"), _within(mu_star, 0.0, 1.0, "mu_star")
    ratio = np.array(1.0) if omega_2_k is None else _within(omega_2_k, 1e-3, 1e5, "ω2") / omega
    f1 = (1.0 + (strong / (2.46 * (1.0 + 3.8 * mu))) ** 1.5) ** (1.0 / 3.0)
    spread = 1.82 * (1.0 + 6.3 * mu) * ratio
    f2 = 1.0 + (ratio - 1.0) * strong**2 / (strong**2 + spread**2)
    return omega / 1.2 * f1 * f2 * _pairing(strong, mu)


def _pairing(coupling: ArrayLike, mu_star: ArrayLike) -> Floats:
    strong, mu = _within(coupling, 0.0, 10.0, "coupling"), _within(mu_star, 0.0, 1.0, "mu_star")
    net = strong - mu * (1.0 + 0.62 * strong)
    exponent = 1.04 * (1.0 + strong) / np.where(net > 0.0, net, 1.0)
    return np.where(net > 0.0, np.exp(-exponent), 0.0)


def pair_breaking_tc(tc_clean_k: ArrayLike, pair_breaking_k: ArrayLike) -> Floats:
    """Return the critical temperature with pair breaking, such as by magnetic impurities.

    Args:
        tc_clean_k: Critical temperature without it, K, positive.
        pair_breaking_k: Pair-breaking energy α over the Boltzmann constant, K, broadcast.

    Returns:
        The root of ``ln(Tc0/Tc) = ψ(1/2 + α/(2π Tc)) - ψ(1/2)``, K; zero from
        α = 0.882 Tc0 on.

    Raises:
        ProposalError: If an input is out of range.

    Source:
        Abrikosov & Gor'kov, Sov. Phys. JETP 12 (1961) 1243.
    """
    from scipy.special import digamma

    clean = _within(tc_clean_k, 1e-6, 1e3, "tc_clean_k")
    alpha = np.asarray(_within(pair_breaking_k, 0.0, 1e6, "pair_breaking_k") / clean)
    low, high = np.full(alpha.shape, 1e-9), np.ones(alpha.shape)
    for _ in range(60):  # the equation's left side minus right falls with t = Tc/Tc0
        t = 0.5 * (low + high)
        excess = -np.log(t) - digamma(0.5 + alpha / (2.0 * np.pi * t)) + digamma(0.5)
        low, high = np.where(excess > 0.0, t, low), np.where(excess > 0.0, high, t)
    reduced = np.where(alpha > 0.0, 0.5 * (low + high), 1.0)
    return clean * np.where(alpha < _AG_LIMIT, reduced, 0.0)


@lru_cache(maxsize=1)
def superconductors() -> tuple[Superconductor, ...]:
    """Return the table of materials with a published critical temperature, or published absence.

    Returns:
        Its rows.

    Raises:
        ConfigError: If the data file is damaged or names a material twice.
    """
    try:
        rows = tomllib.loads(_DATA.read_text(encoding="utf-8"))
        table = [_row(row, normal=False) for row in rows["superconductor"]]
        table += [_row(row, normal=True) for row in rows["normal"]]
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as cause:
        raise ConfigError(f"superconductors.toml: {cause!r}") from cause
    names = [row.name for row in table]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(f"superconductors.toml: named twice: {twice}")
    return tuple(table)


def _row(row: dict[str, Any], *, normal: bool) -> Superconductor:
    def scaled(key: str, factor: float) -> float | None:
        return float(row[key]) * factor if key in row else None

    return Superconductor(
        name=row["name"],
        formula=row["formula"],
        tc_k=0.0 if normal else float(row["tc_k"]),
        uncertainty_k=float(row["normal_down_to_k"] if normal else row["uncertainty_k"]),
        penetration_depth_m=scaled("penetration_depth_nm", 1e-9),
        coherence_length_m=scaled("coherence_length_nm", 1e-9),
        critical_field_t=scaled("critical_field_t", 1.0),
        source=row["source"],
        aliases=tuple(row.get("aliases", ())),
    )


def find_superconductor(material: str) -> Superconductor | None:
    """Return the row of a material by name, alias or formula, or `None`.

    Args:
        material: Such as ``"MgB2"``, ``"niobium"`` or ``"YBCO"``; capitals do not matter in names.

    Returns:
        The first row that answers.
    """
    wanted = material.strip()
    for row in superconductors():
        names = (row.name, row.formula, *row.aliases)
        if wanted in names or wanted.lower() in [n.lower() for n in (row.name, *row.aliases)]:
            return row
    try:
        asked = parse_formula(wanted)
    except ValueError:
        return None
    return next(
        (row for row in superconductors() if asked.same_composition(parse_formula(row.formula))),
        None,
    )


def critical_temperature(
    material: str,
    *,
    oxygen: float | None = None,
    doping: float | None = None,
    tin_share: float | None = None,
) -> CriticalTemperature | UnknownCriticalTemperature:
    """Return the critical temperature of a material, or why it is unknown.

    Args:
        material: Name or formula. YBa2Cu3Oy with 6 <= y <= 7 and La2-xSrxCuO4 may be written with
            any such content.
        oxygen: y of YBa2Cu3Oy, in place of the one in the formula.
        doping: x of La2-xSrxCuO4, in place of the one in the formula.
        tin_share: Atomic share of tin in Nb3Sn; 0.245, a good bulk sample, by default.

    Returns:
        A value with uncertainty and source, or `UnknownCriticalTemperature`.

    Raises:
        ProposalError: If a content is out of range.
    """
    family = _family(material)
    if family is not None and family[0] == "ybco":
        y = float(family[1] if oxygen is None else oxygen)
        tc, sd = float(ybco_tc(y)), float(ybco_tc_uncertainty(y))
        source = "Jorgensen et al., Phys. Rev. B 41 (1990) 1863; Cava et al., Physica C 165, 419"
        return CriticalTemperature(f"YBa2Cu3O{y:g}", tc, sd, source, "annealed, chains ordered")
    if family is not None and family[0] == "lsco":
        x = float(family[1] if doping is None else doping)
        source = "Presland et al., Physica C 176 (1991) 95; Takagi et al., Phys. Rev. B 40, 2254"
        note = "samples near x = 1/8 fall below the dome" if 0.10 < x < 0.15 else ""
        sd = 6.0 if note else 2.5  # estimates; the mean error against published samples is 2.4 K
        return CriticalTemperature(f"La{2 - x:g}Sr{x:g}CuO4", float(lsco_tc(x)), sd, source, note)
    row = find_superconductor(material)
    if row is None:
        reason = "not in the table of published critical temperatures, and no relation covers it"
        return UnknownCriticalTemperature(material, reason)
    if row.tc_k == 0.0:
        note = f"normal down to {row.uncertainty_k:g} K, the lowest temperature tried"
        return CriticalTemperature(row.formula, 0.0, row.uncertainty_k, row.source, note)
    if row.name == "niobium-tin" and tin_share is not None:
        source = "Godeke, Supercond. Sci. Technol. 19 (2006) R68"
        return CriticalTemperature(row.formula, float(nb3sn_tc(tin_share)), 0.3, source)
    return CriticalTemperature(row.formula, row.tc_k, row.uncertainty_k, row.source)


def _family(material: str) -> tuple[str, float] | None:
    """Return which family with a variable content the formula belongs to, and its content."""
    text = material.strip()
    if text.lower() in {"ybco", "y-123", "y123"}:
        return "ybco", 6.93
    if text.lower() == "lsco":
        return "lsco", OPTIMAL_DOPING
    try:
        amounts = parse_formula(text).amounts
    except ValueError:
        return None
    if set(amounts) == {"Y", "Ba", "Cu", "O"} and amounts["Y"] > 0.0:
        ba, cu, o = (amounts[element] / amounts["Y"] for element in ("Ba", "Cu", "O"))
        if abs(ba - 2.0) < 1e-6 and abs(cu - 3.0) < 1e-6 and 6.0 <= o <= 7.0:
            return "ybco", o
    if {"La", "Cu", "O"} <= set(amounts) <= {"La", "Sr", "Cu", "O"}:
        la, sr, o = (amounts.get(e, 0.0) / amounts["Cu"] for e in ("La", "Sr", "O"))
        if abs(la + sr - 2.0) < 1e-6 and abs(o - 4.0) < 1e-6 and sr <= 0.35:
            return "lsco", sr
    return None


def _within(values: ArrayLike, low: float, high: float, what: str) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    # a nan compares false, so it is refused too
    if not bool(((array >= low) & (array <= high)).all()):
        worst = float(array[~((array >= low) & (array <= high))].flat[0])
        raise ProposalError(f"{what} must be from {low:g} to {high:g}, got {worst:g}")
    return array
