"""How fast: rates of solid-state reactions by general rules, for reactions that nobody measured.

The rules, each with what it rests on:

- *Mobility.* Ions of a solid move noticeably above about 0.57 of its melting temperature (Tammann &
  Mansuri, Z. Anorg. Allg. Chem. 126, 119 (1923)); in a contact it is the geometric mean of the
  most and the least mobile partner's. At that temperature a product grows about 45 nm in an hour,
  and the activation energy is 36 R times it, as of measured ones (212 kJ/mol for BaCO3 + CuO,
  243 kJ/mol for Y2O3 + CuO, 361 kJ/mol for BaCO3 + TiO2). Carbonates react from about 0.47 on,
  since they lose CO2 as they do, and oxides of the same metals with them; a compound's ions move as
  those of the oxides it is made of do, in the mean. Contacts whose onset was seen have it in their
  file.
- *Driving force.* Flux goes with the driving force while that is small (Schmalzried, Chemical
  Kinetics of Solids (1995)) and no longer where it is large; half way at 1 kJ per mole of atoms.
- *Competition.* Of the products that one contact may give, that with the largest driving force per
  atom forms first where it leads by some 6 kJ per mole of atoms (Szymanski et al., Sci. Adv. 10,
  eadp3309 (2024)); nearer rivals share.
- *Gas.* A solid that gives off gas does so at a moving surface, from the temperature on at which it
  is unstable in the gas around it; one that takes up oxygen does so above about 0.38 of its
  melting temperature, where oxygen moves along surfaces and boundaries (Hüttig's rule is 0.3).
- *Supply.* What reaches the powder by diffusion limits what it can take up of a gas that is a
  trace, as CO2 is in air and oxygen in argon; and oxygen leaves into an inert gas no faster than
  its equilibrium pressure drives it away.
- *Bed.* Between grains that give off CO2 it stands higher than in the furnace, and keeps them from
  giving off more; what takes it up has only what the furnace's gas brings. Between the two
  temperatures of equilibrium a reaction stands still (`drive_in_bed`).
- *Liquid.* Where partners melt together, contact is made thirty times as good.

They are calibrated to few observations, and `SIGMA_LN` says how little they claim.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from labenv.physics.kinetics_kernel import REVERSE_CAP
from labenv.physics.networks.enumeration import drive_j_mol_atom
from labenv.physics.thermochemistry import (
    GAS_CONSTANT_J_MOL_K,
    STANDARD_PRESSURE_PA,
    cation_amounts,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from labenv.physics.networks.enumeration import Candidate
    from labenv.physics.networks.grand_potential import GrandPotential
    from labenv.physics.thermochemistry.tables import (
        Eutectic,
        SubstanceTable,
        TabulatedSubstance,
    )

    Floats = NDArray[np.float64]

REFERENCE_K = 1273.15
TAMMANN = 0.57
CARBONATE_ONSET = (
    0.47  # they lose CO2 as they react; calibrated to BaCO3 with TiO2 at 850-1000 degC
)
ONSET_M2_S = 45e-9**2 / 7200.0  # x^2 = 2 D t with 45 nm in an hour
SOLID_ACTIVATION = 36.0  # over R times the onset temperature
OXIDATION = 0.38
OXIDATION_M_S, OXIDATION_ACTIVATION = 1.0e-11, 18.0
OXIDATION_SEEN_M_S = 3.0e-12  # a tenth of half a micrometre in four hours
SCALE_M = (
    1.0e-7  # thickness at which a scale by the law of layers grows as fast as by that of surfaces
)
RELEASE_M_S, RELEASE_ACTIVATION = 1.0e-11, 25.0
HALF_DRIVE_J_MOL_ATOM = 1000.0
RIVALRY_J_MOL_ATOM = 1500.0
LIQUID_GAIN = 30.0
SIGMA_LN = 1.2
UNKNOWN_MELTING_K = 1700.0
BASIC = frozenset({"Li", "Na", "K", "Ca", "Sr", "Ba"})  # react as their carbonates do
COMPOUND_MELTING = 0.85  # of the mean of the oxides it is made of
WAITING = 10.0  # times slower than it could be, a reaction is no rival
THRESHOLD = 80.0  # how steeply, over R times the threshold, a product that nucleates late sets in
# Nitrates of sodium and potassium lose their nitrogen as NO and N2 too, which do not come back, so
# that NO2's pressure does not hold them; the quotient over the constant is taken for this at most.
LEFT_SHARE = 0.1
CONDENSATION_K = 770.0  # CaHPO4 and NH4MnPO4 give pyrophosphates above 650-700 K
# From where oxides take CO2 and water out of a gas, K: CaO from some 370 degC on (Bhatia &
# Perlmutter, AIChE J. 29, 79 (1983)), Li2O above 200 degC (Mosqueda et al., Chem. Mater. 18
# (2006)), others by their basicity (estimates).
UPTAKE_K = {"K": 370.0, "Na": 400.0, "Li": 500.0, "Ba": 500.0, "Sr": 580.0, "Ca": 640.0}
GROWTH_AT_TAMMANN_M, GROWTH_ACTIVATION = 0.05e-6, 20.0
# A gas diffuses to 3 mmol of powder through 2 cm of still gas over 3 cm2, D = 1.1e-4 m2/s of CO2 in
# air at 900 K (Marrero & Mason, J. Phys. Chem. Ref. Data 1, 3 (1972)): 8e-8 1/s of the powder for
# each Pa. As rates of the two laws, for grains of half a micrometre.
SUPPLY_LAYER_M2_S_PA, SUPPLY_SURFACE_M_S_PA = 8.0e-22, 1.3e-14
TRACE_PA = 2000.0  # what is no trace flows in by itself


class Mobility:
    """Where ions of phases begin to move, from melting temperatures, and first liquids.

    Args:
        table: Substances and eutectics.
    """

    def __init__(self, table: SubstanceTable) -> None:
        self._eutectics = table.eutectics
        self._contacts = table.contacts
        oxides: dict[str, list[float]] = {}
        carbonates: dict[str, float] = {}
        for substance in table.substances.values():
            metals = cation_amounts(substance.elements)
            if len(metals) != 1 or not substance.melting_k:
                continue
            metal = next(iter(metals))
            if set(substance.elements) == {metal, "O"}:
                oxides.setdefault(metal, []).append(substance.melting_k)
            elif "C" in substance.elements and metal in BASIC:
                carbonates[metal] = CARBONATE_ONSET * substance.melting_k
        self._melting = {metal: float(np.median(ts)) for metal, ts in oxides.items()}
        self._cation_onset = {
            metal: min(TAMMANN * t, carbonates.get(metal, np.inf))
            for metal, t in self._melting.items()
        }

    def melting_k(self, phase: TabulatedSubstance) -> float:
        """Return a phase's melting temperature, K, estimated from its oxides where not known."""
        if phase.melting_k:
            return float(phase.melting_k)
        metals = cation_amounts(phase.elements)
        mean = _mean(metals, self._melting, UNKNOWN_MELTING_K)
        return mean * (COMPOUND_MELTING if len(metals) > 1 else 1.0)

    def onset_k(self, phase: TabulatedSubstance) -> float:
        """Return the temperature at which a phase's ions begin to move, K."""
        if phase.onset_k is not None:
            return phase.onset_k
        metals = cation_amounts(phase.elements)
        own = TAMMANN * self.melting_k(phase)
        if len(metals) == 1 and not metals.keys() & BASIC:
            return own
        mixed = _mean(metals, self._cation_onset, TAMMANN * UNKNOWN_MELTING_K)
        return mixed if len(metals) > 1 else min(own, mixed)

    def contact_onset_k(self, phases: Sequence[TabulatedSubstance]) -> float:
        """Return the temperature at which phases in contact begin to react, K."""
        names = {phase.name for phase in phases}
        seen = [contact.onset_k for contact in self._contacts if contact.phases <= names]
        if seen:
            return max(seen)
        onsets = [self.onset_k(phase) for phase in phases]
        return float(np.sqrt(min(onsets) * max(onsets)))

    def eutectic(self, names: Sequence[str]) -> Eutectic | None:
        """Return the lowest first liquid between phases of the given names, if one is known."""
        meeting = [e for e in self._eutectics if set(e.phases) <= set(names)]
        return min(meeting, key=lambda e: e.temperature_k) if meeting else None


