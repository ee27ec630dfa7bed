"""The space of proposals that a task offers to policies and to action spaces.

One experiment is a row of `n` numbers, in any of three forms:

* a *unit* point in [0, 1]^n, which samplers and Gaussian processes like;
* *values*: numbers in each parameter's unit, a categorical one by the index of its choice;
* *levels*: the integers of a MultiDiscrete action.

`ProposalSpace` converts between them and, through the task's `Recipe`, to and from `Proposal`. The
space is flat: every parameter counts in every proposal, so no policy needs conditional spaces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from labenv.tasks.parameters import Categorical, Continuous
from labenv_schemas.errors import ConfigError, ProposalError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from labenv.lab.shelf import Shelf
    from labenv.tasks.batch_plan import BatchPlan
    from labenv.tasks.parameters import Parameter
    from labenv_schemas.proposal import Proposal

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


class Blueprint(Protocol):
    """How a task turns named values into a plan, and reads them back."""

    def build(self, values: Mapping[str, float | str]) -> Proposal:
        """Return the plan with these values; a categorical value is its choice."""
        ...

    def read(self, proposal: Proposal) -> dict[str, float | str]:
        """Return the values of a plan.

        Raises:
            ProposalError: If the plan is of another shape.
        """
        ...


class BatchBlueprint(Blueprint, Protocol):
    """A blueprint that also plans many experiments at once, for the vector environment.

    Attributes:
        longest_plan: Operations of its longest plan.
        limited_parameter: The parameter (a temperature) that the lab's interlocks limit.
        limiting_parameters: The parameters on which that limit depends.
    """

    longest_plan: int
    limited_parameter: str
    limiting_parameters: tuple[str, ...]

    def plan_batch(self, values: Floats, shelf: Shelf) -> BatchPlan:
        """Return the plans of rows of values, shape (N, n), as `build` would make them."""
        ...


class ProposalSpace:
    """The parameters of a family of proposals.

    Args:
        parameters: The parameters, in order.
        blueprint: Builds a plan from values and reads one back.

    Attributes:
        parameters: As given.
        names: Their names.
        n: Their number.
        nvec: Levels of each parameter, shape (n,).
    """

    def __init__(self, parameters: tuple[Parameter, ...], blueprint: Blueprint) -> None:
        self.parameters = parameters
        self.blueprint = blueprint
        self.names = tuple(parameter.name for parameter in parameters)
        self.n = len(parameters)
        self.nvec: Ints = np.array([parameter.levels for parameter in parameters], dtype=np.int64)
        tables = [parameter.values_of_levels() for parameter in parameters]
        self._level_values = np.concatenate(tables)
        self._level_units = np.concatenate([
            parameter.to_unit(table) for parameter, table in zip(parameters, tables, strict=True)
        ])
        self._first_level = np.concatenate([[0], np.cumsum(self.nvec)[:-1]]).astype(np.int64)

    def values_from_unit(self, unit: ArrayLike) -> Floats:
        """Return the values at points of the unit cube.

        Args:
            unit: Points, shape (..., n); what lies outside [0, 1] is projected to it.

        Returns:
            Values, shape (..., n).

        Raises:
            ProposalError: If a number is not finite.
        """
        points = np.asarray(unit, dtype=np.float64)
        if not np.all(np.isfinite(points)):
            raise ProposalError(f"an action must be finite numbers, got {points}")
        return self._columns(points, [parameter.from_unit for parameter in self.parameters])

    def values_from_levels(self, levels: ArrayLike) -> Floats:
        """Return the values of discrete levels.

        Args:
            levels: Integers below `nvec`, shape (..., n).

        Returns:
            Values, shape (..., n).

        Raises:
            ProposalError: If a level does not exist.
        """
        return self._level_values[self._level_index(levels)]

    def unit_from_levels(self, levels: ArrayLike) -> Floats:
        """Return the points of the unit cube of discrete levels.

        Args:
            levels: Integers below `nvec`, shape (..., n).

        Returns:
            Points, shape (..., n), as `unit_from_values` of the levels' values.
        """
        return self._level_units[self._level_index(levels)]

    def unit_from_values(self, values: ArrayLike) -> Floats:
        """Return the points of the unit cube at which values lie.

        Args:
            values: Values, shape (..., n).

        Returns:
            Points, shape (..., n); a choice lies in the middle of its share.

        Raises:
            ProposalError: If a value lies outside its range by more than rounding error.
        """
        numbers = np.asarray(values, dtype=np.float64)
        return self._columns(numbers, [parameter.to_unit for parameter in self.parameters])

    def snap(self, unit: ArrayLike) -> Floats:
        """Return points moved to where `encode` would find the proposal that they decode to.

        Args:
            unit: Points, shape (..., n).

        Returns:
            Points, shape (..., n): choices at the middle of their share, ranges at the resolution.
        """
        return self.unit_from_values(self.values_from_unit(unit))

    def decode(self, values: ArrayLike) -> Proposal:
        """Return the proposal with these values.

        Args:
            values: Values, shape (n,).

        Returns:
            The proposal.
        """
        numbers = np.asarray(values, dtype=np.float64)
        named: dict[str, float | str] = {}
        for parameter, number in zip(self.parameters, numbers.tolist(), strict=True):
            if isinstance(parameter, Categorical):
                named[parameter.name] = parameter.choices[int(number)]
            else:
                named[parameter.name] = number
        return self.blueprint.build(named)

    def encode(self, proposal: Proposal) -> Floats:
        """Return the values of a proposal of this family.

        Args:
            proposal: A proposal such as `decode` gives.

        Returns:
            Values, shape (n,), on the space's grid.

        Raises:
            ProposalError: If the proposal is of another shape or lies outside the space.
        """
        named = self.blueprint.read(proposal)
        values = np.empty(self.n)
        for k, parameter in enumerate(self.parameters):
            value = named[parameter.name]
            values[k] = (
                parameter.index(str(value)) if isinstance(parameter, Categorical) else float(value)
            )
        return self.values_from_unit(self.unit_from_values(values))

    def decode_unit(self, unit: ArrayLike) -> Proposal:
        """Return the proposal at a point of the unit cube, shape (n,)."""
        return self.decode(self.values_from_unit(unit))

    def encode_unit(self, proposal: Proposal) -> Floats:
        """Return the point of the unit cube of a proposal of this family, shape (n,)."""
        return self.unit_from_values(self.encode(proposal))

    def key(self, unit: ArrayLike) -> tuple[float, ...]:
        """Return what identifies the proposal at a point; points with one key are replicates."""
        return tuple(np.round(self.values_from_unit(unit), 9).tolist())

    def features(self, unit: ArrayLike) -> Floats:
        """Return points as a regression sees them: one column per choice of a categorical.

        Args:
            unit: Points, shape (N, n).

        Returns:
            Features in [0, 1], shape (N, F).
        """
        points = np.atleast_2d(np.asarray(unit, dtype=np.float64))
        columns: list[Floats] = []
        for k, parameter in enumerate(self.parameters):
            if isinstance(parameter, Categorical):
                index = parameter.from_unit(points[:, k]).astype(np.int64)
                columns.append(np.eye(parameter.levels)[index])
            else:
                columns.append(points[:, k : k + 1])
        return np.concatenate(columns, axis=1)

    def batch_blueprint(self) -> BatchBlueprint:
        """Return the blueprint, if it plans many experiments at once.

        Raises:
            ConfigError: If it does not.
        """
        if not hasattr(self.blueprint, "plan_batch"):
            raise ConfigError(
                "this task has no batch plans, so it has no native vector environment; use "
                "gym.make_vec(..., vectorization_mode='sync') or 'async'"
            )
        return cast("BatchBlueprint", self.blueprint)

    def describe(self) -> list[dict[str, object]]:
        """Return one record a parameter, for prompts and listings."""
        records: list[dict[str, object]] = []
        for parameter in self.parameters:
            record: dict[str, object] = {"name": parameter.name, "unit": parameter.unit}
            if isinstance(parameter, Categorical):
                record |= {"kind": "categorical", "choices": list(parameter.choices)}
            elif isinstance(parameter, Continuous):
                record |= {
                    "kind": "continuous",
                    "low": parameter.low,
                    "high": parameter.high,
                    "log": parameter.log,
                }
            else:
                record |= {"kind": "ordinal", "choices": list(parameter.numbers)}
            records.append(record)
        return records

    def _level_index(self, levels: ArrayLike) -> Ints:
        index = np.asarray(levels, dtype=np.int64)
        if index.shape[-1:] != (self.n,):
            raise ProposalError(
                f"levels are {self.n} integers ({', '.join(self.names)}), got shape {index.shape}"
            )
        outside = (index < 0) | (index >= self.nvec)
        if outside.any():
            place = tuple(np.argwhere(outside)[0])
            name, count = self.names[place[-1]], self.nvec[place[-1]]
            raise ProposalError(f"level {index[place]} of {name} lies outside 0 to {count - 1}")
        return index + self._first_level

    def _columns(self, points: Floats, functions: list[object]) -> Floats:
        if points.shape[-1:] != (self.n,):
            raise ProposalError(
                f"a proposal has {self.n} parameters ({', '.join(self.names)}), got shape "
                f"{points.shape}"
            )
        out = np.empty(points.shape, dtype=np.float64)
        for k, function in enumerate(functions):
            out[..., k] = function(points[..., k])  # type: ignore[operator]
        return out
