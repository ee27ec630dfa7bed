"""Make `labenv/physics/data/thermochemistry/tabulated.json` from published tables.

Run it with the two wheels that carry the tables (they are read, not installed)::

    pip download --no-deps reaction-network==8.3.0 janaf==1.4.0
    python -m labenv.physics.thermochemistry.build_tables reaction_network-*.whl janaf-*.whl

The first holds formation Gibbs energies from the FREED compilation (Morris 2019, a computer
adaptation of the US Bureau of Mines tables) and FactSage's Gibbs energies of the elements, the
second the NIST-JANAF tables. A tenth of FREED's rows disagree with other tables, partly because its
keys mix gases and solids; so a value is taken only where a second source agrees: JANAF's table of
the same condensed substance, or the experimental enthalpy of formation that pymatgen ships, with
the entropy of formation of its gases estimated. Rows without a second source are kept if nothing
speaks against them, with an uncertainty to match, and say so.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import re
import zipfile
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

OUT = Path(__file__).parents[1] / "data" / "thermochemistry" / "tabulated.json"
GRID_K = np.arange(300.0, 2001.0, 100.0)
AT_1000_K = 7  # its position on the grid
EV_J_MOL = 96485.33212
AGREES_J_MOL_ATOM = 3000.0  # with JANAF, at 300 K
AGREES_HOT_J_MOL_ATOM = 5000.0  # with JANAF, at 1000 K
AGREES_ENTHALPY_J_MOL_ATOM = 5000.0  # with an enthalpy and an estimated entropy
SINGLE_J_MOL_ATOM = 5000.0
MOST_ATOMS = 60
FEWEST = 3  # temperatures that make a table
LARGEST_RISE_J_MOL_K = 8.0  # of the slope in 100 K, from rounding and from elements' transitions
# Entropies that a mole of atoms loses when its gas becomes part of a solid, J/(mol K): half of
# S(O2), S(H2), S(N2) less about 12 that an atom keeps in a solid (Latimer 1951).
LOST_J_MOL_K = {"O": 96.0, "H": 60.0, "N": 88.0}
_CHOICE = json.loads((Path(__file__).parent / "choice_of_tables.json").read_text(encoding="utf-8"))
ELEMENTS = frozenset(_CHOICE["elements"])
NOT_SOLID = frozenset(_CHOICE["not_solid"])
GASES = (
    *("O2", "CO2", "CO", "H2O", "H2", "N2", "NH3", "NO2"),
    *("Mg", "Li", "Na", "K", "Pb", "PbO", "Zn"),
    *("LiOH", "NaOH", "KHO", "BHO2", "B2O3"),  # named as the solids, so that "(g)" is added
)


class Found(NamedTuple):
    """A value with how it was checked."""

    gibbs_j_mol: Floats
    uncertainty_j_mol: float
    source: str
    second: str
    difference_j_mol_atom: float | None


def plain(formula: str) -> str:
    """Return a formula with its elements once each, metals first: ``"BaFe2O4"``."""
    from pymatgen.core.composition import Composition

    whole, _ = Composition(formula).get_integer_formula_and_factor(max_denominator=10000)
    parts = Composition(whole).formula.split()
    return "".join(re.sub(r"(?<=[A-Za-z])1$", "", part) for part in parts)


def _atoms_key(formula: str) -> str:
    """Return the atoms of one molecule in a fixed order, whatever its formula's order."""
    counts = re.findall(r"([A-Z][a-z]?)(\d*)", formula)
    return "".join(f"{e}{n or 1}" for e, n in sorted(counts))