def _mean(metals: Mapping[str, float], values: Mapping[str, float], unknown: float) -> float:
    total = sum(metals.values())
    return sum(n * values.get(e, unknown) for e, n in metals.items()) / total


def reaction_row(
    potential: GrandPotential, reaction: Candidate, mobility: Mobility, gas: Mapping[str, float]
) -> dict[str, Any]:
    """Return a reaction as a row of a system's file.

    Args:
        potential: The phases.
        reaction: The reaction.
        mobility: Melting temperatures.
        gas: Moles of each gas given off, below 0 for taken up.

    Returns:
        The row, keys as in `labenv/physics/data/*.toml`.
    """
    phases = potential.phases
    melting = {p: mobility.melting_k(phases[p]) for p, _ in reaction.reactants}
    alone = len(reaction.reactants) == 1
    reactants = {phases[p].name: n for p, n in reaction.reactants}
    products = {phases[p].name: n for p, n in reaction.products}
    for name, n in gas.items():
        (products if n > 0 else reactants)[name] = abs(n)
    if alone:
        rate, activation = _alone(potential, reaction, min(melting.values()), gas)
    else:
        onset = mobility.contact_onset_k([phases[p] for p in melting])
        rate, activation = _arrhenius(ONSET_M2_S, onset, SOLID_ACTIVATION)
    row: dict[str, Any] = {
        "reactants": reactants,
        "products": products,
        "law": "surface" if alone else "layer",
        "core": phases[max(melting, key=lambda p: melting[p])].name,
        "contact": not alone,
        "rate": rate,
        "activation_j_mol": activation,
        "sigma_ln": SIGMA_LN,
        "source": ["estimate: labenv.physics.networks.rates"],
    }
    leaves = alone and gas.get("NO2", 0.0) > 0.0
    if leaves and phases[reaction.reactants[0][0]].leaves_from_k > 0.0:
        row["left_share"] = LEFT_SHARE
    if not alone and gas.get("CO2", 0.0) > 0.0:
        row["co2_half_pa"] = 20000.0
    return row


