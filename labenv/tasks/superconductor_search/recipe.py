"""Recipes for YBa2Cu3Oy: what is weighed, how it is fired and annealed, and their action space."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from labenv_schemas.errors import ConfigError, ProposalError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

ROUTES = ("BaCO3", "BaO2")
# Partial pressures, Pa. Air: US Standard Atmosphere 1976 and NOAA global mean of 2023; cylinder
# gases: makers' figures for ordinary purity, an estimate.
GASES: dict[str, tuple[float, float]] = {  # CO2, O2
    "air": (42.5, 21227.0),
    "oxygen": (1.0, 1.0e5),
    "nitrogen": (1.0, 10.0),
}
ZERO_C = 273.15
HOUR_S = 3600.0
RAMP_K_PER_S = 5.0 / 60.0


@dataclass(frozen=True)
class Recipe:
    """One experiment.

    Attributes:
        route: Precursor of barium; the others are Y2O3 and CuO.
        barium: Barium atoms per yttrium atom.
        copper: Copper atoms per yttrium atom.
        firing_k: Temperature of the firing, K.
        firing_s: Time held, s.
        firing_gas: One of `GASES`.
        anneal_k: Temperature of the oxygen anneal, K.
        anneal_s: Time held, s.
        anneal_gas: One of `GASES`.
        cooling_k_per_s: Cooling rate after the anneal, in its gas, K/s.
        magnetometry: Whether the moment is measured too.
    """

    route: str = "BaCO3"
    barium: float = 2.0
    copper: float = 3.0
    firing_k: float = 1203.15
    firing_s: float = 12.0 * HOUR_S
    firing_gas: str = "air"
    anneal_k: float = 723.15
    anneal_s: float = 12.0 * HOUR_S
    anneal_gas: str = "oxygen"
    cooling_k_per_s: float = 1.0 / 60.0
    magnetometry: bool = False

    def text(self) -> str:
        """Return the recipe in a laboratory's units."""
        tail = "; R(T) and ZFC moment" if self.magnetometry else "; R(T)"
        return (
            f"{self.route} + Y2O3 + CuO, Y:Ba:Cu = 1:{self.barium:.3f}:{self.copper:.3f}; "
            f"{self.firing_k - ZERO_C:.0f} degC for {self.firing_s / HOUR_S:.2f} h in "
            f"{self.firing_gas}; {self.anneal_k - ZERO_C:.0f} degC for "
            f"{self.anneal_s / HOUR_S:.2f} h in {self.anneal_gas}, cooled at "
            f"{self.cooling_k_per_s * 60.0:.2f} K/min{tail}"
        )


# Name, least, most, whether the axis is logarithmic. Around published practice (firing at 900 to
# 970 degC, 1:2:3, annealing at 400 to 600 degC), wide enough to fail in every way.
NUMBERS: tuple[tuple[str, float, float, bool], ...] = (
    ("barium", 0.5, 4.0, False),
    ("copper", 1.0, 6.0, False),
    ("firing_k", 1073.15, 1323.15, False),
    ("firing_s", 0.5 * HOUR_S, 72.0 * HOUR_S, True),
    ("anneal_k", 523.15, 1173.15, False),
    ("anneal_s", 0.25 * HOUR_S, 96.0 * HOUR_S, True),
    ("cooling_k_per_s", 0.2 / 60.0, 200.0 / 60.0, True),
)
_TOLERANCE = 1e-6  # what rounding to float32 may leave outside [-1, 1]


