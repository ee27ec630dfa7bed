"""What differs from one episode to the next: the lot in the bottle, the furnace, the goniometer.

Drawn once an episode, each part from its own stream, and never told to a policy. A batch has one
row an episode, so the single lab (N = 1) and the vector environment (N) share everything.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from labenv.lab.streams import stream
from labenv.physics.kinetics import draw_parameters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labenv.lab.shelf import Shelf
    from labenv.physics.reactions import ReactionSystem

    Floats = NDArray[np.float64]

# Spreads of a well-kept laboratory; calibrated to practice, not measured.
FURNACE_OFFSET_SD_K = 5.0  # a type S thermocouple of class 2 is good to 0.25 %, IEC 60584-1
ZERO_SHIFT_SD_DEG = 0.01
DISPLACEMENT_SD_M = 30e-6  # of one sample's surface to the next
BRIGHTNESS_SIGMA_LN = 0.1  # the tube ages
BACKGROUND_SIGMA_LN = 0.25
STANDARD_SIGMA_LN = 0.011  # phase purity of NIST SRM 676a, Cline et al. 2011, Acta Cryst. A67


@dataclass(frozen=True)
class EpisodeConditions:
    """Hidden conditions of N episodes.

    Attributes:
        kinetic_factor: Factors on the nominal reaction rates, shape (N, R).
        purity: Mass fraction of each bottle that is what the label says, shape (N, S).
        particle_radius_m: Particle radius of each bottle, m, shape (N, S).
        furnace_offset_k: True temperature less thermocouple reading at 1273 K, K, shape (N,); it
            grows in proportion to the excess over the room.
        zero_shift_deg: Zero error of the goniometer, degrees 2θ, shape (N,).
        displacement_sd_m: Scatter of the sample surface's height, m, shape (N,).
        brightness: Factor on the diffractometer's brightness, shape (N,).
        background: Factor on its background, shape (N,).
        standard: `brightness` as the laboratory has found it on a standard, shape (N,); not hidden.
    """

    kinetic_factor: Floats
    purity: Floats
    particle_radius_m: Floats
    furnace_offset_k: Floats
    zero_shift_deg: Floats
    displacement_sd_m: Floats
    brightness: Floats
    background: Floats
    standard: Floats

    def __len__(self) -> int:
        return len(self.kinetic_factor)

    def rows(self, index: NDArray[np.int64] | NDArray[np.bool_] | slice) -> EpisodeConditions:
        """Return the episodes that `index` selects, with repetition if it repeats."""
        return EpisodeConditions(*[getattr(self, f.name)[index] for f in fields(self)])


def nominal_conditions(system: ReactionSystem, shelf: Shelf, count: int = 1) -> EpisodeConditions:
    """Return conditions in which everything is as the label says.

    Args:
        system: The chemical system.
        shelf: Its shelf.
        count: Number of episodes N.

    Returns:
        N equal rows; the sample surface still scatters from one scan to the next.
    """
    one = np.ones(count)
    return EpisodeConditions(
        kinetic_factor=np.ones((count, len(system.reactions))),
        purity=np.tile([s.purity for s in shelf.substances], (count, 1)),
        particle_radius_m=np.tile([s.particle_radius_m for s in shelf.substances], (count, 1)),
        furnace_offset_k=0.0 * one,
        zero_shift_deg=0.0 * one,
        displacement_sd_m=DISPLACEMENT_SD_M * one,
        brightness=one,
        background=one.copy(),
        standard=one.copy(),
    )


def draw_conditions(
    system: ReactionSystem, shelf: Shelf, seeds: Sequence[int], *, randomise: bool = True
) -> EpisodeConditions:
    """Draw the conditions of episodes, each from its seed alone.

    Args:
        system: The chemical system.
        shelf: Its shelf.
        seeds: Episode seeds, N of them.
        randomise: False for nominal conditions whatever the seed.

    Returns:
        The conditions, N rows.
    """
    count = len(seeds)
    nominal = nominal_conditions(system, shelf, count)
    if not randomise:
        return nominal
    kinetic = draw_parameters(system, [stream(s, "conditions", "kinetics") for s in seeds])
    lots = np.array([
        [stream(s, "conditions", "shelf", name).standard_normal(2) for name in shelf.names]
        for s in seeds
    ])  # (N, S, 2)
    furnace = np.array([stream(s, "conditions", "tube_furnace").standard_normal() for s in seeds])
    optics = np.array([
        stream(s, "conditions", "powder_diffractometer").standard_normal(4) for s in seeds
    ])  # (N, 4)
    purity_sd = np.array([s.purity_sd for s in shelf.substances])
    sigma_ln = np.array([s.radius_sigma_ln for s in shelf.substances])
    return EpisodeConditions(
        kinetic_factor=kinetic,
        purity=np.clip(nominal.purity + purity_sd * lots[:, :, 0], 0.5, 1.0),
        particle_radius_m=nominal.particle_radius_m * np.exp(sigma_ln * lots[:, :, 1]),
        furnace_offset_k=FURNACE_OFFSET_SD_K * np.clip(furnace, -2.5, 2.5),
        zero_shift_deg=ZERO_SHIFT_SD_DEG * optics[:, 0],
        displacement_sd_m=nominal.displacement_sd_m,
        brightness=np.exp(BRIGHTNESS_SIGMA_LN * optics[:, 1]),
        background=np.exp(BACKGROUND_SIGMA_LN * optics[:, 2]),
        standard=np.exp(BRIGHTNESS_SIGMA_LN * optics[:, 1] + STANDARD_SIGMA_LN * optics[:, 3]),
    )


__all__ = ["EpisodeConditions", "draw_conditions", "nominal_conditions"]