def _arrhenius(value: float, at_k: float, over_rt: float) -> tuple[float, float]:
    """Return the rate at the reference temperature and the activation energy, J/mol."""
    return value * float(np.exp(over_rt * (1.0 - at_k / REFERENCE_K))), (
        over_rt * GAS_CONSTANT_J_MOL_K * at_k
    )


def _over(grid_k: Floats, rate: float, activation_j_mol: float) -> Floats:
    """Return a rate over temperature by its value at the reference temperature."""
    activation_k = activation_j_mol / GAS_CONSTANT_J_MOL_K
    return np.asarray(rate * np.exp(-activation_k * (1.0 / grid_k - 1.0 / REFERENCE_K)))


def _alone(
    potential: GrandPotential, reaction: Candidate, melting_k: float, gas: Mapping[str, float]
) -> tuple[float, float]:
    drive = drive_j_mol_atom(potential, reaction)
    releases = sum(gas.values()) > 1e-9
    grid = potential.temperature_k
    if not releases or drive[0] < 0.0 < drive[-1] or drive[0] > 0.0 > drive[-1]:
        crossing = float(np.interp(0.0, np.sort(drive), grid[np.argsort(drive)]))
    else:
        crossing = float(grid[0] - 100.0) if drive[0] > 0.0 else float(grid[-1])
    phase = potential.phases[reaction.reactants[0][0]]
    if phase.leaves_from_k > 0.0 and gas.get("NO2", 0.0) > 0.0:
        return _arrhenius(RELEASE_M_S, phase.leaves_from_k, RELEASE_ACTIVATION)
    if releases:  # forward gives gas off: from where it is unstable
        return _arrhenius(RELEASE_M_S, crossing, RELEASE_ACTIVATION)
    if sum(gas.values()) < -1e-9:
        if phase.oxidises_from_k > 0.0:
            return _arrhenius(OXIDATION_SEEN_M_S, phase.oxidises_from_k, RELEASE_ACTIVATION)
        return _arrhenius(OXIDATION_M_S, OXIDATION * melting_k, OXIDATION_ACTIVATION)
    return _arrhenius(OXIDATION_M_S, TAMMANN * melting_k, SOLID_ACTIVATION)


