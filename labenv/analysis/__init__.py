"""From measurement to conclusion: phase fractions of a powder from its diffractogram.

- `quantify(diffractogram, phases)` fits one real or simulated scan in full (texture, cell, widths,
  displacement, background) and answers with a `PhaseAnalysis`.
- `identify(diffractogram, elements)` finds out first which phases of the library are there; without
  elements, of the whole library. `identify_phases` tells the evidence for each as well.
- `fit_phases` and `search_phases` do the same and return the fitted curves as well.
- `PhaseQuantifier(phases, spec).run_batch(counts)` does thousands of scans of one instrument a
  second for reinforcement learning.

Names are imported on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labenv.analysis.fit import PatternFit, fit_phases, quantify
    from labenv.analysis.quantifier import PhaseQuantifier, QuantifiedBatch
    from labenv.analysis.search import Identification, identify, identify_phases, search_phases

__all__ = [
    "Identification",
    "PatternFit",
    "PhaseQuantifier",
    "QuantifiedBatch",
    "fit_phases",
    "identify",
    "identify_phases",
    "quantify",
    "search_phases",
]

_HOMES = {
    "Identification": "search",
    "PatternFit": "fit",
    "PhaseQuantifier": "quantifier",
    "QuantifiedBatch": "quantifier",
    "fit_phases": "fit",
    "identify": "search",
    "identify_phases": "search",
    "quantify": "fit",
    "search_phases": "search",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
