"""The shelf: which substances the lab can weigh for a chemical system, and of what quality.

Data are in one file a system, `labenv/physics/data/shelf_*.toml`; a system that is generated has
the powders of its metals from `labenv/physics/data/reagents.toml`. The order of substances is the
order of columns of every (N, S) array of this room.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from labenv.lab.crucibles import CRUCIBLE_COST
from labenv.physics.systems import bottles_of, load_system, reagents
from labenv_schemas.errors import ConfigError, ProposalError
from labenv_schemas.formula import parse_formula

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from labenv.physics.reactions import ReactionSystem
    from labenv_schemas.proposal import PrecursorDose

    Floats = NDArray[np.float64]

_FOLDER = resources.files("labenv.physics") / "data"


@dataclass(frozen=True)
class ShelfSubstance:
    """One bottle.

    Attributes:
        name: What proposals call it.
        aliases: Other names that are understood.
        formula: Chemical formula of the label.
        molar_mass_kg_mol: Of the label, kg/mol.
        phases: Phase of the chemical system to mass fraction of the pure substance.
        purity: Nominal mass fraction that is what the label says; the rest is inert.
        purity_sd: Its spread from lot to lot.
        particle_radius_m: Nominal particle radius, m.
        radius_sigma_ln: Spread of the radius' logarithm from lot to lot.
        price_per_kg: In the lab's currency.
        hazards: Statements of the Globally Harmonized System, such as ``"H302"``; empty where none
            is recorded.
    """

    name: str
    aliases: tuple[str, ...]
    formula: str
    molar_mass_kg_mol: float
    phases: Mapping[str, float]
    purity: float
    purity_sd: float
    particle_radius_m: float
    radius_sigma_ln: float
    price_per_kg: float
    hazards: tuple[str, ...] = ()


@dataclass(frozen=True)
class CrucibleLimit:
    """A charge that attacks a crucible.

    Attributes:
        crucible: The crucible's material.
        cation: The cation that attacks it.
        above_share: Share of the cations above which it does.
        limit_k: Temperature from which it does, K.
        reason: What happens.
        instead: Crucibles that stand it.
    """

    crucible: str
    cation: str
    above_share: float
    limit_k: float
    reason: str
    instead: tuple[str, ...]


@dataclass(frozen=True)
class Shelf:
    """All substances for a chemical system, S of them.

    Attributes:
        system_name: The chemical system.
        substances: The bottles; their order is the order of every (N, S) array.
        crucible_limits: Which charges attack which crucibles.
    """

    system_name: str
    substances: tuple[ShelfSubstance, ...]
    crucible_limits: tuple[CrucibleLimit, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the substances, in array order."""
        return tuple(substance.name for substance in self.substances)

    @cached_property
    def _positions(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for position, substance in enumerate(self.substances):
            for name in (substance.name, *substance.aliases):
                if found.setdefault(_key(name), position) != position:
                    raise ConfigError(f"shelf of {self.system_name}: {name!r} names two substances")
        return found

    def index(self, name: str) -> int:
        """Return the position of a substance in every (N, S) array.

        Args:
            name: Its name or an alias; case and spaces do not matter.

        Returns:
            The position.

        Raises:
            ProposalError: If nothing of that name is on the shelf, or several of that formula are;
                the message names what to write.
        """
        position = self._positions.get(_key(name))
        if position is None:
            raise ProposalError(self._not_there(name))
        return position

    def get(self, name: str) -> ShelfSubstance:
        """Return a substance by name or alias.

        Args:
            name: As for `index`.

        Returns:
            The substance.
        """
        return self.substances[self.index(name)]

    def mass_kg(self, dose: PrecursorDose) -> float:
        """Return the mass to weigh for a dose, taking the bottle for what its label says.

        Args:
            dose: By mass or by amount.

        Returns:
            Mass, kg.
        """
        if dose.mass_kg is not None:
            return dose.mass_kg
        amount_mol = dose.amount_mol or 0.0
        return amount_mol * self.get(dose.substance).molar_mass_kg_mol

    @cached_property
    def phase_share(self) -> Floats:
        """Mass fraction of each of the system's phases in the pure substance, shape (S, P)."""
        system = load_system(self.system_name)
        share = np.zeros((len(self.substances), len(system.phases)))
        for row, substance in enumerate(self.substances):
            for phase, fraction in substance.phases.items():
                share[row, system.phase_index(phase)] = fraction
        return share

    def _not_there(self, name: str) -> str:
        same = [s.name for s in self.substances if _same_formula(s.formula, name)]
        if len(same) > 1:
            return f"{name!r} may be any of {_listed(same)}; write which one"
        return f"{name!r} is not on the shelf; there are {_listed(self.names)}"


def load_shelf(system_name: str = "Ba-Ti-C-O") -> Shelf:
    """Load the shelf of a chemical system.

    Args:
        system_name: Name of the system.

    Returns:
        The shelf; the same object for the same name.

    Raises:
        UnknownPluginError: If no shelf file names that system and none can be set up for it.
        ConfigError: If the file is inconsistent.
    """
    return _load_shelf(system_name)


@lru_cache(maxsize=16)
def _load_shelf(system_name: str) -> Shelf:
    for entry in sorted(_FOLDER.iterdir(), key=lambda e: e.name):
        if entry.name.startswith("shelf_") and entry.name.endswith(".toml"):
            content = tomllib.loads(entry.read_text(encoding="utf-8"))
            if content["system"] == system_name:
                return read_shelf(content, load_system(system_name))
    system = load_system(system_name)  # first: what it says of a wrong name is plainer
    limits = [r for r in reagents()["crucible_limits"] if r["cation"] in cation_names(system)]
    rows = [
        {**row, "formula": row["name"], "phases": {row["phase"]: 1.0}}
        for row in bottles_of(system_name)
    ]
    content = {"system": system_name, "crucible_limits": limits, "substances": rows}
    return read_shelf(content, system)


def read_shelf(content: Mapping[str, Any], system: ReactionSystem) -> Shelf:
    """Make a shelf from the content of a data file.

    Args:
        content: The parsed file.
        system: The chemical system.

    Returns:
        The shelf.

    Raises:
        ConfigError: If a substance names an unknown phase, or its phases do not sum to 1, do not
            have the formula's elements, a crucible limit names no crucible or cation, or a number
            is out of range.
    """
    limits = tuple(_limit(row, system) for row in content.get("crucible_limits", ()))
    substances = tuple(_substance(row, system) for row in content["substances"])
    shelf = Shelf(content["system"], substances, limits)
    if len(set(shelf.names)) != len(shelf.names):
        raise ConfigError(f"shelf of {shelf.system_name}: a substance is listed twice")
    return shelf


def cation_names(system: ReactionSystem) -> tuple[str, ...]:
    """Return the elements that count as cations in a system's tables, C of them, in their order."""
    table, counts = system.tables.cation, system.element_counts
    return tuple(
        next(
            name
            for name, count in zip(system.element_names, counts.T, strict=True)
            if np.allclose(count, table[:, 0] * share, rtol=1e-9, atol=1e-9)
        )
        for share in table[:, 1:].T
    )


def _limit(row: Mapping[str, Any], system: ReactionSystem) -> CrucibleLimit:
    place = f"shelf of {system.name}, crucible limit of {row['cation']} in {row['crucible']}"
    if row["cation"] not in cation_names(system):
        raise ConfigError(f"{place}: the cations are {_listed(cation_names(system))}")
    unknown = sorted({row["crucible"], *row["instead"]} - set(CRUCIBLE_COST))
    if unknown:
        raise ConfigError(
            f"{place}: {unknown} are no crucibles; there are {_listed([*CRUCIBLE_COST])}"
        )
    if row["crucible"] in row["instead"] or not row["instead"]:
        raise ConfigError(f"{place}: 'instead' must name other crucibles")
    if not (0.0 <= row["above_share"] < 1.0 and row["limit_k"] > 273.15):
        raise ConfigError(f"{place}: above_share must lie in [0, 1) and limit_k above 273 K")
    return CrucibleLimit(
        crucible=row["crucible"],
        cation=row["cation"],
        above_share=float(row["above_share"]),
        limit_k=float(row["limit_k"]),
        reason=row["reason"],
        instead=tuple(row["instead"]),
    )


def _substance(row: Mapping[str, Any], system: ReactionSystem) -> ShelfSubstance:
    place = f"shelf of {system.name}, {row.get('name', '?')}"
    unknown = sorted(set(row["phases"]) - set(system.phase_names))
    if unknown:
        raise ConfigError(f"{place}: {unknown} are no phases of the system")
    if abs(sum(row["phases"].values()) - 1.0) > 1e-12:
        raise ConfigError(
            f"{place}: mass fractions of the phases sum to {sum(row['phases'].values())}"
        )
    formula = parse_formula(row["formula"])
    for phase in row["phases"]:
        elements = system.phases[system.phase_index(phase)].elements
        if {e for e, n in elements.items() if n} != set(formula.amounts):
            raise ConfigError(f"{place}: {phase} does not have the elements of {formula}")
    if not (0.5 < row["purity"] <= 1.0 and row["purity_sd"] >= 0.0):
        raise ConfigError(f"{place}: purity must lie above 0.5 and at most 1")
    if not (row["particle_radius_m"] > 0.0 and row["price_per_kg"] >= 0.0):
        raise ConfigError(f"{place}: particle radius must be above 0 m and price at least 0")
    return ShelfSubstance(
        name=row["name"],
        aliases=tuple(row["aliases"]),
        formula=row["formula"],
        molar_mass_kg_mol=formula.molar_mass_kg_per_mol,
        phases=dict(row["phases"]),
        purity=float(row["purity"]),
        purity_sd=float(row["purity_sd"]),
        particle_radius_m=float(row["particle_radius_m"]),
        radius_sigma_ln=float(row["radius_sigma_ln"]),
        price_per_kg=float(row["price_per_kg"]),
        hazards=tuple(row.get("hazards", ())),
    )


def _same_formula(formula: str, name: str) -> bool:
    try:
        return parse_formula(name) == parse_formula(formula)
    except ValueError:
        return False


def _key(name: str) -> str:
    return "".join(name.split()).casefold()


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


__all__ = ["CrucibleLimit", "Shelf", "ShelfSubstance", "cation_names", "load_shelf", "read_shelf"]
