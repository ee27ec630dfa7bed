"""The public face of a sample: who it is and what was done to it, never what it is made of."""

from __future__ import annotations

from pydantic import Field

from labenv_schemas.base import Model


class SampleEvent(Model):
    """One thing done to a sample."""

    operation: str = Field(description="Kind of operation, such as 'heat'.")
    station: str = Field(description="Where it was done.")
    started_s: float = Field(description="Lab clock, s since the campaign began.")
    finished_s: float = Field(description="Lab clock, s since the campaign began.")


class Sample(Model):
    """Matter with an identity and a history."""

    sample_id: str = Field(description="Identity of the sample.")
    experiment_id: str = Field(description="The experiment that made it.")
    history: tuple[SampleEvent, ...] = Field(default=(), description="What was done, in order.")
