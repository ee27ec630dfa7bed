"""Phase mapping: which phases a pair of precursors gives, over composition and temperature."""

from labenv.tasks.phase_mapping.atlas import (
    MapGrid,
    agreement,
    drawn_map,
    equilibrium_map,
    hidden_map,
)
from labenv.tasks.phase_mapping.measuring import (
    Conditions,
    Point,
    Reading,
    draw_laboratory,
    lab_time_s,
    measure,
)
from labenv.tasks.phase_mapping.plans import boundary_cell, greedy_plan, space_filling_cells
from labenv.tasks.phase_mapping.systems import (
    DEFAULT_PAIRS,
    LIQUID,
    UNSEEN,
    MappedSystem,
    mapped_system,
)

__all__ = [
    "DEFAULT_PAIRS",
    "LIQUID",
    "UNSEEN",
    "Conditions",
    "MapGrid",
    "MappedSystem",
    "Point",
    "Reading",
    "agreement",
    "boundary_cell",
    "draw_laboratory",
    "drawn_map",
    "equilibrium_map",
    "greedy_plan",
    "hidden_map",
    "lab_time_s",
    "mapped_system",
    "measure",
    "space_filling_cells",
]
