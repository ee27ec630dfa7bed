"""The substances that have Gibbs energies here: tabulated ones and the cited systems' rows.

Two kinds of file in `labenv/physics/data/thermochemistry/`:

- `tabulated.json`, written by `labenv.physics.thermochemistry.build_tables`: experimental tables of
  simple substances, each checked against a second source;
- one TOML file per chemical system, whose rows give the Gibbs energy of a reaction that forms a
  compound from simpler substances. A row takes the place of a tabulated substance of its name.

All energies stand on one scale (elements in their reference states at 298.15 K have enthalpy zero),
so that any balanced difference is a reaction energy. A row whose reaction energy comes from the
machine-learning potential is a difference within that potential, put onto experimental reactants:
absolute energies of a potential never meet the experimental ones.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from labenv.physics.thermochemistry.substance import REFERENCE_K
from labenv_schemas.errors import ConfigError, ProposalError, UnknownPluginError
from labenv_schemas.formula import parse_formula

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

_FOLDER = resources.files("labenv.physics") / "data" / "thermochemistry"
BELOW_GRID_K = 5.0  # room temperature lies just below the tables' first temperature
HIGHEST_K = 2300.0
# What files say of substances by tables of their own, see `TabulatedSubstance`.
SEEN = ("onset_k", "hindered", "forms_from_k", "oxidises_from_k", "leaves_from_k")
CP_BEYOND_J_MOL_K = 25.5  # per mole of atoms, by Dulong & Petit with a little expansion


@dataclass(frozen=True)
class TabulatedSubstance:
    """A substance whose Gibbs energy is a table over temperature.

    Attributes:
        name: Plain formula, such as ``"BaFe2O4"``, or a name given by a row.
        elements: Atoms per formula unit.
        temperature_k: The table's temperatures, K, shape (K,).
        table_j_mol: Gibbs energies, J/mol, shape (K,).
        uncertainty_j_mol: One standard deviation of the Gibbs energy, J/mol.
        sources: Citations.
        estimate: Whether it is an estimate and no measurement.
        gas: Whether it is a gas at 1 bar.
        structure: Slug in the structure library; empty if none is known.
        melting_k: Melting or peritectic temperature, K; `None` if not known.
        onset_k: Temperature at which its ions begin to move, K, where it was seen and is not what
            the melting temperature suggests; `None` for the rule.
        hindered: Factor on the rates of its formation, below 1 where it is known not to nucleate.
        forms_from_k: Temperature from which it forms in an hour where that is far above where it is
            stable, K; 0 for no such threshold.
        oxidises_from_k: Temperature at which its fine powder was seen to begin to take up oxygen
            (a tenth in some hours), K; 0 for the rule.
        leaves_from_k: Temperature from which a nitrate loses its nitrogen for good, K; 0 for where
            it is unstable under the pressure of NO2.
        uncertainty_j_mol_k: What a kelvin above room temperature adds to the uncertainty,
            J/(mol K); above 0 where heat capacity and entropy are those of the reactants.
    """

    name: str
    elements: Mapping[str, float]
    temperature_k: Floats = field(repr=False, compare=False)
    table_j_mol: Floats = field(repr=False, compare=False)
    uncertainty_j_mol: float
    sources: tuple[str, ...]
    estimate: bool = False
    gas: bool = False
    structure: str = ""
    melting_k: float | None = None
    onset_k: float | None = None
    hindered: float = 1.0
    forms_from_k: float = 0.0
    oxidises_from_k: float = 0.0
    leaves_from_k: float = 0.0
    uncertainty_j_mol_k: float = 0.0

    @property
    def t_max_k(self) -> float:
        """Highest temperature that the table may be asked for, K."""
        return HIGHEST_K

    @property
    def atoms(self) -> float:
        """Atoms per formula unit."""
        return float(sum(self.elements.values()))

    def gibbs_j_mol(self, temperature_k: ArrayLike) -> Floats:
        """Return the standard Gibbs energy at each temperature.

        Args:
            temperature_k: Temperatures, K, any shape.

        Returns:
            Gibbs energy, J/mol, of the temperatures' shape.

        Raises:
            ProposalError: If a temperature lies outside the table.
        """
        t = np.asarray(temperature_k, dtype=np.float64)
        low, high = float(self.temperature_k[0]) - BELOW_GRID_K, self.t_max_k
        if t.size and not bool(np.all((t >= low) & (t <= high))):
            raise ProposalError(
                f"{self.name}: thermochemistry holds from {low:g} K to {high:g} K; asked for "
                f"{float(np.min(t)):.2f} K to {float(np.max(t)):.2f} K"
            )
        grid, table = self.temperature_k, self.table_j_mol
        # A parabola through the three nearest points: linear in the table's values, so that what
        # cancels between balanced tables cancels exactly.
        k = np.clip(np.searchsorted(grid, t) - 1, 0, grid.size - 3)
        x0, x1, x2 = grid[k], grid[k + 1], grid[k + 2]
        y0, y1, y2 = table[k], table[k + 1], table[k + 2]
        inside = np.minimum(t, grid[-1])
        energy = (
            y0 * (inside - x1) * (inside - x2) / ((x0 - x1) * (x0 - x2))
            + y1 * (inside - x0) * (inside - x2) / ((x1 - x0) * (x1 - x2))
            + y2 * (inside - x0) * (inside - x1) / ((x2 - x0) * (x2 - x1))
        )
        # Beyond the table's end its last slope goes on, bent by a usual heat capacity.
        slope = (table[-1] - table[-2]) / (grid[-1] - grid[-2])
        heat = CP_BEYOND_J_MOL_K * self.atoms
        middle = 0.5 * (grid[-1] + grid[-2])  # where the slope is the curve's own
        excess = t - inside
        bend = (t * np.log(t / middle) - (t - middle)) - (
            inside * np.log(inside / middle) - (inside - middle)
        )
        return np.asarray(energy + slope * excess - heat * bend)

    def uncertainty_at_j_mol(self, temperature_k: float) -> float:
        """Return one standard deviation of the Gibbs energy at a temperature, J/mol."""
        warmer = self.uncertainty_j_mol_k * max(0.0, temperature_k - REFERENCE_K)
        return float(np.hypot(self.uncertainty_j_mol, warmer))

    def enthalpy_and_entropy(self, temperature_k: ArrayLike) -> tuple[Floats, Floats]:
        """Return enthalpy, J/mol, and entropy, J/(mol K), by differences over 10 K."""
        t = np.clip(np.asarray(temperature_k, dtype=np.float64), REFERENCE_K + 3.0, None)
        entropy = -(self.gibbs_j_mol(t + 5.0) - self.gibbs_j_mol(t - 5.0)) / 10.0
        return self.gibbs_j_mol(t) + t * entropy, entropy


@dataclass(frozen=True)
class Eutectic:
    """A first liquid where phases meet."""

    phases: tuple[str, ...]
    temperature_k: float
    source: str


@dataclass(frozen=True)
class Contact:
    """Two phases whose reaction is known to begin elsewhere than rules say."""

    phases: frozenset[str]
    onset_k: float
    source: str


@dataclass(frozen=True)
class SubstanceTable:
    """All substances, by name, and what is known of their meetings.

    Attributes:
        substances: By name.
        eutectics: First liquids.
        contacts: Onsets seen.
        systems: Titles of the cited systems by name.
    """

    substances: Mapping[str, TabulatedSubstance]
    eutectics: tuple[Eutectic, ...]
    contacts: tuple[Contact, ...]
    systems: Mapping[str, str]

    def get(self, name: str) -> TabulatedSubstance:
        """Return a substance by its name or by any formula of the same atoms.

        Args:
            name: Name, or a formula such as ``"Ba(OH)2"``.

        Returns:
            The substance; of several of one formula the first named as the formula is.

        Raises:
            UnknownPluginError: If there is none.
        """
        if name in self.substances:
            return self.substances[name]
        try:
            amounts = dict(parse_formula(name).amounts)
        except ValueError:
            amounts = {}
        for substance in self.substances.values():
            if amounts and not substance.gas and _same(substance.elements, amounts):
                return substance
        raise UnknownPluginError(f"no thermochemistry of {name!r} is known")

    def within(self, elements: Iterable[str]) -> tuple[TabulatedSubstance, ...]:
        """Return the condensed substances made of some of the elements, by name."""
        allowed = set(elements)
        return tuple(
            s for s in self.substances.values() if not s.gas and set(s.elements) <= allowed
        )

    def gases(self, elements: Iterable[str]) -> tuple[TabulatedSubstance, ...]:
        """Return the gases made of some of the elements."""
        allowed = set(elements)
        return tuple(s for s in self.substances.values() if s.gas and set(s.elements) <= allowed)


def _same(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    if set(one) != set(other):
        return False
    ratios = [one[e] / other[e] for e in one]
    return max(ratios) - min(ratios) < 1e-6 * max(ratios)


@lru_cache(maxsize=1)
def experimental_table() -> SubstanceTable:
    """Return the table of all substances that files hold; read once.

    Returns:
        The table: measured, assessed and estimated, without the potential's.

    Raises:
        ConfigError: If a file is inconsistent.
    """
    tabulated = json.loads((_FOLDER / "tabulated.json").read_text(encoding="utf-8"))
    files = sorted((f for f in _FOLDER.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)
    contents = [(f.name, tomllib.loads(f.read_text(encoding="utf-8"))) for f in files]
    return build_table(tabulated, contents)


def build_table(
    tabulated: Mapping[str, Any],
    systems: Sequence[tuple[str, Mapping[str, Any]]],
) -> SubstanceTable:
    """Build the table from the files' contents.

    Args:
        tabulated: Content of `tabulated.json`.
        systems: File names and contents of the systems' files.

    Returns:
        The table.

    Raises:
        ConfigError: If a row does not balance, names an unknown reactant or source, or repeats a
            name.
    """
    grid = np.array(tabulated["grid_k"])
    melting_k = _joined(systems, "melting_k")
    found: dict[str, TabulatedSubstance] = {}
    for row in tabulated["substances"]:
        gas = row["state"] == "gas"
        name = f"{row['name']}(g)" if gas and row["name"] in found else row["name"]
        if not gas:
            name = _usual_name(name)
        known = len(row["gibbs_j_mol"])
        if known < 3:
            continue
        sources = tuple(tabulated["sources"][row[k]] for k in ("source", "second"))
        found[name] = TabulatedSubstance(
            name=name,
            elements=dict(parse_formula(row["name"]).amounts),
            temperature_k=grid[:known],
            table_j_mol=np.array(row["gibbs_j_mol"], dtype=np.float64),
            uncertainty_j_mol=float(row["uncertainty_j_mol"]),
            sources=sources,
            gas=gas,
            melting_k=melting_k.get(name),
        )
    waiting: list[tuple[str, Mapping[str, Any], Mapping[str, str]]] = []
    eutectics: list[Eutectic] = []
    contacts: list[Contact] = []
    titles: dict[str, str] = {}
    for file, content in systems:
        cited = content.get("sources", {})
        if "phases" in content:
            titles[content["name"]] = content.get("title", content["name"])
        waiting += [(file, row, cited) for row in content.get("phases", ())]
        eutectics += [
            Eutectic(tuple(row["phases"]), float(row["temperature_k"]), cited[row["source"]])
            for row in content.get("eutectics", ())
        ]
        contacts += [
            Contact(frozenset(row["phases"]), float(row["onset_k"]), cited[row["source"]])
            for row in content.get("contacts", ())
        ]
    tabulated_names = set(found)
    _add_rows(found, waiting, grid)
    _drop_replaced(found, tabulated_names, {row["name"] for _, row, _ in waiting})
    seen = {key: _joined(systems, key) for key in SEEN}
    for name in {n for values in seen.values() for n in values} & found.keys():
        old = found[name]
        found[name] = replace(
            old,
            onset_k=seen["onset_k"].get(name, old.onset_k),
            hindered=seen["hindered"].get(name, old.hindered),
            forms_from_k=seen["forms_from_k"].get(name, old.forms_from_k),
            oxidises_from_k=seen["oxidises_from_k"].get(name, old.oxidises_from_k),
            leaves_from_k=seen["leaves_from_k"].get(name, old.leaves_from_k),
        )
    return SubstanceTable(found, tuple(eutectics), tuple(contacts), titles)


def _joined(systems: Sequence[tuple[str, Mapping[str, Any]]], key: str) -> dict[str, float]:
    return {
        name: float(value) for _, content in systems for name, value in content.get(key, {}).items()
    }


def _usual_name(name: str) -> str:
    return {
        "BaH2O2": "Ba(OH)2", "CaH2O2": "Ca(OH)2", "SrH2O2": "Sr(OH)2", "MgH2O2": "Mg(OH)2",
        "LaH3O3": "La(OH)3", "NaHO": "NaOH", "LiHO": "LiOH", "CuH2O2": "Cu(OH)2",
        "BaN2O6": "Ba(NO3)2", "SrN2O6": "Sr(NO3)2", "CaN2O6": "Ca(NO3)2", "H2O": "H2O(l)",
    }.get(name, name)  # fmt: skip


def _add_rows(
    found: dict[str, TabulatedSubstance],
    waiting: list[tuple[str, Mapping[str, Any], Mapping[str, str]]],
    grid: Floats,
) -> None:
    """Add the rows, those first whose reactants are there; a row replaces a tabulated value.

    Raises:
        ConfigError: If a row is inconsistent, or its reactants are nowhere.
    """
    names = [row["name"] for _, row, _ in waiting]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ConfigError(f"thermochemistry: {', '.join(repeated)} stands in two files")
    to_come = set(names)
    while waiting:
        later: list[tuple[str, Mapping[str, Any], Mapping[str, str]]] = []
        for file, row, cited in waiting:
            needed = set(row["from"])
            if (needed & to_come) - {row["name"]} or row["name"] in needed:
                later.append((file, row, cited))
                continue
            found[row["name"]] = _from_reaction(file, row, cited, found, grid)
        to_come = {row["name"] for _, row, _ in later}
        if len(later) == len(waiting):
            raise ConfigError(f"thermochemistry: {sorted(to_come)} are made of one another")
        waiting = later


def _drop_replaced(
    found: dict[str, TabulatedSubstance], tabulated: set[str], rows: set[str]
) -> None:
    """Take out tabulated substances that a row of another name, but the same atoms, replaces."""
    solids = {name for name in tabulated - rows if not found[name].gas}
    for name in rows:
        for other in [n for n in solids if _same(found[n].elements, found[name].elements)]:
            solids.discard(other)
            del found[other]


def _from_reaction(
    file: str,
    row: Mapping[str, Any],
    cited: Mapping[str, str],
    found: Mapping[str, TabulatedSubstance],
    grid: Floats,
) -> TabulatedSubstance:
    place = f"{file}, {row['name']}"
    elements = dict(parse_formula(row["formula"]).amounts)
    unknown = sorted(set(row["from"]) - set(found))
    if unknown:
        raise ConfigError(f"{place}: made from {', '.join(unknown)}, which no table has")
    left = {e: -n for e, n in elements.items()}
    for name, n in row["from"].items():
        for element, count in found[name].elements.items():
            left[element] = left.get(element, 0.0) + n * count
    if max(abs(n) for n in left.values()) > 1e-6:
        raise ConfigError(f"{place}: does not balance: {left}")
    known = min(found[name].temperature_k.size for name in row["from"])
    energy = float(row["enthalpy_j_mol"]) - grid[:known] * float(row["entropy_j_mol_k"])
    for name, n in row["from"].items():
        energy = energy + n * found[name].table_j_mol[:known]
    return TabulatedSubstance(
        name=row["name"],
        elements=elements,
        temperature_k=grid[:known],
        table_j_mol=energy,
        uncertainty_j_mol=float(row["uncertainty_j_mol"]),
        sources=tuple(cited.get(key, key) for key in row["source"]),
        estimate=bool(row.get("estimate", False)),
        structure=row.get("structure", ""),
        melting_k=row.get("melting_k"),
        onset_k=row.get("onset_k"),
        hindered=float(row.get("hindered", 1.0)),
        forms_from_k=float(row.get("forms_from_k", 0.0)),
    )


__all__ = [
    "Contact",
    "Eutectic",
    "SubstanceTable",
    "TabulatedSubstance",
    "build_table",
    "experimental_table",
]
