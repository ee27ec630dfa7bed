"""Pairs of precursors as systems to map: their labels, compositions, powders and gas.

Composition x is the share of cations that the second precursor brings. A label stands for what a
scan can tell apart: each crystal structure among the system's phases; ``unseen`` for all phases
whose structure is unknown, which scatter like glass; ``liquid`` for a charge that has melted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from labenv.physics.kinetics import heat_program, mill, new_powder, react, stack_programs
from labenv.physics.networks.generation import Surroundings, generate_system
from labenv.physics.thermochemistry.sources import substance_table
from labenv_schemas.errors import ConfigError, UnknownPluginError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labenv.physics.kinetics import ReactionResult
    from labenv.physics.reactions import ReactionSystem

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

DEFAULT_PAIRS = ("BaCO3-TiO2", "CaCO3-SiO2", "Y2O3-Fe2O3", "Bi2O3-MoO3", "ZnO-SiO2")
UNSEEN, LIQUID = "unseen", "liquid"
MILL_S = 4.0 * 3600.0
RADIUS_M = 0.5e-6
RATE_K_PER_S = 5.0 / 60.0
QUENCH_K_PER_S = 50.0  # drawn from the furnace hot, so that what was there stays
# Common furnaces end near 1400 degC; below 0.6 of that little reacts. A choice, not data.
HIGHEST_K, LOWEST_SHARE, LOWEST_K = 1673.0, 0.6, 500.0
ABOVE_FIRST_MELT_K = 100.0


@dataclass(frozen=True, eq=False)
class MappedSystem:
    """Two precursors and what can come of them in air.

    Attributes:
        name: Such as ``BaCO3-TiO2``.
        precursors: Names of the two substances.
        system: What `generate_system` makes of them, P phases.
    """

    name: str
    precursors: tuple[str, str]
    system: ReactionSystem

    def __reduce__(self) -> tuple[object, ...]:
        return (mapped_system, (self.name,))

    @cached_property
    def structures(self) -> tuple[str, ...]:
        """Slugs of the structures that a scan can show, each once, D of them."""
        from labenv.physics.structures.library import phase_library

        library = phase_library()
        return tuple(dict.fromkeys(s for s in self.system.structures if s in library))

    @property
    def labels(self) -> tuple[str, ...]:
        """What a point can show: structures, then ``unseen`` and ``liquid``; L = D + 2."""
        return (*self.structures, UNSEEN, LIQUID)

    @cached_property
    def label_of_phase(self) -> Ints:
        """Index of each phase's label, shape (P,)."""
        unseen = len(self.structures)
        found = [
            self.structures.index(s) if s in self.structures else unseen
            for s in self.system.structures
        ]
        return np.array(found, dtype=np.int64)

    @cached_property
    def label_compositions(self) -> Floats:
        """Cation share of the second precursor's cations in each structure, shape (D,)."""
        table = self.system.tables.cation
        second = self._cations_of_second
        share = (table[:, 1:] * second).sum(axis=1)
        first = [
            int(np.flatnonzero(self.label_of_phase == d)[0]) for d in range(len(self.structures))
        ]
        return np.asarray(np.clip(share[first], 0.0, 1.0))

    @cached_property
    def _cations_of_second(self) -> Floats:
        # Of each cation, the part that the second precursor is made of; shared cations count half.
        one, other = (self.system.tables.cation[p, 1:] for p in self._columns)
        return np.divide(other, one + other, out=np.zeros_like(one), where=one + other > 0.0)

    @cached_property
    def _columns(self) -> tuple[int, int]:
        one, other = (self.system.phase_index(name) for name in self.precursors)
        return one, other

    @cached_property
    def gas_pa(self) -> Floats:
        """Air around the powder, Pa, shape (G,)."""
        weighed = [substance_table().get(name) for name in self.precursors]
        return np.array(list(Surroundings().pressures_pa(weighed).values()))

    @cached_property
    def temperature_range_k(self) -> tuple[float, float]:
        """Temperatures worth mapping: to a little above the first melt, at most 1673 K; K."""
        melts = [limit.temperature_k for limit in self.system.melting]
        high = min([HIGHEST_K, *[melt + ABOVE_FIRST_MELT_K for melt in melts]])
        high = 10.0 * round(high / 10.0)
        return max(LOWEST_K, LOWEST_SHARE * high), max(high, LOWEST_K + 100.0)

    def amounts_mol(self, x: Floats) -> Floats:
        """Return powders of one mole of cations.

        Args:
            x: Compositions, shape (N,).

        Returns:
            Amounts of the phases, mol, shape (N, P).
        """
        amounts = np.zeros((len(x), len(self.system.phases)))
        for column, share in zip(self._columns, (1.0 - x, x), strict=True):
            amounts[:, column] += share / self.system.tables.cation[column, 0]
        return amounts

    def fire(
        self, x: Floats, temperature_k: Floats, hold_s: Floats, factors: Floats | None = None
    ) -> ReactionResult:
        """Mill, heat, hold and quench powders.

        Args:
            x: Compositions, shape (N,).
            temperature_k: True temperatures held, K, shape (N,).
            hold_s: How long, s, shape (N,).
            factors: Factors on the nominal rates, shape (R,); None for 1.

        Returns:
            The powders after firing; a row does not depend on the others.
        """
        radius = np.full((len(x), 1), RADIUS_M)
        powder = new_powder(self.system, self.amounts_mol(x), radius)
        powder = mill(self.system, powder, np.full(len(x), MILL_S))
        programs = [
            heat_program([(to_k, RATE_K_PER_S, s)], cooling_k_per_s=QUENCH_K_PER_S)
            for to_k, s in zip(temperature_k.tolist(), hold_s.tolist(), strict=True)
        ]
        return react(self.system, powder, stack_programs(programs), self.gas_pa, factors)

    def label_shares(self, mass_fractions: Floats) -> Floats:
        """Return mass fractions by label.

        Args:
            mass_fractions: Of the phases, shape (N, P).

        Returns:
            Of the labels, the last (liquid) zero, shape (N, L).
        """
        shares = np.zeros((len(mass_fractions), len(self.labels)))
        for phase, label in enumerate(self.label_of_phase.tolist()):
            shares[:, label] += mass_fractions[:, phase]
        return shares


def mapped_system(name: object) -> MappedSystem:
    """Return the system of two precursors, made once per process.

    Args:
        name: Two substances with thermochemistry, by name or formula, joined by a hyphen.

    Returns:
        The system.

    Raises:
        ConfigError: If the name is not such a pair, a substance has no thermochemistry, or none of
            the phases has a known structure.
    """
    if not isinstance(name, str):
        raise ConfigError(f"a pair of precursors is written as BaCO3-TiO2, not {name!r}")
    return _mapped_system(name)


@lru_cache(maxsize=32)
def _mapped_system(name: str) -> MappedSystem:
    parts = tuple(part.strip() for part in name.split("-"))
    if len(parts) != 2 or parts[0] == parts[1] or not all(parts):
        raise ConfigError(f"a pair of precursors is written as BaCO3-TiO2, not {name!r}")
    try:
        one, other = (substance_table().get(part).name for part in parts)
        system = generate_system((one, other))
    except UnknownPluginError as reason:
        raise ConfigError(f"{name}: {reason}") from None
    if one == other:
        raise ConfigError(f"{name} names one substance twice")
    found = MappedSystem(name, (one, other), system)
    if not found.structures:
        raise ConfigError(f"{name}: no phase has a known structure, so that scans show nothing")
    return found


__all__ = ["DEFAULT_PAIRS", "LIQUID", "UNSEEN", "MappedSystem", "mapped_system"]
