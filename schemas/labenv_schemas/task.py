"""Goals and budgets."""

from __future__ import annotations

from pydantic import Field, model_validator

from labenv_schemas.base import Model
from labenv_schemas.formula import FormulaText
from labenv_schemas.units import DurationS


class Budget(Model):
    """What a campaign may spend; the first limit reached ends it. None means no limit."""

    experiments: int | None = Field(default=20, ge=1, le=1_000_000)
    lab_time_s: DurationS | None = Field(default=None, alias="lab_time", gt=0)
    cost: float | None = Field(default=None, gt=0, description="In the lab's currency.")

    @model_validator(mode="after")
    def _limited(self) -> Budget:
        if self.experiments is None and self.lab_time_s is None and self.cost is None:
            raise ValueError("a budget needs at least one limit: experiments, lab_time or cost")
        return self


class TaskSpec(Model):
    """A goal in a material system, with its budget and what may be used."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    description: str = ""
    system: str = Field(description="Material system, such as 'Ba-Ti-C-O'.")
    target: FormulaText
    target_phases: tuple[str, ...] = Field(
        min_length=1, description="Structure slugs that count as the target."
    )
    goal_fraction: float = Field(default=0.97, gt=0.0, le=1.0)
    budget: Budget = Field(default_factory=Budget)
    allowed_operations: tuple[str, ...] = ("dose", "mix", "press", "heat", "regrind", "measure")
