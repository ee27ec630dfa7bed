"""The vocabulary of labenv: what a proposal, a measurement, an outcome and a campaign are.

Everything that crosses a boundary (a file, a socket, a policy, a store) is one of these models.
They are frozen, refuse unknown fields and non-finite numbers, and read any unit at the edge.
"""

from labenv_schemas.analysis import PhaseAnalysis, PhaseFraction
from labenv_schemas.base import Model, parse
from labenv_schemas.campaign import CampaignConfig, LabConfig, Recipe
from labenv_schemas.formula import Formula, parse_formula
from labenv_schemas.measurement import Diffractogram, InstrumentIdentity, Measurement
from labenv_schemas.outcome import Outcome, Score
from labenv_schemas.proposal import Heat, HeatSegment, Operation, Proposal, parse_proposal
from labenv_schemas.sample import Sample
from labenv_schemas.task import Budget, TaskSpec
from labenv_schemas.units import parse_quantity

__all__ = [
    "Budget",
    "CampaignConfig",
    "Diffractogram",
    "Formula",
    "Heat",
    "HeatSegment",
    "InstrumentIdentity",
    "LabConfig",
    "Measurement",
    "Model",
    "Operation",
    "Outcome",
    "PhaseAnalysis",
    "PhaseFraction",
    "Proposal",
    "Recipe",
    "Sample",
    "Score",
    "TaskSpec",
    "parse",
    "parse_formula",
    "parse_proposal",
    "parse_quantity",
]
