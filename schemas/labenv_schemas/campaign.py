"""The campaign file a scientist writes."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from labenv_schemas.base import Model
from labenv_schemas.proposal import Proposal
from labenv_schemas.task import Budget


class PolicyConfig(Model):
    """Which policy proposes, and its options."""

    name: str = "bayesian"
    options: dict[str, Any] = Field(default_factory=dict)


class LabConfig(Model):
    """What the laboratory has; the default is the bench of the material system."""

    system: str = "Ba-Ti-C-O"
    furnaces: int = Field(default=2, ge=1, le=64)
    randomise: bool = Field(
        default=True, description="Draw kinetics, purity, particle size and offsets per episode."
    )
    machine_failure_rate: float = Field(
        default=0.0, ge=0.0, le=1.0, description="Chance that an operation fails for the machine."
    )


class PublishedOutcome(Model):
    """What a publication reports for a recipe."""

    phases: dict[str, float | None] = Field(
        description="Structure slug to reported weight fraction; null if only named."
    )
    statement: str = Field(description="What the authors found, in our words.")


class Recipe(Model):
    """A published synthesis, with its source."""

    name: str
    citation: str = Field(min_length=8)
    proposal: Proposal
    published: PublishedOutcome


class CampaignConfig(Model):
    """A budgeted series of proposals toward one task, or a list of recipes to replay."""

    name: str = Field(min_length=1, max_length=200)
    description: str = ""
    task: str = "batio3-synthesis"
    lab: LabConfig = Field(default_factory=LabConfig)
    policy: PolicyConfig = Field(default_factory=PolicyConfig)
    budget: Budget | None = None
    parallelism: int = Field(default=2, ge=1, le=64)
    seed: int = Field(default=0, ge=0, lt=2**63)
    recipes: tuple[Recipe, ...] = ()

    @model_validator(mode="after")
    def _named_once(self) -> CampaignConfig:
        names = [recipe.name for recipe in self.recipes]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"recipe names must differ; repeated: {', '.join(repeated)}")
        return self
