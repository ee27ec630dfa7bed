"""Delta router replay: a trajectory's routing is fetched once, row by row, as tokens come."""

from labenv.inference.replay.checks import RoutingShape, check_rows
from labenv.inference.replay.growing import Spill
from labenv.inference.replay.ledger import Appended, TrajectoryLedger
from labenv.inference.replay.tree import TrajectoryTree
from labenv.inference.replay.turn import Asked, RowSource, Turn

__all__ = [
    "Appended",
    "Asked",
    "RoutingShape",
    "RowSource",
    "Spill",
    "TrajectoryLedger",
    "TrajectoryTree",
    "Turn",
    "check_rows",
]
