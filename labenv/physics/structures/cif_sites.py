"""The atoms of a CIF block: elements from symbols and labels, occupancies summed and checked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from labenv.physics.structures.symmetry import expand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_SAME_PLACE_A = 0.05
_FULL = 1.01  # occupancies are printed with two or three decimals: three times 0.333 or 0.335
_MAX_SITES = 4000


@dataclass(frozen=True)
class AtomRow:
    """One row of a CIF's atom list.

    Attributes:
        label: As in the file.
        element: Element symbol.
        position: Fractional coordinates.
        occupancy: Share of the site.
    """

    label: str
    element: str
    position: tuple[float, float, float]
    occupancy: float


def cif_number(text: Any, what: str) -> float:  # noqa: ANN401 - whatever the file holds
    """Read a number as crystallographers print it: ``0.2314(5)``, ``1/3``.

    Args:
        text: The text in the file.
        what: What it is, for the message.

    Returns:
        The number, its standard uncertainty left out.

    Raises:
        ValueError: If the text is no finite number.
    """
    plain = re.sub(r"\(\d*\)?$", "", str(text).strip())
    try:
        if "/" in plain:
            top, _, bottom = plain.partition("/")
            value = float(top) / float(bottom)
        else:
            value = float(plain)
    except (ValueError, ZeroDivisionError):
        value = float("nan")
    if not np.isfinite(value):
        raise ValueError(f"{what} is {text!r}, not a number")
    return value


def atom_rows(block: Mapping[str, Any], declared: frozenset[str]) -> list[AtomRow]:
    """Return the atoms listed in a CIF block.

    Args:
        block: Data items by lower-case name.
        declared: Elements of the formula in the file, which settle labels such as ``CA1``.

    Returns:
        One row per listed atom, dummy atoms left out.

    Raises:
        ValueError: If there is none, or a row cannot be understood; the message names its label.
    """
    columns = [_column(block, f"_atom_site_fract_{axis}") for axis in "xyz"]
    count = len(columns[0])
    if count == 0 or any(len(column) != count for column in columns):
        raise ValueError("the file lists no atoms with fractional coordinates")
    symbols = _column(block, "_atom_site_type_symbol") or [""] * count
    labels = _column(block, "_atom_site_label") or symbols
    occupancies = _column(block, "_atom_site_occupancy") or ["1"] * count
    flags = _column(block, "_atom_site_calc_flag") or [""] * count
    rows: list[AtomRow] = []
    for index in range(count):
        if flags[index] == "dum":
            continue
        label = labels[index] or symbols[index] or f"number {index + 1}"
        x, y, z = (
            cif_number(column[index], f"coordinate {axis} of site {label!r}")
            for axis, column in zip("xyz", columns, strict=True)
        )
        text = "1" if occupancies[index] in ("?", ".", "") else occupancies[index]
        occupancy = cif_number(text, f"the occupancy of site {label!r}")
        if not 0.0 <= occupancy <= _FULL:
            raise ValueError(
                f"site {label!r} has an occupancy of {occupancy:g}; 0 to 1 is possible"
            )
        if occupancy > 0.0:
            element = element_of(symbols[index] or label, declared)
            rows.append(AtomRow(label, element, (x, y, z), min(occupancy, 1.0)))
    if not rows:
        raise ValueError("the file lists no atoms")
    return rows


def element_of(text: str, declared: frozenset[str]) -> str:
    """Return the element of an atom symbol or label: ``La3+``, ``O1``, ``SrA``, ``OH``, ``Wat2``.

    Args:
        text: Type symbol or site label.
        declared: Elements known to be present.

    Returns:
        Element symbol; deuterium stays ``D``.

    Raises:
        ValueError: If no element fits.
    """
    letters = re.match(r"[A-Za-z]*", text.strip())
    word = letters[0] if letters else ""
    if word.lower().startswith("wat"):
        return "O"
    one, two = word[:1].upper(), word[:2].capitalize()
    fits_formula = two in declared and one not in declared
    if len(word) > 1 and two in _elements() and (two == word[:2] or fits_formula):
        return two
    for symbol in (one, two):
        if symbol in _elements():
            return symbol
    raise ValueError(f"site {text!r} is of no known element")


def cell_occupants(
    rows: list[AtomRow],
    operations: tuple[NDArray[np.float64], NDArray[np.float64]],
    matrix: NDArray[np.float64],
) -> tuple[NDArray[np.float64], list[dict[str, float]]]:
    """Return the distinct positions of the cell and what stands on each.

    Rows that repeat another row's atom (same element, same occupancy, equivalent place), as in
    files that list a whole cell beside its symmetry, count once.

    Args:
        rows: The atoms listed.
        operations: Rotations (n, 3, 3) and translations (n, 3).
        matrix: Cell vectors as rows, angstrom.

    Returns:
        Fractional coordinates, shape (m, 3), and per position its elements with their occupancies.

    Raises:
        ValueError: If the occupancies of a position sum to more than one, or there are more than
            4000 positions; the message names the sites and the sum.
    """
    positions = np.empty((0, 3))
    occupants: list[list[AtomRow]] = []
    for row in rows:
        images = expand(*operations, row.position, matrix)
        fresh: list[NDArray[np.float64]] = []
        for image in images:
            here = _nearest(positions, image, matrix)
            if here is None:
                fresh.append(image)
            elif not any(_repeats(row, other) for other in occupants[here]):
                occupants[here].append(row)
        positions = np.vstack([positions, *fresh]) if fresh else positions
        occupants.extend([row] for _ in fresh)
        if len(occupants) > _MAX_SITES:
            raise ValueError(f"the cell holds more than {_MAX_SITES} sites, too many to simulate")
    return positions, [_shares(here) for here in occupants]


def _shares(here: list[AtomRow]) -> dict[str, float]:
    total = sum(row.occupancy for row in here)
    if total > _FULL:
        names = " and ".join(repr(row.label) for row in here)
        x, y, z = here[0].position
        raise ValueError(
            f"the occupancies of {names} at ({x:g}, {y:g}, {z:g}) sum to {total:.3f}, more than 1"
        )
    shares: dict[str, float] = {}
    for row in here:
        shares[row.element] = shares.get(row.element, 0.0) + row.occupancy / max(total, 1.0)
    return shares


def _repeats(row: AtomRow, other: AtomRow) -> bool:
    same = row.element == other.element and row.occupancy == other.occupancy
    return same and (row.occupancy > 0.5 or row is other)


def _nearest(
    positions: NDArray[np.float64], image: NDArray[np.float64], matrix: NDArray[np.float64]
) -> int | None:
    offsets = positions - image
    offsets -= np.round(offsets)
    near = np.flatnonzero(np.linalg.norm(offsets @ matrix, axis=1) < _SAME_PLACE_A)
    return int(near[0]) if near.size else None


def _column(block: Mapping[str, Any], item: str) -> list[str]:
    value = block.get(item)
    if value is None:
        return []
    return [value] if isinstance(value, str) else [str(entry).strip() for entry in value]


@cache
def _elements() -> frozenset[str]:
    from ase.data import chemical_symbols

    return frozenset(chemical_symbols[1:]) | {"D", "T"}
