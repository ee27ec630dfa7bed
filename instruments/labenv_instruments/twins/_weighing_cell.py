"""What is under a pan: a load, the time it takes to be felt, noise, and a slow drift."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np

CAPACITY_KG: Final = 0.22
STEP_KG: Final = 1e-8  # last digit shown
SETTLING_S: Final = 0.12  # time constant of the filter; a gram is still after some 1.5 s
NOISE_KG: Final = 3e-9
DRIFT_KG_PER_S: Final = 1e-13  # spread of the drift between balances: a tenth of a step in 3 h
ZERO_RANGE_KG: Final = 0.02 * CAPACITY_KG
UNDERLOAD_KG: Final = 0.5e-3


class WeighingCell:
    """A balance without its electronics.

    Args:
        rng: For noise and drift.

    Attributes:
        load_kg: What lies on the pan.
        zero_kg: Load at which it was zeroed.
        tare_kg: Tared away.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._drift_kg_per_s = DRIFT_KG_PER_S * float(rng.standard_normal())
        self._from_kg, self._changed_s = 0.0, 0.0
        self.load_kg = self.zero_kg = self.tare_kg = 0.0

    def put(self, load_kg: float, now_s: float) -> None:
        """Change the load.

        Args:
            load_kg: All that lies on the pan then.
            now_s: Lab time, s.
        """
        if load_kg != self.load_kg:
            self._from_kg, self._changed_s = self._felt_kg(now_s), now_s
            self.load_kg = load_kg

    def settles_at_s(self) -> float:
        """Return when the load is felt to half a step, lab time, s."""
        change_kg = abs(self.load_kg - self._from_kg)
        if change_kg <= STEP_KG / 2:
            return self._changed_s
        return self._changed_s + SETTLING_S * math.log(2 * change_kg / STEP_KG)

    def gross_kg(self, now_s: float) -> float:
        """Return the load as shown, without the tare."""
        noise_kg = NOISE_KG * float(self._rng.standard_normal())
        return self._felt_kg(now_s) - self.zero_kg + self._drift_kg_per_s * now_s + noise_kg

    def _felt_kg(self, now_s: float) -> float:
        elapsed_s = max(now_s - self._changed_s, 0.0)
        return self.load_kg + (self._from_kg - self.load_kg) * math.exp(-elapsed_s / SETTLING_S)


__all__ = ["CAPACITY_KG", "STEP_KG", "UNDERLOAD_KG", "ZERO_RANGE_KG", "WeighingCell"]
