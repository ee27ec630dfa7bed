"""The public face of a sample: who it is and what was done to it, never what it is made of."""

from __future__ import annotations

from pydantic import Field

from labenv_schemas.base import Model


class SampleEvent(Model):
    """One thing done to a sample."""

    operation: str
    station: str
    started_s: float = Field(description="Lab clock, s since the campaign began.")
    finished_s: float


class Sample(Model):
    """Matter with an identity and a history."""

    sample_id: str
    experiment_id: str
    history: tuple[SampleEvent, ...] = ()
