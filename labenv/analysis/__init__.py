"""From measurement to conclusion: phase fractions of a powder from its diffractogram.

- `quantify(diffractogram, phases)` fits one real or simulated scan in full (texture, cell, widths,
  displacement, background) and answers with a `PhaseAnalysis`.
- `identify(diffractogram, elements)` searches the structure library first.
- `PhaseQuantifier(phases, spec).run_batch(counts)` does thousands of scans of one instrument a
  second for reinforcement learning.

Names are imported on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labenv.analysis.quantifier import PhaseQuantifier, QuantifiedBatch

__all__ = ["PhaseQuantifier", "QuantifiedBatch"]

_HOMES = {
    "PhaseQuantifier": "labenv.analysis.quantifier",
    "QuantifiedBatch": "labenv.analysis.quantifier",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
