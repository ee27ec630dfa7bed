"""Alloys by assessed databases (CALPHAD), through pycalphad: phases, first and last liquid.

For the alloys of `ASSESSMENTS` a database comes with pycalphad (the extra ``labenv[calphad]``); any
other TDB file can be opened. What comes back is a state of the alloy, or an energy that carries the
database it belongs to: each database has its own reference states and lattice stabilities, so that
its energies may be compared with one another and with nothing else. They are therefore no
`GibbsSource`, which the hulls of this package take, and `lowest` refuses a mixture of databases.

Left out: pressure other than 1 bar, gas, and how far a database may be trusted, which is what its
assessors say it is. No database for Nb-Sn, Mg-B or any of the oxides here is shipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from labenv.physics.thermochemistry.substance import STANDARD_PRESSURE_PA
from labenv_schemas.errors import ConfigError, ProposalError, SimulatorError, UnknownPluginError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import ModuleType

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LIQUID = "LIQUID"
_LEAST_SHARE = 1e-6  # of an element or a phase that counts as there
_COARSE = 0.1  # step of composition in a search; a two-phase field is wide next to an invariant
_AT_ONCE = 9  # temperatures looked at in one call, whose preparation is what takes time
_CLOSE_K = 0.5
_HIGHEST_K = 6000.0


@dataclass(frozen=True)
class Assessment:
    """A database that comes with pycalphad.

    Attributes:
        file: Its file's name.
        elements: What it assesses.
        without: Phases left out, such as graphite where cementite forms in its stead.
        source: Citation.
    """

    file: str
    elements: tuple[str, ...]
    without: frozenset[str]
    source: str


_NONE: frozenset[str] = frozenset()
ASSESSMENTS: Mapping[str, Assessment] = {
    "Pb-Sn": Assessment(
        "pbsn.tdb", ("Pb", "Sn"), _NONE, "Ngai & Chang, CALPHAD 5, 267 (1981), TDB file by NIMS"
    ),
    "Fe-C": Assessment(
        "cfe_broshe.tdb",
        ("Fe", "C"),
        frozenset({"GRAPHITE", "GRAPHITE_A9", "DIAMOND_A4"}),
        "Hallstedt et al., CALPHAD 34, 129 (2010), as shipped with pycalphad; without graphite",
    ),
    "Al-Zn": Assessment(
        "alzn_mey.tdb", ("Al", "Zn"), _NONE, "an Mey, Z. Metallkd. 84, 451 (1993), TDB by NIMS"
    ),
    "Cu-Mg": Assessment(
        "cumg.tdb", ("Cu", "Mg"), _NONE, "Liang et al., CALPHAD 22, 527 (1998), TDB by NIMS"
    ),
}


@dataclass(frozen=True)
class AlloyPhase:
    """A phase of an alloy at equilibrium.

    Attributes:
        name: As its database names it, such as ``"FCC_A1"``.
        share: Of all atoms, 0 to 1.
        composition: Mole fraction of each element in it.
    """

    name: str
    share: float
    composition: Mapping[str, float]


@dataclass(frozen=True)
class AlloyEnergy:
    """A Gibbs energy within one database.

    Attributes:
        value_j_mol_atom: J per mole of atoms.
        temperature_k: K.
        reference: Database whose reference states it is counted from.
    """

    value_j_mol_atom: float
    temperature_k: float
    reference: str


def lowest(energies: Sequence[AlloyEnergy]) -> int:
    """Return which of several energies of one composition is the lowest.

    Args:
        energies: All of one database and temperature.

    Returns:
        The index.

    Raises:
        ConfigError: If they have different references or temperatures, or there is none.
    """
    kinds = sorted({(e.reference, e.temperature_k) for e in energies})
    if len(kinds) != 1:
        raise ConfigError(
            "energies can be compared within one database at one temperature only; got "
            + (", ".join(f"{reference} at {t:g} K" for reference, t in kinds) or "none")
        )
    return int(np.argmin([e.value_j_mol_atom for e in energies]))


class AlloyDatabase:
    """An assessed database of alloys.

    Args:
        text: Content of a TDB file.
        name: What it is called, in messages and as the reference of its energies.
        without: Phases to leave out.

    Raises:
        ConfigError: If pycalphad is not installed, or the text is no database.
    """

    def __init__(self, text: str, name: str, without: Iterable[str] = ()) -> None:
        calphad = _pycalphad()
        try:
            self._database = calphad.Database.from_string(text, fmt="tdb")
        except Exception as cause:  # the parser raises errors of many kinds
            raise ConfigError(f"{name}: no TDB database: {cause}") from cause
        self.name = name
        self._phases = sorted(set(self._database.phases) - set(without))

    @cached_property
    def elements(self) -> tuple[str, ...]:
        """Elements it knows, by symbol."""
        found = {str(e).capitalize() for e in self._database.elements} - {"/-", "Va", "%"}
        return tuple(sorted(found))

    def phases(self, amounts: Mapping[str, float], temperature_k: float) -> tuple[AlloyPhase, ...]:
        """Return the phases at equilibrium at 1 bar, the largest first.

        Args:
            amounts: Moles of each element; only ratios matter.
            temperature_k: K.

        Returns:
            The phases; two of one name where a solution comes apart.

        Raises:
            ProposalError: If an amount or the temperature cannot be.
            UnknownPluginError: If the database does not know an element.
            SimulatorError: If no equilibrium was found.
        """
        found = self._equilibrium(self._fractions(amounts), np.array([temperature_k]))
        there = np.flatnonzero(found.shares[0, 0] > _LEAST_SHARE)
        if not there.size:
            raise SimulatorError(f"{self.name}: no equilibrium at {temperature_k} K")
        phases = [
            AlloyPhase(
                str(found.names[0, 0, i]),
                float(found.shares[0, 0, i]),
                dict(zip(found.elements, map(float, found.made[0, 0, i]), strict=True)),
            )
            for i in there
        ]
        return tuple(sorted(phases, key=lambda phase: -phase.share))

    def energy(self, amounts: Mapping[str, float], temperature_k: float) -> AlloyEnergy:
        """Return the Gibbs energy at equilibrium, within this database.

        Args:
            amounts: As `phases`.
            temperature_k: K.

        Returns:
            The energy with its reference.
        """
        found = self._equilibrium(self._fractions(amounts), np.array([temperature_k]))
        return AlloyEnergy(found.energy_j_mol, float(temperature_k), self.name)

    def melting_range_k(
        self, amounts: Mapping[str, float], low_k: float = 300.0, high_k: float = 3000.0
    ) -> tuple[float, float]:
        """Return solidus and liquidus of an alloy, K.

        Args:
            amounts: As `phases`.
            low_k: Where it is solid, K.
            high_k: Where it is liquid, K.

        Returns:
            The highest temperature without and the lowest with nothing but liquid, K.

        Raises:
            ProposalError: If it is not solid at `low_k` or not liquid at `high_k`.
        """
        fractions = self._fractions(amounts)

        def liquid(at_k: Floats) -> Floats:
            found = self._equilibrium(fractions, at_k)
            share = np.where(found.names[:, 0] == LIQUID, found.shares[:, 0], 0.0)
            return np.asarray(share.sum(axis=-1))

        ends = liquid(np.array([low_k, high_k]))
        if ends[0] > _LEAST_SHARE or ends[1] < 1.0 - _LEAST_SHARE:
            raise ProposalError(
                f"{self.name}: the alloy must be solid at {low_k:g} K and liquid at {high_k:g} K"
            )
        solidus = _begins(lambda t: liquid(t) > _LEAST_SHARE, low_k, high_k)
        return solidus, _begins(lambda t: liquid(t) > 1.0 - _LEAST_SHARE, solidus - 1.0, high_k)

    def first_seen_k(
        self, phase: str, elements: tuple[str, str], low_k: float = 300.0, high_k: float = 2000.0
    ) -> float:
        """Return the lowest temperature at which a phase is stable, whatever the composition.

        That of the liquid is the lowest eutectic (or melting point); of austenite, the eutectoid.

        Args:
            phase: As the database names it.
            elements: The two.
            low_k: Where it is not stable, K.
            high_k: Where it is, K.

        Returns:
            The temperature, K, to within a kelvin.

        Raises:
            ProposalError: If it is stable at `low_k` or nowhere at `high_k`.
            UnknownPluginError: If the database does not know the phase or an element.
        """
        if phase not in self._phases:
            raise UnknownPluginError(f"{self.name} has no phase {phase!r}; {self._phases}")

        def seen(at_k: Floats) -> NDArray[np.bool_]:
            found = self._equilibrium(_Range(elements), at_k)
            there = (found.names == phase) & (found.shares > _LEAST_SHARE)
            return np.asarray(there.any(axis=(1, 2)))

        ends = seen(np.array([low_k, high_k]))
        if ends[0] or not ends[1]:
            raise ProposalError(f"{phase} must not be stable at {low_k:g} K and be at {high_k:g} K")
        return _begins(seen, low_k, high_k)

    def _fractions(self, amounts: Mapping[str, float]) -> dict[str, float]:
        values = np.array(list(amounts.values()), dtype=np.float64)
        if not values.size or not np.isfinite(values).all() or (values <= 0.0).any():
            raise ProposalError(f"amounts must be finite and above 0 mol, got {dict(amounts)}")
        total = float(values.sum())
        return {element: float(n) / total for element, n in amounts.items()}

    def _equilibrium(self, fractions: Mapping[str, float] | _Range, at_k: Floats) -> _Equilibrium:
        if not bool(((at_k > 0.0) & (at_k < _HIGHEST_K)).all()):  # a nan compares false
            raise ProposalError(f"temperatures must be above 0 K and below {_HIGHEST_K:g} K")
        calphad = _pycalphad()
        names = fractions.elements if isinstance(fractions, _Range) else tuple(fractions)
        unknown = set(names) - set(self.elements)
        if unknown:
            raise UnknownPluginError(
                f"{self.name} has no {', '.join(sorted(unknown))}; it has "
                + ", ".join(self.elements)
            )
        v = calphad.variables
        conditions: dict[Any, Any] = {
            v.T: [float(t) for t in at_k],
            v.P: STANDARD_PRESSURE_PA,
            v.N: 1.0,
        }
        if isinstance(fractions, _Range):
            steps = np.arange(_COARSE / 2.0, 1.0, _COARSE)
            conditions[v.X(names[1].upper())] = [float(x) for x in steps]
        else:
            conditions |= {v.X(e.upper()): x for e, x in list(fractions.items())[1:]}
        components = [*(name.upper() for name in names), "VA"]
        found = calphad.equilibrium(self._database, components, self._phases, conditions)
        shares = np.nan_to_num(np.asarray(found.NP.values, dtype=np.float64))
        wide = shares.shape[-1]
        return _Equilibrium(
            tuple(str(name).capitalize() for name in found.component.values),
            found.Phase.values.reshape(at_k.size, -1, wide),
            shares.reshape(at_k.size, -1, wide),
            np.asarray(found.X.values, dtype=np.float64).reshape(at_k.size, -1, wide, len(names)),
            float(found.GM.values.ravel()[0]),
        )


@dataclass(frozen=True)
class _Range:
    """All compositions of two elements."""

    elements: tuple[str, str]


class _Equilibrium(NamedTuple):
    """What pycalphad found at T temperatures and C compositions, with V places for phases."""

    elements: tuple[str, ...]
    names: NDArray[np.str_]  # (T, C, V)
    shares: Floats  # (T, C, V)
    made: Floats  # (T, C, V, E)
    energy_j_mol: float  # of the first


def _begins(holds: Callable[[Floats], NDArray[np.bool_]], low_k: float, high_k: float) -> float:
    """Return where a condition begins to hold, from `low_k` (not) to `high_k` (so)."""
    while high_k - low_k > _CLOSE_K:
        inside = np.linspace(low_k, high_k, _AT_ONCE + 2)
        first = int(np.argmax(np.append(holds(inside[1:-1]), True)))
        low_k, high_k = float(inside[first]), float(inside[first + 1])
    return 0.5 * (low_k + high_k)


@lru_cache(maxsize=8)
def alloy_database(name: str) -> AlloyDatabase:
    """Open one of the databases that come with pycalphad.

    Args:
        name: One of `ASSESSMENTS`.

    Returns:
        The database.

    Raises:
        UnknownPluginError: If none of that name is known.
        ConfigError: If pycalphad is not installed or does not ship it.
    """
    if name not in ASSESSMENTS:
        raise UnknownPluginError(f"no alloy database {name!r}; there are {', '.join(ASSESSMENTS)}")
    assessment = ASSESSMENTS[name]
    folder = Path(str(_pycalphad().__file__)).parent / "tests" / "databases"
    path = folder / assessment.file
    if not path.is_file():
        raise ConfigError(f"this pycalphad ships no {assessment.file}; install pycalphad 0.11")
    return AlloyDatabase(path.read_text(encoding="utf-8"), name, assessment.without)


def _pycalphad() -> ModuleType:
    try:
        import pycalphad
    except ModuleNotFoundError as missing:
        raise ConfigError(
            "alloys need pycalphad; install it with: pip install 'labenv[calphad]'"
        ) from missing
    return cast("ModuleType", pycalphad)


__all__ = [
    "ASSESSMENTS",
    "LIQUID",
    "AlloyDatabase",
    "AlloyEnergy",
    "AlloyPhase",
    "Assessment",
    "alloy_database",
    "lowest",
]
