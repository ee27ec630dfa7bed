"""Published values beside ours, and the domain in which the simulator may be trusted."""

from labenv.validation.checks import Check, Judged
from labenv.validation.judging import judge_all
from labenv.validation.scans import ReactionScan, judge_scans

__all__ = ["Check", "Judged", "ReactionScan", "judge_all", "judge_scans"]
