"""The campaign file a scientist writes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from labenv_schemas.base import Model
from labenv_schemas.json_values import JsonObject
from labenv_schemas.proposal import Proposal
from labenv_schemas.task import Budget

_ROUNDING = 0.02  # published percentages are rounded and may add up to a little over one


class PolicyConfig(Model):
    """Which policy proposes, and its options."""

    name: str = Field(default="bayesian", description="Name of the policy.")
    options: JsonObject = Field(
        default_factory=dict, description="What the policy itself understands."
    )


class StationConfig(Model):
    """A device of the laboratory that is reached over a wire."""

    address: str = Field(
        min_length=1,
        description="Driver, place and options, such as 'eurotherm+tcp://10.0.0.5?model=3216'.",
    )
    role: str | None = Field(
        default=None, description="Kind of station it stands at; the driver's own if left out."
    )
    limits: JsonObject = Field(
        default_factory=dict,
        description="What it may be asked for here, such as {max_temperature: 1200 degC}.",
    )
    timeout_s: float = Field(
        default=2.0, gt=0.0, le=60.0, description="Longest wait for one reply, s of wall time."
    )


class LabConfig(Model):
    """What the laboratory has; the default is the bench of the material system, in process."""

    system: str = Field(default="Ba-Ti-C-O", description="Material system.")
    furnaces: int = Field(default=2, ge=1, le=64, description="Furnaces that work at once.")
    randomise: bool = Field(
        default=True,
        description="Draw kinetics, purity, particle size and offsets per episode; false by "
        "default where a campaign replays recipes.",
    )
    machine_failure_rate: float = Field(
        default=0.0, ge=0.0, le=1.0, description="Chance that an operation fails for the machine."
    )
    stations: dict[str, StationConfig] = Field(
        default_factory=dict,
        description="Devices on wires, by the station's name; none for a laboratory in process.",
    )
    hand: str | None = Field(
        default=None, description="Address of what carries samples between the stations."
    )
    clock: Literal["virtual", "wall"] = Field(
        default="wall",
        description="Lab time of the stations: the wall's, or, of twins, as fast as they compute.",
    )
    speed: float = Field(
        default=1.0, gt=0.0, le=1e6, description="Lab seconds per wall second; twins only."
    )
    dead_man_s: float = Field(
        default=30.0,
        ge=1.0,
        le=3600.0,
        description="Wall seconds after which devices are made safe when this process is gone.",
    )

    @model_validator(mode="after")
    def _stations_need_a_hand(self) -> LabConfig:
        if self.stations and self.hand is None:
            raise ValueError("'stations' need a 'hand' that carries samples between them")
        if self.hand is not None and not self.stations:
            raise ValueError("a 'hand' needs 'stations'")
        if self.clock == "virtual" and self.speed != 1.0:
            raise ValueError("'speed' is for 'clock: wall'; a virtual clock needs none")
        return self


class PublishedOutcome(Model):
    """What a publication reports for a recipe."""

    phases: dict[str, Annotated[float, Field(ge=0.0, le=1.0)] | None] = Field(
        description="Structure slug to reported weight fraction; null if only named."
    )
    statement: str = Field(description="What the authors found, in our words.")

    @model_validator(mode="after")
    def _at_most_one(self) -> PublishedOutcome:
        total = sum(fraction or 0.0 for fraction in self.phases.values())
        if total > 1.0 + _ROUNDING:
            raise ValueError(f"the weight fractions add up to {total:g}; one sample has 1 at most")
        return self


class Recipe(Model):
    """A published synthesis, with its source."""

    name: str = Field(description="Short name, unique in the file.")
    citation: str = Field(min_length=8, description="Authors, journal, year, DOI.")
    proposal: Proposal = Field(description="The recipe as a plan.")
    published: PublishedOutcome = Field(description="What the authors report.")


def _task_text(given: Any) -> Any:  # noqa: ANN401 - any input may arrive
    """Return a task's name with its target as one text, from whichever way it is written.

    Raises:
        ValueError: If a mapping has other keys, lacks the name, or holds what is no plain text.
    """
    if not isinstance(given, dict):
        return given
    unknown = sorted(map(str, given.keys() - {"name", "target"}))
    if unknown or "name" not in given:
        raise ValueError(
            "a task is a name, or 'name' and 'target'"
            + (f"; it has no {', '.join(unknown)}" if unknown else "; 'name' is missing")
        )
    if not all(isinstance(part, str) and ":" not in part for part in given.values()):
        raise ValueError("'name' and 'target' of a task are texts without a colon")
    return ":".join([given["name"], *([given["target"]] if "target" in given else [])])


_TASK_SCHEMA = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {"name": {"type": "string"}, "target": {"type": "string"}},
            "required": ["name"],
            "additionalProperties": False,
        },
    ]
}
TaskText = Annotated[str, BeforeValidator(_task_text), WithJsonSchema(_TASK_SCHEMA)]


class CampaignConfig(Model):
    """A budgeted series of proposals toward one task, or a list of recipes to replay."""

    name: str = Field(min_length=1, max_length=200, description="Title of the campaign.")
    description: str = Field(default="", description="What it is for.")
    task: TaskText = Field(
        default="batio3-synthesis",
        description="Name of the task, or name and target; 'synthesis:LiCoO2' is short for both.",
    )
    lab: LabConfig = Field(default_factory=LabConfig, description="What the laboratory has.")
    policy: PolicyConfig = Field(default_factory=PolicyConfig, description="What proposes.")
    budget: Budget | None = Field(
        default=None, description="What may be spent; the task's own budget if left out."
    )
    goal: float | None = Field(
        default=None, gt=0.0, le=1.0, description="Score that is success; the task's if left out."
    )
    stop_on_success: bool | None = Field(
        default=None,
        description="Whether a result that reaches the goal ends the campaign; true by default "
        "where the file states a goal.",
    )
    parallelism: int = Field(default=2, ge=1, le=64, description="Proposals in flight at once.")
    seed: int = Field(default=0, ge=0, lt=2**63, description="Seed of everything random.")
    recipes: tuple[Recipe, ...] = Field(
        default=(), description="Published recipes to replay in place of a policy."
    )

    @property
    def stops_on_success(self) -> bool:
        """Whether a result that reaches the goal ends the campaign."""
        stated = self.goal is not None and not self.recipes
        return stated if self.stop_on_success is None else self.stop_on_success

    @model_validator(mode="before")
    @classmethod
    def _nominal_for_recipes(cls, data: Any) -> Any:  # noqa: ANN401 - any input may arrive
        # A difference from what was published should be the model's, not the luck of a lot.
        if not isinstance(data, dict) or not data.get("recipes"):
            return data
        lab = data.get("lab", {})
        if isinstance(lab, LabConfig) and "randomise" not in lab.model_fields_set:
            return {**data, "lab": lab.model_copy(update={"randomise": False})}
        if isinstance(lab, dict) and "randomise" not in lab:
            return {**data, "lab": {**lab, "randomise": False}}
        return data

    @model_validator(mode="after")
    def _named_once(self) -> CampaignConfig:
        names = [recipe.name for recipe in self.recipes]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"recipe names must differ; repeated: {', '.join(repeated)}")
        return self
