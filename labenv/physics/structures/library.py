"""The phases that ship with labenv, found by name, alias, formula or chemical system."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from labenv.physics.structures.phase import CrystalPhase, Site
from labenv_schemas.errors import SimulatorError, UnknownPluginError
from labenv_schemas.formula import Formula, parse_formula
from labenv_schemas.suggestions import meant

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


OTHER_DENSITY_KG_M3 = 5500.0  # estimate, for phases without a published crystal structure


class PhaseLibrary:
    """An immutable collection of crystal phases."""

    def __init__(self, phases: Iterable[CrystalPhase]) -> None:
        """Index the phases.

        Args:
            phases: In the order in which `names` and searches shall give them.

        Raises:
            SimulatorError: If two phases share a name or alias, or a formula cannot be read.
        """
        self._phases: dict[str, CrystalPhase] = {}
        self._by_key: dict[str, CrystalPhase] = {}
        self._formulas: dict[str, Formula] = {}
        for phase in phases:
            self._add(phase)

    def __len__(self) -> int:
        return len(self._phases)

    def __iter__(self) -> Iterator[CrystalPhase]:
        return iter(self._phases.values())

    def __contains__(self, name_or_alias: object) -> bool:
        return isinstance(name_or_alias, str) and _key(name_or_alias) in self._by_key

    def names(self) -> tuple[str, ...]:
        """Return the unique names of all phases."""
        return tuple(self._phases)

    def get(self, name_or_alias: str) -> CrystalPhase:
        """Return the one phase of a name or alias, letter case ignored.

        Args:
            name_or_alias: Such as ``anatase`` or ``BaTiO3-tetragonal``.

        Returns:
            The phase.

        Raises:
            UnknownPluginError: If no phase has the name; the message gives the nearest.
        """
        found = self._by_key.get(_key(name_or_alias))
        if found is None:
            raise self._unknown(name_or_alias)
        return found

    def resolve(self, text: str) -> tuple[CrystalPhase, ...]:
        """Return the phases that a name, an alias or a formula may mean.

        Args:
            text: A name or alias, which gives one phase, or a formula, which gives every polymorph
                of that composition (``O2Ti`` finds anatase, rutile and brookite).

        Returns:
            At least one phase.

        Raises:
            UnknownPluginError: If nothing matches; the message gives the nearest name and what is
                known of the same elements.
        """
        named = self._by_key.get(_key(text))
        formula = _formula_or_none(text)
        if formula is not None:
            found = tuple(
                phase
                for name, phase in self._phases.items()
                if self._formulas[name].same_composition(formula, tolerance=1e-3)
            )
            if found:
                return found
        # A text that is a formula of something else (NB, not Nb) is a name only as it stands.
        if named is not None and (formula is None or text in (named.name, *named.aliases)):
            return (named,)
        raise self._unknown(text)

    def search(self, elements: Iterable[str]) -> tuple[CrystalPhase, ...]:
        """Return the phases of a chemical system and of its subsystems.

        Args:
            elements: Symbols of the elements allowed.

        Returns:
            Every phase whose elements are all among them; empty if there is none.

        Raises:
            UnknownPluginError: If a symbol is no element.
        """
        allowed: set[str] = set()
        for symbol in elements:
            formula = _formula_or_none(symbol)
            if formula is None or len(formula.elements) != 1:
                message = f"{symbol!r} is no chemical element; write symbols such as Ti, O"
                raise UnknownPluginError(message)
            allowed |= formula.elements
        return tuple(phase for phase in self if phase.elements <= allowed)

    def _add(self, phase: CrystalPhase) -> None:
        try:
            self._formulas[phase.name] = parse_formula(phase.formula)
        except ValueError as cause:
            message = f"phase {phase.name!r}: {cause}"
            raise SimulatorError(message) from cause
        for name in (phase.name, *phase.aliases):
            other = self._by_key.setdefault(_key(name), phase)
            if other is not phase:
                message = f"the name {name!r} belongs to both {other.name!r} and {phase.name!r}"
                raise SimulatorError(message)
        self._phases[phase.name] = phase

    def _unknown(self, text: str) -> UnknownPluginError:
        near = meant(_key(text), tuple(self._by_key), cutoff=0.6)
        hints = [] if near is None else [self._by_key[near].name]
        formula = _formula_or_none(text)
        if formula is not None:
            hints += [p.name for p in self if p.elements == formula.elements]
        said = ", ".join(dict.fromkeys(hints)) or "nothing like it"
        return UnknownPluginError(
            f"no crystal structure is known for {text!r}; the library of {len(self)} phases has "
            f"{said}; give the structure as a CIF file to use another"
        )


@cache
def phase_library() -> PhaseLibrary:
    """Return the library that ships with labenv.

    Returns:
        The library, read once per process.

    Raises:
        SimulatorError: If a data file is damaged; the message names file and phase.
    """
    folder = files("labenv.physics.structures") / "data"
    phases: list[CrystalPhase] = []
    for entry in sorted(folder.iterdir(), key=lambda item: item.name):
        if entry.name.endswith(".json"):
            phases.extend(_read(entry.name, entry.read_text(encoding="utf-8")))
    return PhaseLibrary(phases)


@cache
def crystal_density_kg_m3(structure: str) -> float:
    """Return the density of a crystal.

    Args:
        structure: Slug in the library.

    Returns:
        kg/m^3, an estimate if the library does not have it.
    """
    library = phase_library()
    return library.get(structure).density_kg_m3 if structure in library else OTHER_DENSITY_KG_M3


def _read(file_name: str, text: str) -> Iterator[CrystalPhase]:
    for record in json.loads(text):
        try:
            yield _phase(record)
        except (KeyError, TypeError, ValueError) as cause:
            message = f"{file_name}, phase {record.get('name')!r}: {cause!r}"
            raise SimulatorError(message) from cause


def _phase(record: dict[str, Any]) -> CrystalPhase:
    a, b, c, alpha, beta, gamma = map(float, record.pop("lattice"))
    sites = tuple(Site(str(element), *map(float, rest)) for element, *rest in record.pop("sites"))
    aliases = tuple(record.pop("aliases", ()))
    return CrystalPhase(
        lattice=(a, b, c, alpha, beta, gamma), sites=sites, aliases=aliases, **record
    )


def _key(name: str) -> str:
    return name.strip().casefold().replace("_", "-")


def _formula_or_none(text: str) -> Formula | None:
    try:
        return parse_formula(text)
    except ValueError:
        return None
