"""Interlocks: what the lab refuses before anything moves, and what it tells the policy to write.

Two kinds. What a device cannot do stands in its driver (`Instrument.check`). What matter cannot
bear stands here: charges that would melt, crucibles that would be eaten, plans that make no sense
on a bench. Only what is certain in advance is refused; a charge that melts on the way is found out
in the furnace and comes back as `failed_chemistry`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labenv.lab.crucibles import CRUCIBLE_LIMIT_K
from labenv_instruments.drivers import load_driver
from labenv_instruments.trusted import trusted
from labenv_instruments.twin import ensure
from labenv_schemas.characterisation import (
    MeasureComposition,
    MeasureDensity,
    MeasureMagnetisation,
    MeasureResistance,
    Weigh,
)
from labenv_schemas.errors import ProposalError
from labenv_schemas.proposal import Dose, Heat, Measure, Mix, PrecursorDose, Press, Regrind

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from labenv.lab.bench import Bench
    from labenv.physics.reactions import MeltingLimit
    from labenv_instruments.instrument import Instrument
    from labenv_schemas.proposal import Operation, Proposal

    Floats = NDArray[np.float64]

DRIVER_OF: dict[type, str] = {
    Dose: "dosing_balance",
    Mix: "ball_mill",
    Press: "pellet_press",
    Heat: "tube_furnace",
    Regrind: "ball_mill",
    Measure: "powder_diffractometer",
    MeasureResistance: "cryostat",
    MeasureMagnetisation: "magnetometer",
    Weigh: "analytical_balance",
    MeasureDensity: "gas_pycnometer",
    MeasureComposition: "electron_microscope",
}
# Weighed in, so that after losses there is a bar of 8 mm by 2 mm by 2 mm, or a cell filled enough.
_LEAST_KG: dict[type, float] = {MeasureResistance: 400e-6, MeasureDensity: 200e-6}
CELSIUS_K = 273.15
SAME_SHARE = 1e-3

# Share of the widest possible gap to a melt's ends; a charge nearer to an end gives little liquid.
CERTAIN_LIQUID = 0.15

# Platinum takes up barium and titanium reduced by a gas without oxygen.
PLATINUM_OXYGEN_FREE_LIMIT_K = 1473.15
OXYGEN_FREE_PA = 1.0


def check_proposal(proposal: Proposal, bench: Bench) -> None:
    """Refuse a plan that the lab must not or cannot carry out.

    Args:
        proposal: The plan.
        bench: The chemical system and its shelf.

    Raises:
        ProposalError: If an operation is refused; the message names it and says what to write.
    """
    vetted_operations(proposal, bench)


def vetted_operations(
    proposal: Proposal, bench: Bench, device_check: Callable[[Operation, str], None] | None = None
) -> tuple[Operation, ...]:
    """Check a plan and return its operations as the stations will be asked for them.

    Args:
        proposal: The plan.
        bench: The chemical system and its shelf.
        device_check: Refuses what no device of this laboratory may do, given an operation and the
            kind of station that does it; None for the devices that every laboratory has in process.

    Returns:
        The operations, the dose turned into masses under the shelf's names.

    Raises:
        ProposalError: As for `check_proposal`.
    """
    dose = proposal.operations[0]
    if not isinstance(dose, Dose):
        raise ProposalError("a plan starts with 'dose'")
    try:
        given = weighed(dose, bench)
    except ProposalError as error:
        raise ProposalError(f"operations[0] (dose): {error}") from None
    operations = (given, *proposal.operations[1:])
    mass_kg = np.zeros(len(bench.shelf.substances))
    for precursor in given.precursors:
        mass_kg[bench.shelf.index(precursor.substance)] = precursor.mass_kg
    charge = _Charge(bench, mass_kg)
    pressed = False
    for number, operation in enumerate(operations):
        try:
            if device_check is None:
                driver_of(operation).check(operation)
            else:
                device_check(operation, DRIVER_OF[type(operation)])
            _check_specimen(operation, float(mass_kg.sum()), pressed=pressed)
        except ProposalError as error:
            raise ProposalError(f"operations[{number}] ({operation.op}): {error}") from None
        if isinstance(operation, (Press, Mix, Regrind)):
            pressed = isinstance(operation, Press)
        if isinstance(operation, Heat):
            oxygen_pa = operation.partial_pressures_pa()["O2"]
            refusal = charge.refusal(operation.peak_k, operation.crucible, oxygen_pa)
            if refusal is not None:
                raise ProposalError(f"operations[{number}] (heat): {refusal}")
    return operations


def _check_specimen(operation: Operation, dosed_kg: float, *, pressed: bool) -> None:
    """Refuse a measurement for which there is too little matter, or in the wrong shape."""
    if isinstance(operation, MeasureResistance):
        ensure(
            pressed,
            "four contacts need a bar, and this is a powder; write a 'press' before it, after the "
            "last mix or regrind",
        )
    least_kg = _LEAST_KG.get(type(operation), 0.0)
    if isinstance(operation, MeasureMagnetisation):
        least_kg = 2.0 * operation.chip_kg
    ensure(
        dosed_kg >= least_kg,
        f"{dosed_kg * 1e6:.3g} mg of precursors are weighed in; this measurement needs "
        f"{least_kg * 1e6:.3g} mg of them, so scale all doses up",
    )


def firing_refusals(
    bench: Bench, mass_kg: Floats, peak_k: Floats, crucible: str, oxygen_pa: Floats
) -> list[str | None]:
    """Return why firings of many charges are refused; the devices' own limits are not looked at.

    Args:
        bench: The chemical system and its shelf.
        mass_kg: What was asked for of each substance, kg, shape (N, S).
        peak_k: Highest programmed temperatures, K, shape (N,).
        crucible: Their crucible.
        oxygen_pa: Pressures of oxygen, Pa, shape (N,).

    Returns:
        What `check_proposal` would say of the firing, without its place; None where it may go on.
    """
    safe_k = _lowest_limit_k(bench)
    return [
        None
        if peak <= safe_k
        else _Charge(bench, mass_kg[row]).refusal(peak, crucible, float(oxygen_pa[row]))
        for row, peak in enumerate(peak_k.tolist())
    ]


def driver_of(operation: Operation) -> type[Instrument]:
    """Return the driver class that performs an operation."""
    return load_driver(DRIVER_OF[type(operation)])


def weighed(dose: Dose, bench: Bench) -> Dose:
    """Return a dose with every amount turned into a mass and one entry a substance.

    Args:
        dose: As proposed.
        bench: For the shelf.

    Returns:
        The dose by mass, under the shelf's names.

    Raises:
        ProposalError: If a substance is not on the shelf.
    """
    masses: dict[str, float] = {}
    for precursor in dose.precursors:
        name = bench.shelf.get(precursor.substance).name
        masses[name] = masses.get(name, 0.0) + bench.shelf.mass_kg(precursor)
    precursors = tuple(
        trusted(PrecursorDose, substance=name, mass_kg=mass_kg, amount_mol=None)
        for name, mass_kg in masses.items()
    )
    return trusted(Dose, op="dose", precursors=precursors)


class _Charge:
    """What goes into the crucible, by its labels; masses in kg, shape (S,)."""

    def __init__(self, bench: Bench, mass_kg: Floats) -> None:
        cations = np.sum(mass_kg[:, None] * bench.cations_mol_per_kg, axis=0)
        self._bench = bench
        self._share: list[float] = (cations / cations.sum()).tolist()  # of each cation

    def refusal(self, peak_k: float, crucible: str, oxygen_pa: float) -> str | None:
        """Return why a firing is refused and what to write instead, or None."""
        for limit in self._bench.system.melting:
            if peak_k > limit.temperature_k and self._liquid(limit) > CERTAIN_LIQUID:
                melting, melts = " with ".join(limit.phases), _celsius(limit.temperature_k)
                return (
                    f"this charge ({self._described()}) melts: {melting} turns liquid above "
                    f"{melts} and the programme goes to {_celsius(peak_k)}; lower the target "
                    f"below {melts} or change the ratio of the precursors"
                )
        bare_k = CRUCIBLE_LIMIT_K[crucible]
        if peak_k > bare_k:
            return (
                f"a {crucible} crucible stands {_celsius(bare_k)}, not {_celsius(peak_k)}; lower "
                f"the target or write another crucible"
            )
        return self._attack(peak_k, crucible) or _platinum_alloys(peak_k, crucible, oxygen_pa)

    def _liquid(self, limit: MeltingLimit) -> float:
        """Return how far inside a melt's range of composition the charge lies, 0 to 1."""
        system, share = self._bench.system, self._share[0]
        ends = [system.tables.cation[system.phase_index(phase), 1] for phase in limit.phases]
        low, high = min(ends), max(ends)
        if high == low:  # phases of one composition: any other charge only passes through
            return 1.0 if abs(share - low) < SAME_SHARE else 0.0
        return float(2.0 * min(share - low, high - share) / (high - low))

    def _attack(self, peak_k: float, crucible: str) -> str | None:
        for limit in self._bench.shelf.crucible_limits:
            share = self._share[self._bench.cation_names.index(limit.cation)]
            if limit.crucible == crucible and share > limit.above_share and peak_k > limit.limit_k:
                instead = " or ".join(f"'{name}'" for name in limit.instead)
                return (
                    f"a charge with {share:.2f} {limit.cation} among the cations attacks a "
                    f"{crucible} crucible above {_celsius(limit.limit_k)} ({limit.reason}); write "
                    f"crucible {instead}, stay below that temperature or weigh in less "
                    f"{limit.cation}"
                )
        return None

    def _described(self) -> str:
        return ", ".join(
            f"{share:.2f} {name}"
            for name, share in zip(self._bench.cation_names, self._share, strict=True)
        )