def rate_factors(
    potential: GrandPotential,
    reactions: Sequence[Candidate],
    rows: Sequence[Mapping[str, Any]],
    mobility: Mobility,
    grid_k: Floats,
    gas_pa: tuple[Mapping[str, float], Mapping[str, float]],
) -> Floats:
    """Return what drive, competition, liquids and supply make of each rate over temperature.

    Under a gas that is held the sign of the drive, and with it the direction in which a reaction
    runs, is a matter of temperature alone; each rule is that of the direction.

    Args:
        potential: The phases.
        reactions: R of them.
        rows: The same as rows of a system's file, see `reaction_row`.
        mobility: Melting temperatures and first liquids.
        grid_k: Temperatures, K, shape (K,).
        gas_pa: Pressures of the gases between the grains and in the furnace, Pa.

    Returns:
        Factors, shape (K, R).
    """
    if not reactions:
        return np.ones((grid_k.size, 0))
    between, outside = gas_pa
    drive = np.array([
        drive_in_bed(
            np.interp(grid_k, potential.temperature_k, drive_j_mol_atom(potential, reaction)),
            GAS_CONSTANT_J_MOL_K
            * grid_k
            * float(np.log(gas_quotient(row, between) / gas_quotient(row, outside)))
            / sum(n * potential.atoms[p] for p, n in reaction.reactants),
        )
        for reaction, row in zip(reactions, rows, strict=True)
    ])
    leaving = np.array(["left_share" in row for row in rows])
    drive[leaving] = np.maximum(drive[leaving], HALF_DRIVE_J_MOL_ATOM)
    ways = [
        _Way(reaction, row, direction, potential)
        for reaction, row in zip(reactions, rows, strict=True)
        for direction in (1.0, -1.0)
    ]
    alone: list[Floats] = []
    most: list[Floats] = []
    best: dict[frozenset[int], Floats] = {}
    for i, way in enumerate(ways):
        force = np.maximum(way.direction * drive[i // 2], 0.0)
        factor = force / (force + HALF_DRIVE_J_MOL_ATOM)
        for phase in way.products:
            factor *= _nucleation(phase, grid_k)
        if way.contact:
            factor *= _contact(way, mobility, grid_k)
        elif way.takes_up:
            factor *= _uptake(way, grid_k, force)
        elif way.backwards and "O2" in way.taken and way.reactants[0].oxidises_from_k > 0.0:
            factor *= _oxidation(way, grid_k, force)
        alone.append(factor)
        most.append(_supply(way, grid_k, force, outside))
        # what waits for gas to come leaves the field to its rivals
        rival = np.where(factor <= WAITING * most[i], force, 0.0)
        best[way.contact] = np.maximum(best.get(way.contact, 0.0), rival)
    factors = np.ones((grid_k.size, len(reactions)))
    for i, way in enumerate(ways):
        force = way.direction * drive[i // 2]
        factor = alone[i]
        if way.contact:
            factor = factor * np.exp(
                -np.maximum(best[way.contact] - force, 0.0) / RIVALRY_J_MOL_ATOM
            )
        on = force > 0.0
        factors[on, i // 2] = np.minimum(factor, most[i])[on]
    return factors


class _Way:
    """A reaction in one of its directions."""

    def __init__(
        self,
        reaction: Candidate,
        row: Mapping[str, Any],
        direction: float,
        potential: GrandPotential,
    ) -> None:
        left, right = (reaction.reactants, reaction.products)[:: int(direction)]
        self.direction = direction
        self.reactants = [potential.phases[p] for p, _ in left]
        self.products = [potential.phases[p] for p, _ in right]
        self.contact = frozenset(p for p, _ in left) if len(left) > 1 else frozenset()
        self.atoms = sum(n * potential.atoms[p] for p, n in reaction.reactants)
        self.row = row
        self.taken, self.given = (row[k] for k in ("reactants", "products")[:: int(direction)])

    @property
    def backwards(self) -> bool:
        """Whether it is the row read from right to left."""
        return self.direction < 0.0

    @property
    def takes_up(self) -> bool:
        """Whether an oxide takes up CO2 or water, the reverse of a salt's decomposition."""
        alone = self.row["law"] == "surface" and not self.contact
        return self.backwards and alone and bool(self.taken.keys() & {"CO2", "H2O"})

    def over_rate(self, grid_k: Floats, force: Floats) -> Floats:
        """Return what the drive alone makes of the row's rate backwards, 1 forwards."""
        if not self.backwards:
            return np.ones(grid_k.size)
        over = np.minimum(force * self.atoms / (GAS_CONSTANT_J_MOL_K * grid_k), 20.0)
        return np.asarray(np.clip(np.expm1(over), 1e-3, REVERSE_CAP))

    def rate(self, grid_k: Floats) -> Floats:
        """Return the row's rate over temperature."""
        return _over(grid_k, self.row["rate"], self.row["activation_j_mol"])


def _nucleation(phase: TabulatedSubstance, grid_k: Floats) -> Floats:
    """Return the factor of a product that does not form where it is first stable."""
    threshold = phase.forms_from_k or _condensation_k(phase)
    if threshold <= 0.0:
        return np.full(grid_k.size, phase.hindered)
    over = THRESHOLD * (threshold / grid_k - 1.0)
    return np.asarray(phase.hindered / (1.0 + np.exp(np.minimum(over, 300.0))))


def _condensation_k(phase: TabulatedSubstance) -> float:
    """Return from where phosphate groups join to chains and rings, K; 0 for other phases."""
    counts = phase.elements
    phosphorus = counts.get("P", 0.0)
    joined = phosphorus > 0.0 and counts.get("O", 0.0) < 3.9 * phosphorus and len(counts) > 2
    return CONDENSATION_K if joined and "N" not in counts and "H" not in counts else 0.0


def _contact(way: _Way, mobility: Mobility, grid_k: Floats) -> Floats:
    """Return the factor of a contact: its liquid's, and backwards its own phases' mobility."""
    factor = np.ones(grid_k.size)
    if way.backwards and way.row["law"] == "layer":
        onset_k = mobility.contact_onset_k(way.reactants)
        own = _arrhenius(ONSET_M2_S, onset_k, SOLID_ACTIVATION)
        factor *= _over(grid_k, *own) / way.rate(grid_k)
    liquid = mobility.eutectic([phase.name for phase in way.reactants])
    if liquid is not None:
        melted = 1.0 / (1.0 + np.exp(-(grid_k - liquid.temperature_k) / 8.0))
        factor *= 1.0 + (LIQUID_GAIN - 1.0) * melted
    return np.asarray(factor)


def _uptake(way: _Way, grid_k: Floats, force: Floats) -> Floats:
    """Return the factor at which an oxide takes up CO2 or water at a rate of its own."""
    metals = {e for phase in way.reactants for e in cation_amounts(phase.elements)}
    from_k = max((UPTAKE_K.get(e, UPTAKE_K["Ca"]) for e in metals), default=UPTAKE_K["Ca"])
    own = _arrhenius(OXIDATION_M_S, from_k, OXIDATION_ACTIVATION)
    return _over(grid_k, *own) / (way.rate(grid_k) * way.over_rate(grid_k, force))


def _oxidation(way: _Way, grid_k: Floats, force: Floats) -> Floats:
    """Return the factor at which a phase whose onset was seen is oxidised and split up."""
    own = _arrhenius(OXIDATION_SEEN_M_S, way.reactants[0].oxidises_from_k, RELEASE_ACTIVATION)
    layer_m = SCALE_M if way.row["law"] == "layer" else 1.0
    return layer_m * _over(grid_k, *own) / (way.rate(grid_k) * way.over_rate(grid_k, force))


def _supply(way: _Way, grid_k: Floats, force: Floats, pressures_pa: Mapping[str, float]) -> Floats:
    """Return the factor at which a reaction would use up the gas that reaches the powder.

    Or, of oxygen given off into a gas that holds next to none, that at which it is carried away.
    """
    limits = [
        np.full(grid_k.size, pressures_pa[gas] / n)
        for gas, n in way.taken.items()
        if pressures_pa.get(gas, TRACE_PA) < TRACE_PA
    ]
    if "O2" in way.given and pressures_pa["O2"] < TRACE_PA:
        n = way.given["O2"]
        over = force * way.atoms / (n * GAS_CONSTANT_J_MOL_K * grid_k)
        equilibrium_pa = pressures_pa["O2"] * np.exp(np.minimum(over, 60.0))
        limits.append(np.where(equilibrium_pa < TRACE_PA, equilibrium_pa / n, np.inf))
    if not limits:
        return np.full(grid_k.size, np.inf)
    most = SUPPLY_LAYER_M2_S_PA if way.row["law"] == "layer" else SUPPLY_SURFACE_M_S_PA
    rate = way.rate(grid_k) * way.over_rate(grid_k, force)
    return np.asarray(most * np.min(limits, axis=0) / rate)


def gas_quotient(row: Mapping[str, Any], pressures_pa: Mapping[str, float]) -> float:
    """Return the gases' share of a reaction's quotient.

    Args:
        row: As `reaction_row` makes it.
        pressures_pa: Of the gases, Pa.

    Returns:
        The product of pressures over 1 bar, to the power of the moles given off.
    """
    quotient = 1.0
    for side, sign in (("products", 1.0), ("reactants", -1.0)):
        for name, n in row[side].items():
            if name in pressures_pa:
                quotient *= (pressures_pa[name] / STANDARD_PRESSURE_PA) ** (sign * n)
    return quotient


def drive_in_bed(bed: Floats, outside_more: Floats) -> Floats:
    """Return the drive of a reaction between grains where one gas stands higher than outside.

    Args:
        bed: Drive at the pressures between the grains, any shape.
        outside_more: By how much it is more at the furnace's pressures, same shape.

    Returns:
        The lesser of both, 0 where they contradict each other.
    """
    outside = bed + outside_more
    lesser = np.where(np.abs(bed) < np.abs(outside), bed, outside)
    return np.where(bed * outside > 0.0, lesser, 0.0)


def one_way(reaction_row: Mapping[str, Any], cations: set[str]) -> bool:
    """Return whether a reaction that gives off gas cannot in practice be run backwards.

    Only basic oxides take CO2 and water out of air in the hours of a cooling; nothing takes up the
    ammonia or the nitrous gases that were carried away.

    Args:
        reaction_row: As `reaction_row` makes it.
        cations: Elements of its phases that are not exchanged with the gas.

    Returns:
        Whether it goes forward only.
    """
    given = set(reaction_row["products"])
    if given & {"NH3", "NO2"}:
        return True
    if "H2O" in given:
        return not cations <= BASIC
    return "CO2" in given and not reaction_row["contact"] and not cations & BASIC


def growth_row(phase: TabulatedSubstance, mobility: Mobility) -> dict[str, float]:
    """Return how a phase's crystallites grow, as a row of a system's file."""
    at_k = TAMMANN * mobility.melting_k(phase)
    cube, activation = _arrhenius(GROWTH_AT_TAMMANN_M**3, at_k, GROWTH_ACTIVATION)
    return {"size_m": float(np.cbrt(cube)), "activation_j_mol": activation}


__all__ = [
    "REFERENCE_K",
    "Mobility",
    "drive_in_bed",
    "gas_quotient",
    "growth_row",
    "rate_factors",
    "reaction_row",
]
