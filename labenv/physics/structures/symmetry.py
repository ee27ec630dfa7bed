"""From an asymmetric unit to a full cell, with the setting and origin always explicit.

A Hermann-Mauguin symbol alone does not say which origin or axes were meant, and a wrong guess gives
a structure that looks right and has twice its density. Symbols that leave the choice open are
therefore refused here: write ``I4_1/amd:2``, ``R-3c:H``, ``P12_1/n1``.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from labenv_schemas.errors import SimulatorError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from numpy.typing import NDArray

_MERGE_DISTANCE_A = 0.05  # images of one site closer than this are one atom on a special position
_HALL_NUMBERS = 530  # settings tabulated in International Tables for Crystallography, vol. B
_THIRDS = np.array([1 / 3, 2 / 3, 1 / 6, 5 / 6])


def lattice_matrix(lattice: tuple[float, float, float, float, float, float]) -> NDArray[np.float64]:
    """Return the cell vectors of six lattice parameters.

    Args:
        lattice: a, b, c in angstrom; alpha, beta, gamma in degrees.

    Returns:
        Cell vectors as rows, angstrom, shape (3, 3), a along x and b in the x-y plane. The
        determinant is zero (and entries may be so too) where the angles close no cell.

    Source:
        International Tables for Crystallography, vol. B (2006), section 3.3.1.
    """
    a, b, c = lattice[:3]
    cos_alpha, cos_beta, cos_gamma = np.cos(np.radians(lattice[3:]))
    sin_gamma = np.sin(np.radians(lattice[5]))
    if sin_gamma < 1e-6:
        return np.zeros((3, 3))
    y = (cos_alpha - cos_beta * cos_gamma) / sin_gamma
    z = np.sqrt(max(1.0 - cos_beta**2 - y**2, 0.0))
    return np.array([
        [a, 0.0, 0.0],
        [b * cos_gamma, b * sin_gamma, 0.0],
        [c * cos_beta, c * y, c * z],
    ])


def operations(space_group: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the symmetry operations of a space group in one explicit setting.

    Args:
        space_group: Hermann-Mauguin symbol, short or full, blanks optional, followed by ``:1``,
            ``:2``, ``:H`` or ``:R`` where the tables give several origins or axes.

    Returns:
        Rotations, shape (n, 3, 3), and translations in fractions of the cell, shape (n, 3).

    Raises:
        SimulatorError: If the symbol is unknown or leaves the origin open.
    """
    return hall_operations(hall_number_of(space_group))


@cache
def hall_operations(hall_number: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the symmetry operations of one setting.

    Args:
        hall_number: Position in the order of International Tables, 1 to 530.

    Returns:
        Rotations, shape (n, 3, 3), and translations in fractions of the cell, shape (n, 3).

    Raises:
        SimulatorError: If there is no such setting.
    """
    import spglib

    with _quiet():
        found = spglib.get_symmetry_from_database(hall_number)
    if found is None:
        message = f"no symmetry operations are tabulated for Hall number {hall_number}"
        raise SimulatorError(message)
    rotations, translations = found["rotations"], found["translations"]
    return np.asarray(rotations, dtype=np.float64), np.asarray(translations, dtype=np.float64)


def hall_number_of(space_group: str) -> int:
    """Return the number of a space-group setting in the order of International Tables.

    Args:
        space_group: As for `operations`.

    Returns:
        Hall number, 1 to 530.

    Raises:
        SimulatorError: If the symbol is unknown or leaves the origin open.
    """
    wanted = space_group.replace(" ", "")
    found = _settings().get(wanted, ())
    if len(found) == 1:
        return found[0]
    if found:
        choices = ", ".join(sorted(key for key in _settings() if key.startswith(f"{wanted}:")))
        message = f"space group {space_group!r} leaves the setting open; write one of {choices}"
        raise SimulatorError(message)
    message = f"unknown space group {space_group!r}; write it like 'P4/mmm' or 'I4_1/amd:2'"
    raise SimulatorError(message)


def expand(
    rotations: NDArray[np.float64],
    translations: NDArray[np.float64],
    position: tuple[float, float, float],
    matrix: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return every distinct image of one site under the symmetry operations.

    Args:
        rotations: Shape (n, 3, 3).
        translations: Fractions of the cell, shape (n, 3).
        position: Fractional coordinates of the site.
        matrix: Cell vectors as rows, angstrom, shape (3, 3).

    Returns:
        Fractional coordinates in [0, 1), shape (multiplicity, 3). Images closer than 0.05 angstrom
        are one atom, at their mean.
    """
    start = snap_thirds(np.asarray(position, dtype=np.float64))
    images = (rotations @ start + translations) % 1.0
    return np.array(list(_merged(images, matrix))) % 1.0


def snap_thirds(position: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return coordinates with rounded thirds and sixths (0.3333, 0.667) made exact.

    Args:
        position: Fractional coordinates, shape (3,).

    Returns:
        The same with entries within 4e-4 of a third or sixth replaced, shape (3,).
    """
    offsets = position[:, None] - _THIRDS[None, :]
    whole = np.round(offsets)
    nearest = np.abs(offsets - whole)
    best = nearest.argmin(axis=1)
    rows = np.arange(position.size)
    return np.where(nearest[rows, best] < 4e-4, _THIRDS[best] + whole[rows, best], position)


def _merged(
    images: NDArray[np.float64], matrix: NDArray[np.float64]
) -> Iterator[NDArray[np.float64]]:
    left = images
    while left.size:
        offsets = left - left[0]
        offsets -= np.round(offsets)
        same = np.linalg.norm(offsets @ matrix, axis=1) < _MERGE_DISTANCE_A
        yield left[0] + offsets[same].mean(axis=0)
        left = left[~same]


@cache
def named_hall_numbers() -> dict[str, int]:
    """Return Hall numbers by Hall symbol, such as ``-P 4 2 3``.

    Returns:
        530 entries.
    """
    return {kind.hall_symbol: number for number, kind in _space_group_types()}


@cache
def _settings() -> dict[str, tuple[int, ...]]:
    """Return every accepted spelling with the Hall numbers that it may mean."""
    found: dict[str, list[int]] = {}
    for number, kind in _space_group_types():
        full = kind.international.split("=")[-1].strip()
        names = {full.replace(" ", ""), kind.international_full.replace(" ", "")}
        if _is_monoclinic(kind.number) and kind.choice.startswith("b"):
            names.add(full.replace(" 1 ", " ").removesuffix(" 1").replace(" ", ""))
        for name in names:
            found.setdefault(name, []).append(number)
            if kind.choice:
                found.setdefault(f"{name}:{kind.choice}", []).append(number)
    return {name: tuple(numbers) for name, numbers in found.items()}


def _is_monoclinic(space_group_number: int) -> bool:
    return 3 <= space_group_number <= 15


def _space_group_types() -> Iterator[tuple[int, Any]]:
    """Yield every tabulated setting with its Hall number."""
    import spglib

    for number in range(1, _HALL_NUMBERS + 1):
        with _quiet():
            kind = spglib.get_spacegroup_type(number)
        if kind is not None:
            yield number, kind


@contextmanager
def _quiet() -> Generator[None]:
    """Hide spglib's notice that it will raise where it now returns None; both are handled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield
