"""The one door to the truth, for evaluation: what a sample really was.

Nothing that a policy can see may be made from what is returned here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from labenv_schemas.errors import ConfigError

# This module alone reads the private parts of a lab: it is the door.

if TYPE_CHECKING:
    from labenv.lab.laboratory import Lab

AMORPHOUS = "amorphous"


def true_mass_fractions(lab: Lab, experiment_id: str) -> dict[str, float]:
    """Return what the sample of an experiment consisted of when it was last scanned.

    Args:
        lab: The laboratory.
        experiment_id: An experiment that was submitted to it.

    Returns:
        Structure slug to mass fraction, and ``"amorphous"``; they sum to 1. If it was not scanned,
        as it is now. Empty if there never was a sample.

    Raises:
        ConfigError: If the lab has no such experiment.
    """
    experiment = lab._experiments.get(experiment_id)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    if experiment is None:
        raise ConfigError(f"this lab has no experiment {experiment_id!r}")
    done = sum(record.status == "ok" for record in experiment.records)
    experiment.sample.catch_up(experiment.operations[:done])
    truth = experiment.sample.true_samples
    if truth is None:
        return {}
    bench = lab._world.bench  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    names = (*bench.system.structures, AMORPHOUS)
    return dict(zip(names, bench.mass_fractions(truth)[0].tolist(), strict=True))


__all__ = ["AMORPHOUS", "true_mass_fractions"]
