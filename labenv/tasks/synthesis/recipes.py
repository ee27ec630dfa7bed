"""Recipes that are known to give their target, as values of the task's parameters."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from labenv.tasks.synthesis.route import ratio_name
from labenv_schemas.errors import UnknownPluginError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv.tasks.synthesis.targets import Target


@dataclass(frozen=True)
class PublishedRecipe:
    """A recipe with where it stands.

    Attributes:
        target: What it makes.
        values: Values of the parameters of the task's space that it sets, in their units; the
            others (milling, scan) are our own.
        source: Citation, or that it is general practice.
    """

    target: str
    values: Mapping[str, float | str]
    source: str


def recipe_targets() -> tuple[str, ...]:
    """Return the targets that have a recipe."""
    return tuple(_rows())


def published_recipe(target: str) -> PublishedRecipe:
    """Return the recipe of a target.

    Args:
        target: As `recipe_targets` has it.

    Returns:
        The recipe.

    Raises:
        UnknownPluginError: If there is none.
    """
    rows = _rows()
    if target not in rows:
        raise UnknownPluginError(
            f"no recipe of {target!r} is listed; there are those of {', '.join(rows)}"
        )
    row = dict(rows[target])
    source = str(row.pop("source"))
    values = {**_OURS, **row}
    values["firing_k"] = float(values.pop("firing_degc")) + 273.15
    values["hold_s"] = 3600.0 * float(values.pop("hold_h"))
    return PublishedRecipe(target, values, source)


def recipe_values(target: Target, recipe: PublishedRecipe) -> dict[str, float | str]:
    """Return a recipe as one value for each parameter of its task's space.

    Args:
        target: Its target.
        recipe: The recipe.

    Returns:
        Values by name; ratios that the recipe does not set are the formula's.
    """
    base = target.metals[-1]
    nominal: dict[str, float | str] = {
        ratio_name(metal, base): target.amounts[metal] / target.amounts[base]
        for metal in target.metals[:-1]
    }
    return nominal | dict(recipe.values)


_OURS: dict[str, float | str] = {
    "milling_s": 14_400.0,
    "rate_k_per_s": 5.0 / 60.0,
    "atmosphere": "air",
    "refirings": 0.0,
    "pressing_pa": 0.0,
    "scan_s": 1_800.0,
}


@lru_cache(maxsize=1)
def _rows() -> dict[str, dict[str, Any]]:
    file = resources.files("labenv.tasks.synthesis") / "recipes.toml"
    rows = tomllib.loads(file.read_text(encoding="utf-8"))
    return {str(name): dict(row) for name, row in rows.items()}


__all__ = ["PublishedRecipe", "published_recipe", "recipe_targets", "recipe_values"]
