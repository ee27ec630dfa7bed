"""Superconductor search: raise the measured critical temperature of YBa2Cu3Oy ceramics."""

from labenv.tasks.superconductor_search.firing import Bar, Conditions, make_bar
from labenv.tasks.superconductor_search.laboratory import STATUSES, Result, run_experiment
from labenv.tasks.superconductor_search.measuring import true_zero_k
from labenv.tasks.superconductor_search.oracle import floor_score, oracle_recipe, oracle_score
from labenv.tasks.superconductor_search.recipe import Recipe, RecipeSpace, read_recipe

__all__ = [
    "STATUSES",
    "Bar",
    "Conditions",
    "Recipe",
    "RecipeSpace",
    "Result",
    "floor_score",
    "make_bar",
    "oracle_recipe",
    "oracle_score",
    "read_recipe",
    "run_experiment",
    "true_zero_k",
]
