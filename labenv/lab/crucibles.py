"""The crucibles a charge can be fired in: what one costs and what its material stands."""

from __future__ import annotations

# For one firing, in the lab's currency.
CRUCIBLE_COST = {"alumina": 3.0, "zirconia": 8.0, "magnesia": 6.0, "platinum": 10.0}

# Highest temperatures of the materials in themselves, K, as their suppliers give them.
CRUCIBLE_LIMIT_K = {
    "alumina": 1973.15,
    "zirconia": 2273.15,
    "magnesia": 2273.15,
    "platinum": 1923.15,
}
