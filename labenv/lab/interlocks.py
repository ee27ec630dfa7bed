"""Interlocks: what the lab refuses before anything moves, and what it tells the policy to write.

Two kinds. What a device cannot do stands in its driver (`Instrument.check`). What matter cannot
bear stands here: charges that would melt, crucibles that would be eaten, plans that make no sense
on a bench. Only what is certain in advance is refused; a charge that melts on the way is found out
in the furnace and comes back as `failed_chemistry`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labenv_instruments.drivers import load_driver
from labenv_instruments.trusted import trusted
from labenv_schemas.errors import ProposalError
from labenv_schemas.proposal import Dose, Heat, Measure, Mix, PrecursorDose, Press, Regrind

if TYPE_CHECKING:
    from labenv.lab.bench import Bench
    from labenv.physics.reactions import MeltingLimit
    from labenv_instruments.instrument import Instrument
    from labenv_schemas.proposal import Operation, Proposal

DRIVER_OF: dict[type, str] = {
    Dose: "dosing_balance",
    Mix: "ball_mill",
    Press: "pellet_press",
    Heat: "tube_furnace",
    Regrind: "ball_mill",
    Measure: "powder_diffractometer",
}
CELSIUS_K = 273.15
SAME_SHARE = 1e-3

# Share of the widest possible gap to a melt's ends; a charge nearer to an end gives little liquid.
CERTAIN_LIQUID = 0.15

# Highest temperatures of crucible materials in themselves, K, as their suppliers give them.
CRUCIBLE_LIMIT_K = {
    "alumina": 1973.15,
    "zirconia": 2273.15,
    "magnesia": 2273.15,
    "platinum": 1923.15,
}
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


def vetted_operations(proposal: Proposal, bench: Bench) -> tuple[Operation, ...]:
    """Check a plan and return its operations as the stations will be asked for them.

    Args:
        proposal: The plan.
        bench: The chemical system and its shelf.

    Returns:
        The operations, the dose turned into masses under the shelf's names.

    Raises:
        ProposalError: As for `check_proposal`.
    """
    charge = _Charge(bench, proposal.operations[0])
    operations = (charge.weighed, *proposal.operations[1:])
    for number, operation in enumerate(operations):
        try:
            driver_of(operation).check(operation)
            if isinstance(operation, Heat):
                charge.check(operation)
        except ProposalError as error:
            raise ProposalError(f"operations[{number}] ({operation.op}): {error}") from None
    return operations


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
    """What goes into the crucible, by its labels."""

    def __init__(self, bench: Bench, dose: Operation) -> None:
        if not isinstance(dose, Dose):
            raise ProposalError("a plan starts with 'dose'")
        self._bench = bench
        try:
            self.weighed = weighed(dose, bench)
        except ProposalError as error:
            raise ProposalError(f"operations[0] (dose): {error}") from None
        shelf, per_kg = bench.shelf, bench.cations_mol_per_kg
        cations = np.zeros(per_kg.shape[1])
        for precursor in self.weighed.precursors:
            cations += (precursor.mass_kg or 0.0) * per_kg[shelf.index(precursor.substance)]
        self._share = cations / cations.sum()  # (C,)

    def check(self, heat: Heat) -> None:
        """Refuse a firing that would melt this charge or lose the crucible.

        Args:
            heat: The firing.

        Raises:
            ProposalError: If it is refused.
        """
        peak_k = heat.peak_k
        for limit in self._bench.system.melting:
            if peak_k > limit.temperature_k and self._liquid(limit) > CERTAIN_LIQUID:
                melting, melts = " with ".join(limit.phases), _celsius(limit.temperature_k)
                raise ProposalError(
                    f"this charge ({self._described()}) melts: {melting} turns liquid above "
                    f"{melts} and the programme goes to {_celsius(peak_k)}; lower the target "
                    f"below {melts} or change the ratio of the precursors"
                )
        self._check_crucible(heat, peak_k)

    def _liquid(self, limit: MeltingLimit) -> float:
        """Return how far inside a melt's range of composition the charge lies, 0 to 1."""
        system, share = self._bench.system, float(self._share[0])
        ends = [system.tables.cation[system.phase_index(phase), 1] for phase in limit.phases]
        low, high = min(ends), max(ends)
        if high == low:  # phases of one composition: any other charge only passes through
            return 1.0 if abs(share - low) < SAME_SHARE else 0.0
        return float(2.0 * min(share - low, high - share) / (high - low))

    def _check_crucible(self, heat: Heat, peak_k: float) -> None:
        crucible = heat.crucible
        bare_k = CRUCIBLE_LIMIT_K[crucible]
        if peak_k > bare_k:
            raise ProposalError(
                f"a {crucible} crucible stands {_celsius(bare_k)}, not {_celsius(peak_k)}; lower "
                f"the target or write another crucible"
            )
        for limit in self._bench.shelf.crucible_limits:
            share = self._share[self._bench.cation_names.index(limit.cation)]
            if limit.crucible == crucible and share > limit.above_share and peak_k > limit.limit_k:
                instead = " or ".join(f"'{name}'" for name in limit.instead)
                raise ProposalError(
                    f"a charge with {share:.2f} {limit.cation} among the cations attacks a "
                    f"{crucible} crucible above {_celsius(limit.limit_k)} ({limit.reason}); write "
                    f"crucible {instead}, stay below that temperature or weigh in less "
                    f"{limit.cation}"
                )
        if crucible == "platinum" and peak_k > PLATINUM_OXYGEN_FREE_LIMIT_K:
            oxygen_pa = heat.partial_pressures_pa()["O2"]
            if oxygen_pa < OXYGEN_FREE_PA:
                raise ProposalError(
                    f"without oxygen (here {oxygen_pa:.2g} Pa) platinum alloys with reduced metal "
                    f"above {_celsius(PLATINUM_OXYGEN_FREE_LIMIT_K)}; write atmosphere 'air' or "
                    f"'oxygen', or crucible 'alumina' or 'magnesia'"
                )

    def _described(self) -> str:
        return ", ".join(
            f"{share:.2f} {name}"
            for name, share in zip(self._bench.cation_names, self._share, strict=True)
        )


def _celsius(temperature_k: float) -> str:
    return f"{temperature_k - CELSIUS_K:.0f} degC"


__all__ = ["DRIVER_OF", "check_proposal", "driver_of", "vetted_operations", "weighed"]
