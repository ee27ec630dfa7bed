"""Synthesis of named targets: what can be made from the powders at hand, and the plans to try."""

from labenv.tasks.synthesis.recipes import (
    PublishedRecipe,
    published_recipe,
    recipe_targets,
    recipe_values,
)
from labenv.tasks.synthesis.route import ChargeRoute, route_parameters
from labenv.tasks.synthesis.targets import Target, resolve_target

__all__ = [
    "ChargeRoute",
    "PublishedRecipe",
    "Target",
    "published_recipe",
    "recipe_targets",
    "recipe_values",
    "resolve_target",
    "route_parameters",
]
