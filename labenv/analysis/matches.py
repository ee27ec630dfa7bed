"""Which phases of the library match the lines that a fit leaves over."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from labenv.analysis.candidates import model_of
from labenv.analysis.pattern_model import SHARED
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labenv.analysis.pattern_model import PhaseModel
    from labenv.analysis.refinement import Refined
    from labenv.analysis.scan import Scan
    from labenv.physics.structures.phase import CrystalPhase


def matching_phases(
    scan: Scan, present: Iterable[CrystalPhase], refined: Refined, most: int = 3
) -> list[str]:
    """Return phases of the library, of the same elements, that would explain what a fit leaves.

    Args:
        scan: The scan.
        present: The phases fitted.
        refined: Their refinement.
        most: How many to return at most.

    Returns:
        Names, best first; empty if none would lower χ² by a fifth.
    """
    from labenv.physics.structures import phase_library

    fitted = list(present)
    elements = sorted(set().union(*(phase.elements for phase in fitted)) | {"O"})
    names = {phase.name for phase in fitted}
    gains: dict[str, float] = {}
    for phase in phase_library().search(elements):
        if phase.name not in names:
            with suppress(ConfigError):  # no line of it in the range
                gains[phase.name] = gain_of(scan, model_of(phase, scan), refined)
    good = [name for name, gain in gains.items() if gain > 0.2 * refined.chi2]
    return sorted(good, key=lambda name: -gains[name])[:most]


def gain_of(scan: Scan, model: PhaseModel, refined: Refined) -> float:
    """Return by how much a phase, unrefined, would lower χ² if added to a refinement.

    Args:
        scan: The scan.
        model: The phase.
        refined: The refinement without it.

    Returns:
        The fall of χ², at least 0.
    """
    priors = scan.priors
    own = np.zeros(model.count)
    own[0] = 1.0
    own[1 + model.cell_count : 3 + model.cell_count] = 0.6 * priors.width_deg
    block = np.empty((SHARED + model.count, len(scan.counts)))
    floor = 1e-3 * (
        float(refined.scales.max()) or 1.0
    )  # where no phase fitted is there, any will do
    model.columns(refined.shared, own, scan.optics, floor, block)
    weighted = block[SHARED] / np.maximum(refined.calculated, 1.0)
    residual = scan.counts - refined.calculated
    bottom = max(float(weighted @ block[SHARED]), 1e-300)
    reach = max(1, int(0.5 * priors.width_deg / scan.optics.step_deg))
    top = max(float(weighted @ np.roll(residual, shift)) for shift in range(-reach, reach + 1))
    return max(top, 0.0) ** 2 / bottom
