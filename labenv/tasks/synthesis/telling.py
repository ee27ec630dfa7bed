"""Which phases a diffractogram cannot tell from a target, so that a score would reward either."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labenv.analysis.twins import line_heights
from labenv.physics.reflection_cache import reflections_of
from labenv.physics.structures.library import phase_library

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labenv.physics.reflections import ReflectionList

ALIKE = 0.97
"""Cosine of two patterns from which on they count as one; magnetite and CoFe2O4 have 0.99, NiFe2O4
and maghemite, which a scan of the tasks tells apart, 0.89."""
_BLUR = 0.0015  # relative: a line of 0.12 degrees at 35 degrees
_WAVELENGTH_A, _TOP_DEG = 1.5405929, 77.0  # of the tasks' scans


def indistinguishable(targets: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    """Return the phases whose pattern is that of a target.

    Args:
        targets: Slugs of the structure library that count as the target.
        others: Slugs of phases that do not.

    Returns:
        Those of `others` that a scan does not tell from one of `targets`.
    """
    wanted = [_lines(name) for name in targets]
    return tuple(
        name for name in others if any(_cosine(one, _lines(name)) > ALIKE for one in wanted)
    )


def _lines(name: str) -> ReflectionList:
    return reflections_of(phase_library().get(name), _WAVELENGTH_A, _TOP_DEG)


def _cosine(one: ReflectionList, other: ReflectionList) -> float:
    norm = np.sqrt(_overlap(one, one) * _overlap(other, other))
    return _overlap(one, other) / float(norm) if norm > 0.0 else 0.0


def _overlap(one: ReflectionList, other: ReflectionList) -> float:
    apart = (np.log(one.d_a)[:, None] - np.log(other.d_a)) / (2.0 * _BLUR)
    return float(line_heights(one) @ np.exp(-(apart**2)) @ line_heights(other))


__all__ = ["ALIKE", "indistinguishable"]
