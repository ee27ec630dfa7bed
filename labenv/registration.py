"""The ids under which Gymnasium finds labenv's environments."""

from __future__ import annotations

import gymnasium as gym

# Entry points are import strings, so that a worker process started by spawn finds them and that
# registering imports no environment.
ENVIRONMENTS: dict[str, tuple[str, str | None]] = {
    "labenv/SolidStateSynthesis-v0": (
        "labenv.envs.synthesis:SolidStateSynthesisEnv",
        "labenv.envs.synthesis_vector:SolidStateSynthesisVectorEnv",
    ),
    "labenv/StructureDiscovery-v0": ("labenv.envs.structure_discovery:StructureDiscoveryEnv", None),
    "labenv/PhaseMapping-v0": ("labenv.envs.phase_mapping:PhaseMappingEnv", None),
    "labenv/SuperconductorSearch-v0": (
        "labenv.envs.superconductor_search:SuperconductorSearchEnv",
        None,
    ),
}


def register_environments() -> None:
    """Register every environment that is not registered yet; episodes end by their budget alone."""
    for name, (entry_point, vector_entry_point) in ENVIRONMENTS.items():
        if name not in gym.registry:
            gym.register(
                name,
                entry_point=entry_point,
                vector_entry_point=vector_entry_point,
                max_episode_steps=None,
            )
