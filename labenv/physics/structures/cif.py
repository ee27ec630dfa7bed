"""Crystal structures from users' CIF files, refused with the place and the reason where damaged.

Readers that mend or drop what they cannot understand (occupancies above one, atoms of unknown
elements, symmetry in an unexpected setting) give wrong phase fractions without a word. This one
expands exactly the operations in the file and compares the outcome with the formula in the file.
"""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labenv.physics.structures.cif_sites import atom_rows, cell_occupants, cif_number
from labenv.physics.structures.cif_symmetry import block_operations, first_of
from labenv.physics.structures.phase import CrystalPhase, Site
from labenv.physics.structures.symmetry import lattice_matrix
from labenv_schemas.decoding import decode
from labenv_schemas.errors import MeasurementFileError
from labenv_schemas.formula import Formula, parse_formula

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_CELL_VOLUME_A3 = 20_000.0  # a 27 angstrom cube; a 40 angstrom one takes seconds a pattern
_MIN_CELL_VOLUME_A3 = 5.0  # a hydrogen atom in a solid takes more
_MAX_BYTES = 20_000_000
_FRACTION_TOLERANCE = 5e-3  # of all atoms; formulas are printed with two or three decimals
_KG_M3_PER_U_A3 = 1660.53906660  # CODATA 2018 atomic mass constant over 1 cubic angstrom


def phase_from_cif(path: str | Path, block: str | None = None) -> CrystalPhase:
    """Read a crystal structure from a CIF or magnetic CIF file.

    Args:
        path: The file.
        block: Name of the data block, needed where several hold a structure.

    Returns:
        The phase, with every site of its cell listed (`CrystalPhase.expanded`). Deuterium stays
        ``D``; magnetic moments are left out, X-rays do not see them.

    Raises:
        MeasurementFileError: If the file cannot be read, an atom is of no known element, the
            occupancies of a site sum to more than one, the atoms disagree with the formula in the
            file, or the cell is empty, flat or larger than 20000 cubic angstrom.
    """
    place = Path(path)
    try:
        name, items = _chosen_block(_blocks(place), block)
        return _phase(place, name, items)
    except ValueError as cause:
        message = f"{place}: {cause}"
        raise MeasurementFileError(message) from cause


def _blocks(path: Path) -> dict[str, dict[str, Any]]:
    """Return the data items of every block that lists atoms, by lower-case name.

    Raises:
        ValueError: If the file cannot be read as CIF.
    """
    from pymatgen.io.cif import CifFile

    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ValueError("the file is larger than 20 MB, no structure file")
        raw = path.read_bytes()
    except OSError as cause:
        raise ValueError(f"cannot be read: {cause.strerror or cause}") from cause
    text = _text(raw)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = CifFile.from_str(text).data
    except Exception as cause:  # a damaged file fails in many ways
        raise ValueError(
            f"a table has not a value for each of its columns; is the file whole? {_ends(text)}"
        ) from cause
    blocks = {
        name: {str(key).lower(): value for key, value in found.data.items()}
        for name, found in parsed.items()
    }
    structures = {name: items for name, items in blocks.items() if "_atom_site_fract_x" in items}
    if not structures:
        raise ValueError(
            "no data block lists atoms with fractional coordinates; is it a structure, and whole? "
            f"{_ends(text)}"
        )
    return structures


def _text(raw: bytes) -> str:
    """Return the text of a CIF file in UTF-8, UTF-16, UTF-32 or a western encoding.

    Raises:
        ValueError: If it is no text, or no CIF file.
    """
    if not raw.strip():
        raise ValueError("the file is empty")
    try:
        text, encoding = decode(raw)
    except UnicodeDecodeError as cause:
        raise ValueError(
            f"the file is marked as {cause.encoding.upper()} but damaged at byte {cause.start}; "
            "save it as UTF-8, or get it again"
        ) from None
    before, nul, _ = text.partition("\0")
    if nul:
        line = before.count("\n") + 1
        raise ValueError(f"line {line} holds binary data; the file is damaged, or no CIF file")
    if re.search(r"^\s*data_", text, re.IGNORECASE | re.MULTILINE) is None:
        raise ValueError(f"is no CIF file: no line begins with 'data_' (read as {encoding})")
    return text


def _ends(text: str) -> str:
    lines = text.rstrip().splitlines()
    return f"It ends at line {len(lines)}: {lines[-1].strip()[:60]!r}"


def _chosen_block(
    blocks: dict[str, dict[str, Any]], wanted: str | None
) -> tuple[str, dict[str, Any]]:
    if wanted is not None:
        if wanted not in blocks:
            raise ValueError(f"no structure in block {wanted!r}; there are {', '.join(blocks)}")
        return wanted, blocks[wanted]
    if len(blocks) > 1:
        raise ValueError(f"holds {len(blocks)} structures, choose a block: {', '.join(blocks)}")
    return next(iter(blocks.items()))


