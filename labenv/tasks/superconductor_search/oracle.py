"""What a policy is measured against: chance below, a dense search on the truth above.

The oracle knows the hidden conditions of the laboratory. Composition and firing only have to give
enough YBa2Cu3Oy, so it searches the anneal on a grid, with stoichiometric powders fired as hot as
does not melt them.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from labenv.lab.streams import stream
from labenv.tasks.superconductor_search.firing import make_bar
from labenv.tasks.superconductor_search.laboratory import SCALE_K, run_experiment
from labenv.tasks.superconductor_search.measuring import true_zero_k
from labenv.tasks.superconductor_search.recipe import HOUR_S, Recipe

if TYPE_CHECKING:
    from labenv.tasks.superconductor_search.firing import Conditions
    from labenv.tasks.superconductor_search.recipe import RecipeSpace

ANNEALS_K = (623.15, 673.15, 723.15, 773.15, 823.15, 873.15)
HOLDS_S = (24.0 * HOUR_S, 96.0 * HOUR_S)
COOLINGS_K_PER_S = (0.2 / 60.0, 1.0 / 60.0)


def oracle_recipe(space: RecipeSpace, conditions: Conditions) -> tuple[Recipe, float]:
    """Return the best recipe of a dense search, and its true temperature of zero resistance.

    Args:
        space: What the laboratory can do.
        conditions: What is hidden about it.

    Returns:
        The recipe and its temperature, K.
    """
    gas = "air" if "air" in space.gases else space.gases[0]
    best, best_k = Recipe(route=space.routes[0], firing_gas=gas), -1.0
    for anneal_k, hold_s, rate, after in product(
        ANNEALS_K, HOLDS_S, COOLINGS_K_PER_S, ("oxygen", "air")
    ):
        recipe = Recipe(
            route=space.routes[0],
            firing_gas=gas,
            anneal_k=anneal_k,
            anneal_s=hold_s,
            anneal_gas=after,
            cooling_k_per_s=rate,
        )
        found_k = true_zero_k(make_bar(recipe, conditions))
        if found_k > best_k:
            best, best_k = recipe, found_k
    return best, best_k


def oracle_score(space: RecipeSpace, conditions: Conditions) -> float:
    """Return the score of the best recipe were its true transition read.

    Args:
        space: What the laboratory can do.
        conditions: What is hidden about it.

    Returns:
        From 0 to 1.
    """
    return min(max(oracle_recipe(space, conditions)[1], 0.0) / SCALE_K, 1.0)


def floor_score(
    space: RecipeSpace, conditions: Conditions, experiments: int, campaigns: int = 5
) -> float:
    """Return the median over campaigns of the best score that chance measures.

    Args:
        space: What the laboratory can do.
        conditions: What is hidden about it.
        experiments: Budget of a campaign.
        campaigns: How many.

    Returns:
        From 0 to 1.
    """
    best: list[float] = []
    for campaign in range(campaigns):
        rng = stream(conditions.seed, "floor", campaign)
        actions = rng.uniform(-1.0, 1.0, (experiments, space.size))
        best.append(
            max(
                run_experiment(space.recipe(action), space, conditions, number).score
                for number, action in enumerate(actions)
            )
        )
    return float(np.median(best))
