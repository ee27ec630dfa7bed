"""The symmetry operations that a CIF block states, in whichever of the usual ways it does so."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from labenv.physics.structures.symmetry import hall_number_of, hall_operations, named_hall_numbers
from labenv_schemas.errors import SimulatorError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Operations = tuple[NDArray[np.float64], NDArray[np.float64]]

_OPERATION_ITEMS = (
    "_space_group_symop_operation_xyz",
    "_symmetry_equiv_pos_as_xyz",
    "_space_group_symop_magn_operation.xyz",
    "_space_group_symop_magn_operation_xyz",
    "_space_group_symop.magn_operation_xyz",
)
_CENTERING_ITEMS = (
    "_space_group_symop_magn_centering.xyz",
    "_space_group_symop_magn_centering_xyz",
    "_space_group_symop.magn_centering_xyz",
)
_HALL_ITEMS = ("_space_group_name_hall", "_symmetry_space_group_name_hall")
_NAME_ITEMS = (
    "_space_group_name_h-m_alt",
    "_symmetry_space_group_name_h-m",
    "_space_group_name_h-m_full",
)
_NUMBER_ITEMS = ("_space_group_it_number", "_symmetry_int_tables_number")
_OLD_CHOICES = {"S": ":1", "Z": ":2", "H": ":H", "R": ":R"}  # suffixes of the ICSD
_TERM = re.compile(r"([+-]?)(\d+/\d+|\d*\.?\d+)?\*?([xyz])?")


def first_of(block: Mapping[str, Any], items: tuple[str, ...]) -> Any:  # noqa: ANN401 - text or list
    """Return the first of several data items that holds a value, or None.

    Args:
        block: Data items by lower-case name.
        items: Names in order of preference.

    Returns:
        Text, or a list of text for a looped item.
    """
    for item in items:
        value = block.get(item)
        if value is not None and value not in ("?", ".", ""):
            return value
    return None


def block_operations(block: Mapping[str, Any], *, hexagonal: bool) -> Operations:
    """Return the symmetry operations stated by a CIF block.

    Args:
        block: Data items by lower-case name.
        hexagonal: Whether the cell has hexagonal axes, which settles rhombohedral settings.

    Returns:
        Rotations, shape (n, 3, 3), and translations in fractions of the cell, shape (n, 3).

    Raises:
        ValueError: If the block states none, or leaves the setting open.
    """
    listed = first_of(block, _OPERATION_ITEMS)
    if listed is not None:
        general = [parse_operation(text) for text in _as_list(listed)]
        centerings = first_of(block, _CENTERING_ITEMS)
        shifts = [parse_operation(t)[1] for t in _as_list(centerings)] if centerings else []
        return _combined(general, shifts)
    hall = first_of(block, _HALL_ITEMS)
    if hall is not None:
        found = named_hall_numbers().get(" ".join(str(hall).replace("_", " ").split()))
        if found is not None:
            return hall_operations(found)
    name = first_of(block, _NAME_ITEMS)
    number = first_of(block, _NUMBER_ITEMS)
    if name is None and number is not None and str(number).strip() == "1":
        name = "P 1"
    if name is None:
        raise ValueError("the file states no symmetry operations and no space-group symbol")
    return hall_operations(_hall_number(str(name), hexagonal=hexagonal))


def parse_operation(text: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Read one operation such as ``1/2+x,-y,z`` or, magnetic, ``-x,y,z,-1``.

    Args:
        text: Coordinate triplet; a fourth part (time reversal) is left out.

    Returns:
        Rotation, shape (3, 3), and translation, shape (3,).

    Raises:
        ValueError: If the text is no coordinate triplet.
    """
    parts = text.lower().replace(" ", "").strip("'\"").split(",")
    if len(parts) not in (3, 4):
        raise ValueError(f"{text!r} is no symmetry operation")
    rotation, translation = np.zeros((3, 3)), np.zeros(3)
    for row, part in enumerate(parts[:3]):
        place = 0
        while place < len(part):
            match = _TERM.match(part, place)
            if match is None or match.end() == place or not (match[2] or match[3]):
                raise ValueError(f"{text!r} is no symmetry operation")
            size = float(Fraction(match[2] or "1")) * (-1.0 if match[1] == "-" else 1.0)
            if match[3]:
                rotation[row, "xyz".index(match[3])] += size
            else:
                translation[row] += size
            place = match.end()
    if abs(abs(np.linalg.det(rotation)) - 1.0) > 1e-6:
        raise ValueError(f"{text!r} is no symmetry operation")
    return rotation, translation


def _combined(
    general: list[tuple[NDArray[np.float64], NDArray[np.float64]]],
    shifts: list[NDArray[np.float64]],
) -> Operations:
    moves = shifts or [np.zeros(3)]
    rotations = [rotation for rotation, _ in general for _ in moves]
    translations = [shift + move for _, shift in general for move in moves]
    return np.array(rotations), np.array(translations)


def _hall_number(name: str, *, hexagonal: bool) -> int:
    symbol, _, choice = name.strip().partition(":")
    tokens = symbol.replace("_", "").split()
    suffix = f":{choice.strip().upper()}" if choice else ""
    if len(tokens) > 1 and tokens[-1] in _OLD_CHOICES:
        suffix = _OLD_CHOICES[tokens.pop()]
    if len(tokens) == 1:
        spellings = [tokens[0], re.sub(r"([2346])([1-5])", r"\1_\2", tokens[0])]
    else:
        spellings = ["".join(re.sub(r"^([2346])([1-5])", r"\1_\2", token) for token in tokens)]
    if not suffix and tokens[0].startswith("R"):
        suffix = ":H" if hexagonal else ":R"
    problem = f"the space group {name!r} is unknown"
    for spelling in spellings:
        try:
            return hall_number_of(spelling + suffix)
        except SimulatorError as cause:
            problem = str(cause)
    raise ValueError(f"{problem}, or list the symmetry operations in the file")


def _as_list(value: Any) -> list[str]:  # noqa: ANN401 - text or list of text
    return [value] if isinstance(value, str) else [str(item) for item in value]