class Tables:
    """The published tables, read from the wheels."""

    def __init__(self, freed_wheel: Path, janaf_wheel: Path) -> None:
        with zipfile.ZipFile(freed_wheel) as wheel:
            folder = "rxn_network/data/"
            raw = json.loads(gzip.decompress(wheel.read(f"{folder}freed/compounds.json.gz")))
            self.elements = json.loads(wheel.read(f"{folder}mu_elements.json"))
        self.freed = {plain(k): v for k, v in raw.items() if self._wanted(k)}
        self.condensed: dict[str, list[Floats]] = {}
        self.formation: dict[str, list[Floats]] = {}
        self.gases: dict[str, Floats] = {}
        self.references: dict[str, Floats] = {}
        with zipfile.ZipFile(janaf_wheel) as wheel:
            for name in sorted(wheel.namelist()):
                if name.startswith("janaf/data/"):
                    self._read_janaf(wheel.read(name).decode("latin-1").splitlines())
        ours = resources.files("pymatgen.analysis.compatibility") / "exp_compounds.json.gz"
        rows: list[dict[str, Any]] = json.loads(gzip.decompress(ours.read_bytes()))
        self.enthalpy = {
            plain(r["formula"]): float(r["exp energy"]) * EV_J_MOL
            for r in rows
            if self._wanted(r["formula"])
        }

    @staticmethod
    def _wanted(formula: str) -> bool:
        from pymatgen.core.composition import Composition

        try:
            symbols = {element.symbol for element in Composition(formula).elements}
        except ValueError:
            return False
        return symbols <= ELEMENTS

    def _read_janaf(self, lines: list[str]) -> None:
        head = re.match(r"(\S+)\((ref|cr|cr,l|g)\)$", lines[0].split("\t")[1].strip())
        if head is None or "+" in head.group(1) or "-" in head.group(1):
            return
        try:
            name = plain(head.group(1)) if self._wanted(head.group(1)) else None
        except ValueError:
            return
        if name is None:
            return
        rows: dict[float, list[float]] = {}
        for line in lines[2:]:
            cells = line.split("\t")
            try:
                rows[float(cells[0])] = [float(cell) for cell in cells[1:7]]
            except (ValueError, IndexError):
                continue
        if 298.15 not in rows:
            return
        origin = rows[298.15][4]
        known = [rows.get(float(t)) for t in GRID_K]
        energy = np.array([
            math.nan if row is None else 1000.0 * (origin + row[3]) - t * row[1]
            for t, row in zip(GRID_K, known, strict=True)
        ])
        formed = np.array([math.nan if row is None else 1000.0 * row[5] for row in known])
        if head.group(2) == "g":
            self.gases.setdefault(_atoms_key(head.group(1)), energy)
        else:
            if head.group(2) == "ref":
                self.references[_atoms_key(head.group(1))] = energy
            self.condensed.setdefault(name, []).append(energy)
            self.formation.setdefault(name, []).append(formed)

    def element_sum(self, formula: str) -> Floats:
        """Return the elements' Gibbs energies, J per formula unit, on the grid."""
        from pymatgen.core.composition import Composition

        amounts = Composition(formula).get_el_amt_dict()
        return np.array([
            sum(n * self.elements[str(int(t))].get(e, math.nan) for e, n in amounts.items())
            for t in GRID_K
        ]) * EV_J_MOL  # fmt: skip

    def find(self, formula: str) -> Found | None:
        """Return a condensed substance's Gibbs energy, if its sources allow one."""
        from pymatgen.core.composition import Composition

        atoms = float(Composition(formula).num_atoms)
        first, formed = self._freed(formula)
        second = self._nearest_janaf(formula, formed)
        if formed is None:
            if second is None:
                return self._element(formula)
            agrees, difference = self._enthalpy_check(formula, second[1], atoms)
            by = "exp" if agrees else "none"
            return Found(second[0], 1500.0 * atoms, "janaf", by, difference)
        if second is not None:
            apart = (formed - second[1]) / atoms
            cold, hot = float(apart[0]), float(np.nan_to_num(apart[AT_1000_K]))
            if abs(cold) < AGREES_J_MOL_ATOM and abs(hot) < AGREES_HOT_J_MOL_ATOM:
                sigma = max(500.0, abs(cold)) * atoms
                return Found(first, sigma, "freed", "janaf", cold)
            janaf_agrees, offset = self._enthalpy_check(formula, second[1], atoms)
            if janaf_agrees:
                return Found(second[0], 1500.0 * atoms, "janaf", "exp", offset)
        agrees, offset = self._enthalpy_check(formula, formed, atoms)
        if agrees:
            return Found(first, 2000.0 * atoms, "freed", "exp", offset)
        if second is None and formula not in self.enthalpy:
            return Found(first, SINGLE_J_MOL_ATOM * atoms, "freed", "none", None)
        return None

    def _element(self, formula: str) -> Found | None:
        """Return an element that JANAF has no table of, by FactSage's Gibbs energies."""
        if formula not in ELEMENTS:
            return None
        return Found(self.element_sum(formula), 300.0, "freed", "none", None)

    def _freed(self, formula: str) -> tuple[Floats, Floats | None]:
        row = self.freed.get(formula)
        nothing = np.full(GRID_K.size, math.nan)
        if row is None:
            return nothing, None
        formed = np.array([EV_J_MOL * row.get(str(int(t)), math.nan) for t in GRID_K])
        return formed + self.element_sum(formula), formed

    def _nearest_janaf(self, formula: str, formed: Floats | None) -> tuple[Floats, Floats] | None:
        tables = list(
            zip(self.condensed.get(formula, []), self.formation.get(formula, []), strict=True)
        )
        tables = [pair for pair in tables if np.isfinite(pair[1][0])]
        if not tables:
            return None
        # of several polymorphs the one nearest to the value that it checks, or the most stable
        aim = -math.inf if formed is None else float(formed[0])
        return min(
            tables, key=lambda pair: abs(float(pair[1][0]) - aim) if aim > -1e30 else pair[1][0]
        )

    def _enthalpy_check(
        self, formula: str, formed: Floats, atoms: float
    ) -> tuple[bool, float | None]:
        from pymatgen.core.composition import Composition

        enthalpy = self.enthalpy.get(formula)
        if enthalpy is None:
            return False, None
        amounts = Composition(formula).get_el_amt_dict()
        lost = sum(LOST_J_MOL_K.get(e, 0.0) * n for e, n in amounts.items())
        difference = (float(formed[0]) - (enthalpy + 300.0 * lost)) / atoms
        return abs(difference) < AGREES_ENTHALPY_J_MOL_ATOM, difference


