"""The parameters of a proposal space: each maps the unit interval to values a lab understands.

Three kinds: `Categorical` (no order), `Ordinal` (a few ordered numbers) and `Continuous` (a range,
linear or logarithmic, rounded to what the lab can set). All work on arrays of any shape. In arrays
a categorical value is the index of its choice, the others are numbers in the parameter's unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labenv_schemas.errors import ConfigError, ProposalError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

# A value this far outside its range, as a share of the range, is taken for rounding error and
# projected to the bound; anything further is refused.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Categorical:
    """A choice without order.

    Attributes:
        name: Name of the parameter.
        choices: What can be chosen; an array holds the index.
    """

    name: str
    choices: tuple[str, ...]
    unit: str = ""

    def __post_init__(self) -> None:
        """Refuse an empty or repeated list of choices.

        Raises:
            ConfigError: If there is no choice, or one is listed twice.
        """
        if not self.choices or len(set(self.choices)) != len(self.choices):
            raise ConfigError(f"{self.name}: choices must be given, each once: {self.choices}")

    @property
    def levels(self) -> int:
        """Number of choices."""
        return len(self.choices)

    def values_of_levels(self) -> Floats:
        """Return the value of each level, shape (levels,)."""
        return np.arange(self.levels, dtype=np.float64)

    def from_unit(self, unit: ArrayLike) -> Floats:
        """Return the index of the choice whose equal share of [0, 1] holds each point."""
        return _share(unit, self.levels)

    def to_unit(self, value: ArrayLike) -> Floats:
        """Return the middle of each choice's share of [0, 1]."""
        return (_checked(self.name, value, 0, self.levels - 1, "") + 0.5) / self.levels

    def index(self, choice: str) -> int:
        """Return the index of a choice.

        Raises:
            ProposalError: If it is none of the choices.
        """
        if choice not in self.choices:
            known = ", ".join(self.choices)
            raise ProposalError(f"{self.name} {choice!r} is not offered; there are: {known}")
        return self.choices.index(choice)


@dataclass(frozen=True)
class Ordinal:
    """A few ordered numbers.

    Attributes:
        name: Name of the parameter.
        numbers: What can be chosen, rising; an array holds the number itself.
        unit: Unit of the numbers.
    """

    name: str
    numbers: tuple[float, ...]
    unit: str = ""

    def __post_init__(self) -> None:
        """Refuse numbers that do not rise.

        Raises:
            ConfigError: If the list is empty or does not rise.
        """
        if not self.numbers or list(self.numbers) != sorted(set(self.numbers)):
            raise ConfigError(f"{self.name}: the numbers must rise: {self.numbers}")

    @property
    def levels(self) -> int:
        """Number of choices."""
        return len(self.numbers)

    def values_of_levels(self) -> Floats:
        """Return the value of each level, shape (levels,)."""
        return np.array(self.numbers, dtype=np.float64)

    def from_unit(self, unit: ArrayLike) -> Floats:
        """Return the number whose equal share of [0, 1] holds each point."""
        return self.values_of_levels()[_share(unit, self.levels).astype(np.int64)]

    def to_unit(self, value: ArrayLike) -> Floats:
        """Return the middle of the share of [0, 1] of the number nearest to each value."""
        low, high = self.numbers[0], self.numbers[-1]
        number = _checked(self.name, value, low, high, self.unit)
        distance = np.abs(number[..., None] - self.values_of_levels())
        return np.asarray((np.argmin(distance, axis=-1) + 0.5) / self.levels)


@dataclass(frozen=True)
class Continuous:
    """A range of numbers, rounded to what the lab can set.

    Attributes:
        name: Name of the parameter.
        low: Lowest value.
        high: Highest value.
        unit: Unit of the values.
        resolution: The lab sets the lowest value plus multiples of this; 0 for any value.
        log: Whether equal steps are equal ratios.
        levels: Number of values offered to discrete action spaces, both bounds included.
    """

    name: str
    low: float
    high: float
    unit: str = ""
    resolution: float = 0.0
    log: bool = False
    levels: int = 11

    def __post_init__(self) -> None:
        """Refuse bounds that span nothing.

        Raises:
            ConfigError: If the bounds do not rise, a logarithmic range reaches 0, or there are
                fewer than two levels.
        """
        if not self.low < self.high or (self.log and self.low <= 0.0) or self.levels < 2:
            raise ConfigError(
                f"{self.name}: the range {self.low:g} to {self.high:g} {self.unit} in "
                f"{self.levels} levels is none; bounds rise, and a logarithmic one starts above 0"
            )

    def values_of_levels(self) -> Floats:
        """Return the value of each level, shape (levels,)."""
        return self.from_unit(np.arange(self.levels) / (self.levels - 1))

    def from_unit(self, unit: ArrayLike) -> Floats:
        """Return the value at each point of [0, 1], rounded to the resolution."""
        share = np.clip(np.asarray(unit, dtype=np.float64), 0.0, 1.0)
        if self.log:
            value = self.low * np.exp(share * np.log(self.high / self.low))
        else:
            value = self.low + share * (self.high - self.low)
        return self.rounded(value)

    def to_unit(self, value: ArrayLike) -> Floats:
        """Return the point of [0, 1] at which each value lies."""
        number = _checked(self.name, value, self.low, self.high, self.unit)
        if self.log:
            return np.asarray(np.log(number / self.low) / np.log(self.high / self.low))
        return (number - self.low) / (self.high - self.low)

    def rounded(self, value: Floats) -> Floats:
        """Return values rounded to the resolution and kept within the bounds."""
        if self.resolution > 0.0:
            steps = np.round((value - self.low) / self.resolution)
            # The second rounding makes 0.9 + 95 * 0.001 the float that 0.995 is.
            value = np.round(self.low + steps * self.resolution, _decimals(self.resolution))
        return np.clip(value, self.low, self.high)


Parameter = Categorical | Ordinal | Continuous


def _share(unit: ArrayLike, count: int) -> Floats:
    share = np.clip(np.asarray(unit, dtype=np.float64), 0.0, 1.0)
    return np.minimum(np.floor(share * count), count - 1.0)


def _decimals(resolution: float) -> int:
    return max(0, int(np.ceil(-np.log10(resolution))) + 2)


def _checked(name: str, value: ArrayLike, low: float, high: float, unit: str) -> Floats:
    """Return values within the bounds, projecting what is out by no more than the tolerance.

    Raises:
        ProposalError: If a value is further out.
    """
    number = np.asarray(value, dtype=np.float64)
    slack = TOLERANCE * (high - low)
    bad = ~((number >= low - slack) & (number <= high + slack))  # a NaN is bad too
    if np.any(bad):
        worst = float(np.ravel(number)[np.argmax(np.ravel(bad))])
        raise ProposalError(
            f"{name} {worst:g} {unit} lies outside {low:g} to {high:g} {unit}".replace("  ", " ")
        )
    return np.clip(number, low, high)
