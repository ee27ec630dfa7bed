"""Firing powders: solid-state reactions driven by Gibbs energy and limited by diffusion.

API (all batched over a leading axis of N samples, pure, arrays only)::

    system   = load_system("Ba-Ti-C-O")                     # phases, gases, reactions, melting limits
    amounts  = np.zeros((N, len(system.phases)))            # mol; columns as system.phase_names
    powder   = new_powder(system, amounts, particle_radius_m, contact)
    powder   = mill(system, powder, duration_s)             # also mix, regrind(system, powder), press
    program  = heat_program([(target_k, rate_k_per_s, hold_s)], cooling_k_per_s=...)
    programs = stack_programs([program] * N)                # each sample has its own row
    factors  = draw_parameters(system, [generator] * N)     # or None for the nominal rates
    result   = react(system, powder, programs, gas_pa, factors)
    result.powder.amounts_mol                               # (N, P); result.powder is the new state
    result.gas_released_mol                                 # (N, G) during this firing
    result.liquid_share                                     # (N,) above 0: something melted
    system.mass_fractions(result.powder.amounts_mol)        # (N, P)

`gas_pa` has one column a gas, in the order of ``system.gases``: CO2, O2. `AIR_PA` is air.

The model. Phases in contact react at a rate ``k(T) f(state) (1 - exp(ΔG/RT))``: the last factor is
the thermodynamic drive at the furnace's temperature and gas, and where it is negative the reaction
runs backwards. ``f`` is Ginstling and Brounshtein's law for a product layer around a shrinking core,
in series with the interface, so a layer slows its own growth with the square of the particle's
size. Mixing enters as the share of the cations' segregation that diffusion can undo before the
reach of the contacts is used up; what remains reacts several hundred times more slowly until the
powder is reground. Crystallites grow with the cube root of time, and particles with them.

What it leaves out: solid solution, Ba6Ti17O40 and the other TiO2-rich titanates beyond BaTi2O5 and
BaTi4O9, evaporation, oxygen deficiency, heat of reaction, gradients of temperature and gas inside
the powder, and what a liquid does to the rates.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from labenv.physics.furnace_program import HeatProgram, heat_program, stack_programs
from labenv.physics.kinetics_powder import (
    PowderState,
    join_powders,
    mill,
    mix,
    new_powder,
    press,
    regrind,
)
from labenv.physics.reactions import STANDARD_PRESSURE_PA, ReactionSystem, load_system
from labenv_schemas.errors import ProposalError, SimulatorError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

# Dry air: 420 ppm CO2 (NOAA global mean of 2023), 20.95 % O2 (US Standard Atmosphere 1976).
AIR_PA = (42.5, 21227.0)


@dataclass(frozen=True)
class StepControl:
    """How finely a firing is integrated.

    Attributes:
        share: Largest share of the cations that one reaction may turn over in a step.
        temperature_k: Largest change of temperature in a step, K.
    """

    share: float = 0.03
    temperature_k: float = 20.0


@dataclass(frozen=True)
class ReactionResult:
    """What a firing gave.

    Attributes:
        powder: The powders afterwards.
        gas_released_mol: Gas given off during this firing, mol, shape (N, G); negative if taken up.
        liquid_share: Largest share of the cations in a liquid during this firing, shape (N,).
        steps: Steps of the integrator, shape (N,).
    """

    powder: PowderState
    gas_released_mol: Floats
    liquid_share: Floats
    steps: Ints


def draw_parameters(system: ReactionSystem, generators: Sequence[np.random.Generator]) -> Floats:
    """Draw kinetic prefactors within their uncertainty, one sample a generator.

    Args:
        system: The chemical system.
        generators: One a sample; each gives R normal deviates.

    Returns:
        Factors on the nominal rates, log-normal about 1, shape (N, R).
    """
    sigma = np.array([reaction.sigma_ln for reaction in system.reactions])
    return np.exp(sigma * np.array([g.standard_normal(sigma.size) for g in generators]))


def react(
    system: ReactionSystem,
    powder: PowderState,
    programs: HeatProgram,
    gas_pa: ArrayLike = AIR_PA,
    parameters: ArrayLike | None = None,
    *,
    control: StepControl = StepControl(),  # noqa: B008 - frozen
    threads: int = 1,
) -> ReactionResult:
    """Fire a batch of powders, each by its own programme.

    Args:
        system: The chemical system.
        powder: The powders, N of them.
        programs: The furnace programmes, N rows or one for all.
        gas_pa: Partial pressures of the system's gases, Pa, shape (N, G) or (G,).
        parameters: Factors on the nominal rates, shape (N, R) or (R,); `None` for 1.
        control: Step limits; halving both changes mass fractions by less than 0.01.
        threads: Threads to share the rows among; the numbers do not depend on it.

    Returns:
        The powders after firing, with what they gave off.

    Raises:
        ProposalError: If a temperature lies outside the system's range, or a pressure or factor is
            negative or not finite, or shapes do not fit.
        SimulatorError: If a sample needs too many steps.

    Source:
        Ginstling & Brounshtein, J. Appl. Chem. USSR 23, 1327 (1950).
    """
    count, tab = len(powder), system.tables
    time = _rows(programs.time_s, count, "heat programmes")
    temperature = _rows(programs.temperature_k, count, "heat programmes")
    _check_temperature(system, temperature)
    pressure = _positive(_rows(np.atleast_2d(gas_pa), count, "gas pressures"), "gas pressures")
    if pressure.shape[1] != len(system.gases):
        raise ProposalError(f"gas pressures need {len(system.gases)} columns, got {pressure.shape}")
    factors = np.ones(len(system.reactions)) if parameters is None else parameters
    factors = _positive(_rows(np.atleast_2d(factors), count, "kinetic factors"), "kinetic factors")
    after = powder.rows(slice(None))
    gas = np.zeros_like(after.gas_released_mol)
    cube = after.crystallite_m**3
    cations = after.amounts_mol @ tab.cation_count
    scalars = np.column_stack([after.contact, after.packing, after.segregation, cations])
    liquid, steps = np.zeros(count), np.zeros(count, dtype=np.int64)
    constants = system.constants
    model = np.array([
        *(constants[k] for k in ("interface_m", "scarce_fraction", "unmixed_rate")),
        control.share,
        control.temperature_k,
        *(constants[k] for k in ("active_above_k", "nucleus_m")),
    ])
    table = (
        tab.grid_min_k, tab.rate, tab.inverse_k, tab.stoichiometry, tab.gas_stoichiometry, tab.law,
        tab.core, tab.needs_contact, tab.cation_count, tab.cation_share,
    )  # fmt: skip
    melt = (tab.growth, tab.melting_k, tab.melting_phase)

    def run(first: int, last: int) -> None:
        from labenv.physics.kinetics_kernel import fire_rows

        fire_rows(
            first, last, time, temperature, after.amounts_mol, gas, after.reference_mol,
            after.particle_radius_m, cube, scalars, _gas_factors(system, pressure), factors, model,
            table, melt, liquid, steps,
        )  # fmt: skip

    _share_out(run, count, threads)
    if bool(np.any(steps < 0)):
        worst = int(np.argmin(steps))
        raise SimulatorError(f"sample {worst}: firing not finished after {-steps[worst]} steps")
    return ReactionResult(
        powder=replace(
            after,
            crystallite_m=np.cbrt(cube),
            gas_released_mol=powder.gas_released_mol + gas,
            liquid_share=np.maximum(powder.liquid_share, liquid),
        ),
        gas_released_mol=gas,
        liquid_share=liquid,
        steps=steps,
    )


def _rows(values: ArrayLike, count: int, what: str) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.shape[0] not in {1, count}:
        raise ProposalError(f"{what} need 1 or {count} rows, got {array.shape[0]}")
    return np.ascontiguousarray(np.broadcast_to(array, (count, array.shape[1])))


def _positive(values: Floats, what: str) -> Floats:
    if not bool(np.all(np.isfinite(values)) and np.all(values >= 0.0)):
        raise ProposalError(f"{what} must be finite and at least 0")
    return values


def _check_temperature(system: ReactionSystem, temperature: Floats) -> None:
    low, high = float(np.min(temperature)), float(np.max(temperature))
    if low < system.t_min_k - 50.0 or high > system.t_max_k:
        raise ProposalError(
            f"{system.name}: the data hold up to {system.t_max_k} K and the furnace stands in a "
            f"room near {system.t_min_k} K; asked for {low:.1f} K to {high:.1f} K"
        )


def _gas_factors(system: ReactionSystem, pressure_pa: Floats) -> Floats:
    """Return, for each sample and reaction, the reaction quotient and CO2's hindrance."""
    tab = system.tables
    quotient = np.prod(
        (pressure_pa[:, None, :] / STANDARD_PRESSURE_PA) ** tab.gas_stoichiometry[None], axis=2
    )
    names = [gas.name for gas in system.gases]
    co2 = pressure_pa[:, names.index("CO2")] if "CO2" in names else np.zeros(len(pressure_pa))
    return np.ascontiguousarray(
        np.stack([quotient, 1.0 / (1.0 + co2[:, None] / tab.co2_half_pa)], axis=2)
    )


def _share_out(run: Callable[[int, int], None], count: int, threads: int) -> None:
    if threads <= 1 or count < 2 * threads:
        run(0, count)
        return
    edges = np.linspace(0, count, threads + 1).astype(int)
    with ThreadPoolExecutor(threads) as pool:
        for done in [
            pool.submit(run, int(a), int(b)) for a, b in zip(edges, edges[1:], strict=False)
        ]:
            done.result()


__all__ = [
    "AIR_PA",
    "HeatProgram",
    "PowderState",
    "ReactionResult",
    "StepControl",
    "draw_parameters",
    "heat_program",
    "join_powders",
    "load_system",
    "mill",
    "mix",
    "new_powder",
    "press",
    "react",
    "regrind",
    "stack_programs",
]