@dataclass(frozen=True)
class RecipeSpace:
    """Recipes as points of a cube, [-1, 1] in each of its eleven axes.

    Attributes:
        routes: Precursors of barium on offer.
        gases: Gases of the firing on offer; the anneal has all of them.
    """

    routes: tuple[str, ...] = ROUTES
    gases: tuple[str, ...] = ("air", "oxygen")

    def __post_init__(self) -> None:
        """Refuse what is not known.

        Raises:
            ConfigError: If a route or gas is unknown, named twice, or there is none.
        """
        for what, given, known in (
            ("routes", self.routes, ROUTES),
            ("gases", self.gases, tuple(GASES)),
        ):
            if not given or len(set(given)) < len(given) or not set(given) <= set(known):
                raise ConfigError(f"{what} must be some of {', '.join(known)}, got {given!r}")

    @property
    def choices(self) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        """Name and values of the axes that choose."""
        return (
            ("route", self.routes),
            ("firing_gas", self.gases),
            ("anneal_gas", tuple(GASES)),
            ("magnetometry", (False, True)),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """What each axis sets: numbers first, then choices."""
        return (*(row[0] for row in NUMBERS), *(name for name, _ in self.choices))

    @property
    def size(self) -> int:
        """Number of axes."""
        return len(self.names)

    def recipe(self, action: ArrayLike) -> Recipe:
        """Return the recipe that an action means.

        Args:
            action: Shape (size,), in [-1, 1]; a choice takes an equal share of its axis.

        Returns:
            The recipe.

        Raises:
            ProposalError: If the action is not of the space.
        """
        given = np.asarray(action)
        if given.dtype.kind not in "iuf" or given.shape != (self.size,):
            raise ProposalError(
                f"an action is {self.size} numbers, got {given.dtype} {given.shape}"
            )
        outside = ~(np.abs(given.astype(np.float64)) <= 1.0 + _TOLERANCE)  # a nan is outside too
        if outside.any():
            axis = int(np.argmax(outside))
            raise ProposalError(f"{self.names[axis]}: {given[axis]:g} lies outside [-1, 1]")
        share = np.clip((given.astype(np.float64) + 1.0) / 2.0, 0.0, 1.0)
        values: dict[str, Any] = {}
        for place, (name, low, high, log) in zip(share, NUMBERS, strict=False):
            a, b = (np.log(low), np.log(high)) if log else (low, high)
            at = a + float(place) * (b - a)
            values[name] = float(np.exp(at)) if log else at
        for place, (name, options) in zip(share[len(NUMBERS) :], self.choices, strict=True):
            values[name] = options[min(int(place * len(options)), len(options) - 1)]
        return Recipe(**values)

    def action(self, recipe: Recipe) -> Floats:
        """Return an action that means a recipe, clipped into the space.

        Args:
            recipe: Any.

        Returns:
            Shape (size,); a choice stands in the middle of its share, one not on offer at -1.
        """
        share: list[float] = []
        for name, low, high, log in NUMBERS:
            value = float(np.clip(getattr(recipe, name), low, high))
            ends = (np.log(low), np.log(high)) if log else (low, high)
            at = np.log(value) if log else value
            share.append(float((at - ends[0]) / (ends[1] - ends[0])))
        for name, options in self.choices:
            value = getattr(recipe, name)
            share.append((options.index(value) + 0.5) / len(options) if value in options else 0.0)
        return 2.0 * np.array(share) - 1.0

    def fault(self, recipe: Recipe) -> str:
        """Return why a recipe cannot be carried out here, empty if it can.

        Args:
            recipe: Any.

        Returns:
            What is wrong, with the limit in the unit of the field.
        """
        for name, options in self.choices:
            if getattr(recipe, name) not in options:
                return f"{name} must be one of {options}, not {getattr(recipe, name)!r}"
        for name, low, high, _ in NUMBERS:
            value = getattr(recipe, name)
            if not low * (1.0 - 1e-9) <= value <= high * (1.0 + 1e-9):
                return f"{name} must be {low:g} to {high:g}, not {value:g}"
        return ""


def read_recipe(given: object) -> Recipe:
    """Read a recipe that a policy wrote.

    Args:
        given: A recipe, or a mapping with some of its fields.

    Returns:
        The recipe; it may still be one that cannot be carried out.

    Raises:
        ProposalError: If it has other fields, or a value is of the wrong type or not finite.
    """
    if isinstance(given, Recipe):
        values = {field.name: getattr(given, field.name) for field in fields(Recipe)}
    elif isinstance(given, Mapping):
        values = {str(name): value for name, value in given.items()}
    else:
        raise ProposalError(
            f"a recipe is a Recipe or a mapping, not a {type(given).__name__}; actions of the "
            "action space go to step()"
        )
    kinds = {field.name: type(field.default) for field in fields(Recipe)}
    for name, value in values.items():
        if name not in kinds:
            raise ProposalError(f"a recipe has no {name!r}; it has {', '.join(kinds)}")
        values[name] = _typed(name, value, kinds[name])
    return Recipe(**values)


def _typed(name: str, value: object, kind: type) -> Any:  # noqa: ANN401 - of the kind
    number = isinstance(value, int | float | np.integer | np.floating)
    if kind is float and number and not isinstance(value, bool):
        with suppress(OverflowError):  # of a whole number beyond any float
            read = float(value)  # type: ignore[arg-type]
            if np.isfinite(read):
                return read
    if kind is not float and isinstance(value, kind):
        return value
    raise ProposalError(f"{name} must be a finite {kind.__name__}, not {value!r}")
