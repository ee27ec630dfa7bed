"""A published value, ours, and the verdict.

Checks stand in `labenv/validation/catalogue/`, one file a subject, each with a list ``CHECKS``. A
tolerance is that of the published value or of the physics at stake and stands beside its reason; it
was written down before ours was computed, and a value that misses it stays in the table as a miss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labenv_schemas.errors import LabEnvError

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Check:
    """A published value and how ours is made.

    Attributes:
        system: Chemical system or material.
        quantity: What it is, with conditions.
        published: The value.
        tolerance: Largest difference that passes, in the same unit.
        unit: Its unit, as text.
        source: Citation of the published value.
        ours: Computes our value.
    """

    system: str
    quantity: str
    published: float
    tolerance: float
    unit: str
    source: str
    ours: Callable[[], float]


@dataclass(frozen=True)
class Judged:
    """A check and what came of it.

    Attributes:
        check: The check.
        value: Our value; `None` if we have none.
        reason: Why there is none; empty if there is one.
    """

    check: Check
    value: float | None
    reason: str = ""

    @property
    def passed(self) -> bool:
        """Whether our value lies within the tolerance."""
        return (
            self.value is not None
            and abs(self.value - self.check.published) <= self.check.tolerance
        )


def judge(check: Check) -> Judged:
    """Compute our value of a check.

    Args:
        check: The check.

    Returns:
        The verdict; a simulator that refuses has no value and fails.
    """
    try:
        value = float(check.ours())
    except LabEnvError as error:
        return Judged(check, None, str(error))
    if not math.isfinite(value):
        return Judged(check, None, "not a finite number")
    return Judged(check, value)


__all__ = ["Check", "Judged", "judge"]