def _platinum_alloys(peak_k: float, crucible: str, oxygen_pa: float) -> str | None:
    if (
        crucible != "platinum"
        or peak_k <= PLATINUM_OXYGEN_FREE_LIMIT_K
        or oxygen_pa >= OXYGEN_FREE_PA
    ):
        return None
    return (
        f"without oxygen (here {oxygen_pa:.2g} Pa) platinum alloys with reduced metal above "
        f"{_celsius(PLATINUM_OXYGEN_FREE_LIMIT_K)}; write atmosphere 'air' or 'oxygen', or "
        f"crucible 'alumina' or 'magnesia'"
    )


def _lowest_limit_k(bench: Bench) -> float:
    """Return the temperature up to which no charge and no crucible is refused, K."""
    melting = [limit.temperature_k for limit in bench.system.melting]
    attacks = [limit.limit_k for limit in bench.shelf.crucible_limits]
    return min(*melting, *attacks, PLATINUM_OXYGEN_FREE_LIMIT_K, *CRUCIBLE_LIMIT_K.values())


def _celsius(temperature_k: float) -> str:
    return f"{temperature_k - CELSIUS_K:.0f} degC"


__all__ = [
    "DRIVER_OF",
    "check_proposal",
    "driver_of",
    "firing_refusals",
    "vetted_operations",
    "weighed",
]
