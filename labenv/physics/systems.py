"""Chemical systems by name: those with a data file, and those made from the powders at hand.

A name is the metals in alphabetical order, then ``C-O``: ``"Co-Li-C-O"``. Where a data file has
that name (``"Ba-Ti-C-O"``), the file is the system. Any other is the network that
`labenv.physics.networks` generates over the powders of ``data/reagents.toml``, with the phases and
reactions that matter in air or under an inert gas. Their rates depend on the gas, as they do for
`labenv predict`: which way each reaction runs, what competes, how much of a trace of gas reaches
the powder. `react` therefore fires each sample with the rates of its own gas.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from labenv.physics import kinetics
from labenv.physics.checks import distinct_rows
from labenv.physics.furnace_program import HeatProgram
from labenv.physics.kinetics import DEFAULT_CONTROL, ReactionResult, join_powders
from labenv.physics.networks.generation import LEAST_PA, Surroundings, generate_system
from labenv.physics.reactions import load_system as load_file
from labenv.physics.reactions import system_names
from labenv.physics.thermochemistry import cation_amounts
from labenv.physics.thermochemistry.sources import substance_table
from labenv_schemas.errors import LabEnvError, UnknownPluginError
from labenv_schemas.formula import parse_formula

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from labenv.physics.kinetics import PowderState, StepControl
    from labenv.physics.reactions import ReactionSystem, ReactionTables

    Floats = NDArray[np.float64]

MOST_METALS = 4
BOTTLES_A_METAL = {1: 3, 2: 3, 3: 2, 4: 1}
_ENDING = "-C-O"
# Between grains that give them off; the furnace's gas is not told how much of these it holds.
_GIVEN_OFF = Surroundings()
# As bottled gases are: nitrogen and argon with 5 ppm of oxygen and 1 ppm of CO2, the others alike.
_INERT = Surroundings(o2_pa=0.506625, co2_pa=0.101325)
_BOTTLED = (
    _GIVEN_OFF,
    _INERT,
    Surroundings(o2_pa=101325.0, co2_pa=0.101325),
    Surroundings(o2_pa=0.506625, co2_pa=101325.0),
    Surroundings(o2_pa=0.2, co2_pa=0.1),
)
_GASES = (_GIVEN_OFF, _INERT)  # whose phases and reactions a system has
# The rates under other gases are those of pressures on a grid, a fifth away at most, so that not
# every gas makes a system of its own. Drives are those of the gas itself.
_STEPS_A_DECADE = 6
_NEAR = 0.02  # relative, within which a gas is one of `_BOTTLED`
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


def react(
    system: ReactionSystem,
    powder: PowderState,
    programs: HeatProgram,
    gas_pa: ArrayLike,
    parameters: ArrayLike | None = None,
    *,
    control: StepControl = DEFAULT_CONTROL,
) -> ReactionResult:
    """Fire a batch of powders, each with the rates that hold under its gas.

    Args:
        system: As `load_system` gives it; any other is fired with the rates that it has.
        powder: The powders, N of them.
        programs: The furnace programmes, N rows or one for all.
        gas_pa: Partial pressures of the system's gases, Pa, shape (N, G) or (G,).
        parameters: Factors on the rates, shape (N, R) or (R,); `None` for 1.
        control: Step limits and threads; no ledger is kept where the gases differ.

    Returns:
        As `labenv.physics.kinetics.react`.

    Raises:
        ProposalError: As `labenv.physics.kinetics.react`.
        SimulatorError: As `labenv.physics.kinetics.react`.
    """
    pressures = np.atleast_2d(np.asarray(gas_pa, dtype=np.float64))
    groups = _by_gas(system, pressures)
    if len(groups) == 1:
        return kinetics.react(
            next(iter(groups.values()))[0], powder, programs, pressures, parameters, control=control
        )
    parts: list[tuple[NDArray[np.int64], ReactionResult]] = []
    time, temperature = programs.time_s, programs.temperature_k
    for under, rows in groups.values():
        own = rows if len(time) > 1 else slice(None)
        result = kinetics.react(
            under,
            powder.rows(rows),
            HeatProgram(time[own], temperature[own]),
            pressures[rows],
            _some(parameters, rows),
            control=replace(control, ledger=False),
        )
        parts.append((rows, result))
    return _joined(parts)


def _by_gas(
    system: ReactionSystem, pressures: Floats
) -> dict[Surroundings, tuple[ReactionSystem, NDArray[np.int64]]]:
    """Return for each gas the system with its rates and the rows under it."""
    every = np.arange(len(pressures))
    if system.name in system_names() or not _is_generated(system):
        return {_GIVEN_OFF: (system, every)}
    names = [gas.name for gas in system.gases]
    pair = pressures[:, [names.index("O2"), names.index("CO2")]]
    kinds, which = distinct_rows(pair)
    found: dict[Surroundings, list[int]] = {}
    for kind, (o2_pa, co2_pa) in enumerate(kinds):
        rows = np.flatnonzero(which == kind)
        found.setdefault(_around(float(o2_pa), float(co2_pa)), []).extend(map(int, rows))
    return {
        around: (
            system if around == _GIVEN_OFF else _generated(system.name, around),
            np.array(sorted(rows), dtype=np.int64),
        )
        for around, rows in found.items()
    }


def _is_generated(system: ReactionSystem) -> bool:
    try:
        own = _generated(system.name)
    except LabEnvError:  # a name that is none of this module's
        return False
    alike = own.phase_names == system.phase_names and len(own.reactions) == len(system.reactions)
    return own is system or alike


def _around(o2_pa: float, co2_pa: float) -> Surroundings:
    """Return the gas that the rates under given pressures are taken from."""
    for known in _BOTTLED:
        if all(
            abs(pa - stands) <= _NEAR * stands
            for pa, stands in ((o2_pa, known.o2_pa), (co2_pa, known.co2_pa))
        ):
            return known
    logs = np.log10(np.maximum([o2_pa, co2_pa], LEAST_PA))
    o2, co2 = 10.0 ** (np.round(_STEPS_A_DECADE * logs) / _STEPS_A_DECADE)
    return Surroundings(o2_pa=float(o2), co2_pa=float(co2))


def _some(values: ArrayLike | None, rows: NDArray[np.int64]) -> Floats | None:
    """Return the rows of an array that may have one row for all."""
    if values is None:
        return None
    array = np.atleast_2d(np.asarray(values, dtype=np.float64))
    return array if len(array) == 1 else array[rows]


def _joined(parts: Sequence[tuple[NDArray[np.int64], ReactionResult]]) -> ReactionResult:
    """Return the results of some rows each as one, in the order of the rows."""
    order = np.argsort(np.concatenate([rows for rows, _ in parts]))
    results = [result for _, result in parts]

    def together(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate(arrays)[order]

    return ReactionResult(
        join_powders([result.powder for result in results]).rows(order),
        together([result.gas_released_mol for result in results]),
        together([result.liquid_share for result in results]),
        together([result.steps for result in results]),
    )


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


@lru_cache(maxsize=64)
def _generated(name: str, around: Surroundings = _GIVEN_OFF) -> ReactionSystem:
    powders = tuple(row["phase"] for row in bottles_of(name))
    system = generate_system(powders, around, over=_GASES)
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


__all__ = ["bottles_of", "load_system", "metals_of", "react", "reagents", "system_name"]