def build(freed_wheel: Path, janaf_wheel: Path) -> dict[str, Any]:
    """Return the content of the data file.

    Args:
        freed_wheel: Wheel of reaction-network.
        janaf_wheel: Wheel of janaf.

    Returns:
        What is to be written as JSON.
    """
    tables = Tables(freed_wheel, janaf_wheel)
    rows: list[dict[str, Any]] = []
    refused: list[str] = []
    for formula in sorted({*tables.freed, *tables.condensed, *ELEMENTS}):
        if formula in NOT_SOLID or _is_odd(formula):
            continue
        found = tables.find(formula)
        if found is None or _sound_part(found.gibbs_j_mol).size < FEWEST:
            refused.append(formula)
            continue
        rows.append(_row(formula, "solid", found))
    for gas in GASES:
        if _atoms_key(gas) in tables.gases:
            value = Found(tables.gases[_atoms_key(gas)], 500.0, "janaf", "none", None)
        else:  # an element's reference table, such as O2, H2, N2
            value = Found(tables.references[_atoms_key(gas)], 50.0, "janaf", "none", None)
        rows.append(_row(gas, "gas", value))
    return {
        "about": "Written by labenv.physics.thermochemistry.build_tables; do not edit.",
        "grid_k": GRID_K.tolist(),
        "sources": {
            "freed": "Morris, FREED Thermodynamic Database (2019), after the US Bureau of Mines "
            "Bulletins; as in reaction-network 8.3.0, with FactSage's energies of the elements",
            "janaf": "Chase, NIST-JANAF Thermochemical Tables, 4th ed., J. Phys. Chem. Ref. Data "
            "Monograph 9 (1998); as in janaf 1.4.0",
            "exp": "experimental enthalpies of formation as compiled in pymatgen, with "
            "entropy of formation estimated from the gases bound",
            "none": "no second source",
        },
        "refused": refused,
        "substances": rows,
    }


def _is_odd(formula: str) -> bool:
    """Return whether a formula is a hydride or a mineral with hundreds of atoms."""
    from pymatgen.core.composition import Composition

    amounts = Composition(formula).get_el_amt_dict()
    return sum(amounts.values()) > MOST_ATOMS or ("H" in amounts and "O" not in amounts)


def _sound_part(gibbs_j_mol: Floats) -> Floats:
    """Return a table up to where it stops to fall faster and faster, as energies do.

    Where an element boils, the two sources that a formation energy is put together from may differ
    on its state, and the sum jumps.
    """
    slope = np.diff(gibbs_j_mol) / 100.0
    rises = np.append(np.diff(slope) > LARGEST_RISE_J_MOL_K, False)
    wrong = ~np.isfinite(gibbs_j_mol)
    wrong[1:] |= ~(slope < 0.0)
    wrong[1:] |= np.concatenate([[False], rises[:-1]])
    return gibbs_j_mol[: int(np.argmax(wrong))] if wrong.any() else gibbs_j_mol


def _row(name: str, state: str, found: Found) -> dict[str, Any]:
    sound = _sound_part(found.gibbs_j_mol)
    return {
        "name": name,
        "state": state,
        "gibbs_j_mol": [round(float(g)) for g in sound],
        "uncertainty_j_mol": round(found.uncertainty_j_mol),
        "source": found.source,
        "second": found.second,
        "difference_j_mol_atom": None
        if found.difference_j_mol_atom is None
        else round(found.difference_j_mol_atom),
    }


def main() -> None:
    """Write the data file."""
    parser = argparse.ArgumentParser(description="Write tabulated.json from two wheels.")
    parser.add_argument("freed_wheel", type=Path)
    parser.add_argument("janaf_wheel", type=Path)
    wheels = parser.parse_args()
    content = build(wheels.freed_wheel, wheels.janaf_wheel)
    head = {key: value for key, value in content.items() if key != "substances"}
    rows = ",\n".join(" " + json.dumps(row) for row in content["substances"])
    text = json.dumps(head, indent=1)[:-2] + ',\n "substances": [\n' + rows + "\n ]\n}\n"
    OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
