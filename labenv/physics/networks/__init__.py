"""Reactions of any chemical system that thermochemistry is known of, by general rules."""

from labenv.physics.networks.generation import Surroundings, generate_system

__all__ = ["Surroundings", "generate_system"]