def _phase(path: Path, block_name: str, items: Mapping[str, Any]) -> CrystalPhase:
    lattice = _lattice(items)
    matrix = lattice_matrix(lattice)
    volume_a3 = abs(float(np.linalg.det(matrix)))
    if not _MIN_CELL_VOLUME_A3 <= volume_a3 <= MAX_CELL_VOLUME_A3:
        raise ValueError(
            f"the cell has a volume of {volume_a3:.4g} cubic angstrom; "
            f"{_MIN_CELL_VOLUME_A3:g} to {MAX_CELL_VOLUME_A3:g} can be simulated"
        )
    declared = _declared_formula(items)
    rows = atom_rows(items, declared.elements if declared else frozenset())
    hexagonal = lattice[3] == lattice[4] == 90.0 and lattice[5] == 120.0
    operations = block_operations(items, hexagonal=hexagonal)
    positions, occupants = cell_occupants(rows, operations, matrix)
    contents: dict[str, float] = {}
    for here in occupants:
        for element, share in here.items():
            contents[element] = contents.get(element, 0.0) + share
    _compare(contents, declared, items)
    sites = tuple(
        Site(element, float(position[0]), float(position[1]), float(position[2]), share)
        for position, here in zip(positions, occupants, strict=True)
        for element, share in here.items()
    )
    title = first_of(items, ("_chemical_name_mineral", "_chemical_name_common"))
    symbol = first_of(items, ("_space_group_name_h-m_alt", "_symmetry_space_group_name_h-m"))
    return CrystalPhase(
        name=str(title).strip() if title is not None else path.stem,
        formula=_written(contents),
        space_group=str(symbol or "").strip(),
        lattice=lattice,
        sites=sites,
        density_kg_m3=_mass_u(contents) / volume_a3 * _KG_M3_PER_U_A3,
        sites_per_cell=len(occupants),
        source=f"{path.name}, block {block_name}",
        expanded=True,
        density_source="computed from the file",
    )


def _lattice(items: Mapping[str, Any]) -> tuple[float, float, float, float, float, float]:
    lengths = [cif_number(items.get(f"_cell_length_{k}", "?"), f"cell length {k}") for k in "abc"]
    angles = [
        cif_number(items.get(f"_cell_angle_{k}", "90"), f"cell angle {k}")
        for k in ("alpha", "beta", "gamma")
    ]
    if min(lengths) <= 0.0 or not all(0.0 < angle < 180.0 for angle in angles):
        raise ValueError(f"the cell lengths {lengths} and angles {angles} close no cell")
    return (lengths[0], lengths[1], lengths[2], angles[0], angles[1], angles[2])


def _declared_formula(items: Mapping[str, Any]) -> Formula | None:
    text = first_of(items, ("_chemical_formula_sum",))
    if text is None:
        return None
    try:
        return parse_formula(str(text))
    except ValueError:
        return None  # not a formula that could be compared with, such as 'C2 H6 O x'


def _compare(
    contents: dict[str, float], declared: Formula | None, items: Mapping[str, Any]
) -> None:
    """Refuse contents that are not those of the formula and the number of formula units.

    Raises:
        ValueError: If they differ.
    """
    if declared is None:
        return
    wanted = _with_hydrogen(declared.amounts)
    found = _with_hydrogen(contents)
    lacks_hydrogen = "H" in wanted and "H" not in found
    if lacks_hydrogen:
        warnings.warn(
            "the file declares hydrogen but lists no hydrogen atoms; its density is a little low",
            stacklevel=2,
        )
        del wanted["H"]
    wanted_total, found_total = sum(wanted.values()), sum(found.values())
    for element in sorted(wanted.keys() | found.keys()):
        here = found.get(element, 0.0) / found_total
        there = wanted.get(element, 0.0) / wanted_total
        if abs(here - there) > _FRACTION_TOLERANCE or min(here, there) == 0.0:
            raise ValueError(
                f"the atoms listed are {_written(contents)}, the formula in the file is "
                f"{declared.text}: {here:.4f} of the atoms are {element} and not {there:.4f}"
            )
    units = first_of(items, ("_cell_formula_units_z",))
    density = first_of(items, ("_exptl_crystal_density_diffrn",))
    if units is None or density is not None:
        return
    ratio = found_total / (wanted_total * cif_number(units, "the number of formula units Z"))
    whole_cell = abs(found_total / wanted_total - 1.0) < 0.02  # pymatgen writes the cell's formula
    if abs(ratio - 1.0) > 0.02 and not whole_cell:
        raise ValueError(
            f"the cell holds {found_total:g} atoms, {ratio:.3f} times those of Z = {units} "
            f"formula units {declared.text}"
        )


def _with_hydrogen(amounts: Mapping[str, float]) -> dict[str, float]:
    """Return the amounts with hydrogen's isotopes summed as H."""
    merged: dict[str, float] = {}
    for element, amount in amounts.items():
        key = "H" if element in ("D", "T") else element
        merged[key] = merged.get(key, 0.0) + amount
    return merged


def _mass_u(contents: Mapping[str, float]) -> float:
    return sum(
        amount * parse_formula(element).molar_mass_kg_per_mol * 1e3
        for element, amount in contents.items()
    )


def _written(contents: Mapping[str, float]) -> str:
    """Return a formula with electropositive elements first and the smallest whole amounts."""
    from pymatgen.core.periodic_table import Element

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        order = sorted(contents, key=lambda e: (Element(e).X if Element(e).X > 0 else 5.0, e))
    whole = [round(contents[element]) for element in order]
    if all(abs(contents[e] - w) < 1e-3 * max(w, 1) for e, w in zip(order, whole, strict=True)):
        divisor = math.gcd(*whole)
        amounts = [float(w // divisor) for w in whole]
    else:
        smallest = min(contents.values())
        scale = round(smallest) if smallest >= 1.0 else 1.0
        amounts = [round(contents[e] / scale, 4) for e in order]
    return "".join(e if a == 1.0 else f"{e}{a:.6g}" for e, a in zip(order, amounts, strict=True))
