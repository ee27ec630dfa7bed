"""Goals and budgets."""

from __future__ import annotations

from typing import get_args

from pydantic import Field, field_validator, model_validator

from labenv_schemas.base import Model
from labenv_schemas.formula import FormulaText
from labenv_schemas.proposal import Operation
from labenv_schemas.units import DurationS

_OPERATIONS = tuple(kind.model_fields["op"].default for kind in get_args(get_args(Operation)[0]))


class Budget(Model):
    """What a campaign may spend; the first limit reached ends it. None means no limit."""

    experiments: int | None = Field(
        default=None, ge=1, le=1_000_000, description="Most experiments; no limit if left out."
    )
    lab_time_s: DurationS | None = Field(
        default=None,
        validation_alias="lab_time",
        serialization_alias="lab_time",
        gt=0,
        description="Longest time on the lab's clock.",
    )
    cost: float | None = Field(default=None, gt=0, description="In the lab's currency.")

    @model_validator(mode="after")
    def _limited(self) -> Budget:
        if self.experiments is None and self.lab_time_s is None and self.cost is None:
            raise ValueError("a budget needs at least one limit: experiments, lab_time or cost")
        return self


class TaskSpec(Model):
    """A goal in a material system, with its budget and what may be used."""

    name: str = Field(
        pattern=r"^[a-z0-9][a-z0-9-]*$", description="Lower-case words joined by hyphens."
    )
    description: str = Field(default="", description="The goal in words.")
    system: str = Field(description="Material system, such as 'Ba-Ti-C-O'.")
    target: FormulaText = Field(description="Formula of what is to be made, such as 'BaTiO3'.")
    target_phases: tuple[str, ...] = Field(
        min_length=1, description="Structure slugs that count as the target."
    )
    goal_fraction: float = Field(
        default=0.97, gt=0.0, le=1.0, description="Weight fraction of the target that is success."
    )
    budget: Budget = Field(
        default_factory=lambda: Budget(experiments=20), description="What may be spent."
    )
    allowed_operations: tuple[str, ...] = Field(
        default=("dose", "mix", "press", "heat", "regrind", "measure"),
        description="Kinds of operation that a plan may hold.",
    )

    @field_validator("allowed_operations")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        unknown = [operation for operation in value if operation not in _OPERATIONS]
        if unknown:
            raise ValueError(f"no operation is called {unknown[0]!r}; {', '.join(_OPERATIONS)} are")
        if "dose" not in value:
            raise ValueError("'dose' must be allowed: every plan starts with it")
        return value
