"""Chemical systems by name: those with a data file, and those made from the powders at hand.

A name is the metals in alphabetical order, then ``C-O``: ``"Co-Li-C-O"``. Where a data file has
that name (``"Ba-Ti-C-O"``), the file is the system. Any other is the network that
`labenv.physics.networks` generates over the powders of ``data/reagents.toml``, in air; a firing
under another gas uses the same phases and reactions at that gas's pressures.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from labenv.physics.networks.generation import Surroundings, generate_system
from labenv.physics.reactions import load_system as load_file
from labenv.physics.reactions import system_names
from labenv.physics.thermochemistry import cation_amounts
from labenv.physics.thermochemistry.sources import substance_table
from labenv_schemas.errors import UnknownPluginError
from labenv_schemas.formula import parse_formula

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from labenv.physics.reactions import ReactionSystem, ReactionTables

MOST_METALS = 4
BOTTLES_A_METAL = {1: 3, 2: 3, 3: 2, 4: 1}
_ENDING = "-C-O"
# Between grains that give them off; the furnace's gas is not told how much of these it holds.
_GIVEN_OFF = Surroundings()
_BED_PA = {"H2O": _GIVEN_OFF.h2o_pa, "NO2": _GIVEN_OFF.other_pa, "NH3": _GIVEN_OFF.other_pa}


def system_name(metals: Iterable[str]) -> str:
    """Return the name of the system of some metals: alphabetical, then ``C-O``."""
    return "-".join(sorted(set(metals))) + _ENDING


def metals_of(formula: str) -> tuple[str, ...]:
    """Return the elements of a formula that do not leave as gas, in its order.

    Args:
        formula: Such as ``"Li2CO3"``.

    Returns:
        Such as ``("Li",)``.

    Raises:
        ValueError: If it is no formula.
    """
    return tuple(cation_amounts(parse_formula(formula).amounts))


def load_system(name: str = "Ba-Ti-C-O") -> ReactionSystem:
    """Return a chemical system by name.

    Args:
        name: As `system_name` writes it.

    Returns:
        The system; the same object for the same name, as long as it is among the last used.

    Raises:
        UnknownPluginError: If the name is none, or a metal has no powder; the message says which.
        ConfigError: If the network of so many phases cannot be treated.
    """
    return load_file(name) if name in system_names() else _generated(name)


def bottles_of(name: str) -> tuple[Mapping[str, Any], ...]:
    """Return the rows of the powders that the shelf of a generated system holds.

    Args:
        name: Of the system.

    Returns:
        Rows of ``data/reagents.toml`` with their ``phase``, metal after metal.

    Raises:
        UnknownPluginError: As `load_system`.
    """
    metals = _metals_in(name)
    table = substance_table("combined")
    found: list[Mapping[str, Any]] = []
    for metal in metals:
        rows = [row for row in reagents()["bottles"] if metals_of(row["name"]) == (metal,)]
        taken = rows[: BOTTLES_A_METAL[len(metals)]]
        found += [{**row, "phase": table.get(row["name"]).name} for row in taken]
        if not rows:
            raise UnknownPluginError(
                f"no powder of {metal} is in the list of reagents, so {name!r} has no shelf"
            )
    return tuple(found)


@lru_cache(maxsize=1)
def reagents() -> Mapping[str, Any]:
    """Return the list of powders, ``data/reagents.toml``."""
    file = resources.files("labenv.physics") / "data" / "reagents.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


@lru_cache(maxsize=16)
def _generated(name: str) -> ReactionSystem:
    system = generate_system(tuple(row["phase"] for row in bottles_of(name)), _GIVEN_OFF)
    bed = [_BED_PA.get(gas.name, pa) for gas, pa in zip(system.gases, system.bed_pa, strict=True)]
    # What melts on the way is found out in the furnace: where the phases of a eutectic lie in a
    # diagram of many metals, and whether they are still there, is not certain in advance.
    return replace(
        system,
        name=name,
        melting=(),
        bed_pa=np.array(bed, dtype=np.float64),
        tables=_with_melting_products(system),
    )


def _with_melting_products(system: ReactionSystem) -> ReactionTables:
    """Return a system's tables in which compounds of several metals melt by themselves.

    The network knows where phases melt together. A charge that has become one compound melts too,
    at that compound's melting or peritectic point; a powder of one metal that melts on the way,
    such as Li2CO3, wets the others and is used up.
    """
    tables, metals = system.tables, system.tables.cation[:, 1:] > 0.0
    found = [
        (p, float(melting_k))
        for p, phase in enumerate(system.phases)
        if (melting_k := getattr(phase, "melting_k", None)) and np.count_nonzero(metals[p]) >= 2
    ]
    alone = np.eye(len(system.phases))[np.array([p for p, _ in found], dtype=np.int64)]
    return tables._replace(
        melting_k=np.concatenate([tables.melting_k, [k for _, k in found]]),
        melting_phase=np.concatenate([tables.melting_phase, alone]),
    )


def _metals_in(name: str) -> tuple[str, ...]:
    """Return the metals of a system's name.

    Raises:
        UnknownPluginError: If it is none, or has too many metals.
    """
    files = ", ".join(system_names())
    form = "the metals in alphabetical order, then 'C-O', as 'Co-Li-C-O'"
    metals = tuple(name.removesuffix(_ENDING).split("-"))
    try:
        known = name.endswith(_ENDING) and all(metals_of(metal) == (metal,) for metal in metals)
    except ValueError:
        known = False
    if not known:
        raise UnknownPluginError(
            f"no chemical system {name!r}; there are {files}, and any of powders at hand: {form}"
        )
    if system_name(metals) != name:
        raise UnknownPluginError(
            f"no chemical system {name!r}; write {system_name(metals)!r} ({form})"
        )
    if len(metals) > MOST_METALS:
        raise UnknownPluginError(f"{name!r} has more than {MOST_METALS} metals")
    return metals


__all__ = ["bottles_of", "load_system", "metals_of", "reagents", "system_name"]
