"""`labenv/StructureDiscovery-v0`: propose crystals; the reward is their energy above the hull.

An episode is about one chemical system. A step proposes a structure - a prototype, an element for
each of its places, a volume and a strain - which a machine-learned potential relaxes. If that
converges to something sane that was not seen before in the episode, it scores 1 on the convex hull
of the known phases, 0 from 0.1 eV/atom above it, up to 2 below it, and the reward is what the score
adds to the best one of its composition. Elements score nothing. A composition that no known phase
has must be within 0.025 eV/atom and differ from known and from rewarded ones: defects in large
cells earn nothing (`labenv.tasks.structure_discovery.judge` has the rules and why).

The oracle proposes the known compounds of the system (`oracle_actions`, `oracle_score`); the floor
samples the action space. All energies are the potential's own, at 0 K. Measured with chgnet: known
compounds are worth 8 points in Ba-Ti-O and 3 in Mg-Al-O, of which the action space reaches 6.97 and
3.00; the first 7 and 2 random actions of an episode earned nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from labenv.envs.discovery_observation import (
    discovery_observation,
    discovery_observation_space,
    element_features,
)
from labenv.envs.discovery_settings import make_discovery_settings
from labenv.tasks.options import check_option_names, option_names
from labenv.tasks.structure_discovery.judge import Judge, Verdict
from labenv.tasks.structure_discovery.prototypes import DiscoverySpace
from labenv.tasks.structure_discovery.reading import read_structure
from labenv.tasks.structure_discovery.systems import (
    DEFAULT_SYSTEMS,
    ChemicalSystem,
    hull_by,
    reference_hull,
)
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from pymatgen.core.structure import Structure

    from labenv.envs.discovery_observation import Observation
    from labenv.envs.discovery_settings import DiscoverySettings
    from labenv.physics.potential.hull import ReferenceHull

    Step = tuple[Observation, float, bool, bool, dict[str, Any]]

SEEDS = 2**62


class StructureDiscoveryEnv(gym.Env["Observation", "NDArray[np.int64]"]):
    """A search for stable crystals of one chemical system per episode.

    An episode is *truncated* when its proposals are used up and *terminates* when the total score
    reaches `goal_score`, if there is one. ``info["episode_end"]`` says which.

    Args:
        systems: Names of chemical systems.
        render_mode: "ansi" for text from `render`.
        **settings: See `labenv.envs.discovery_settings.make_discovery_settings`.

    Raises:
        ConfigError: If a setting is wrong or chgnet is needed and not installed.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - Gymnasium's own type

    def __init__(
        self,
        systems: str | Sequence[str] = DEFAULT_SYSTEMS,
        render_mode: str | None = None,
        **settings: Any,  # noqa: ANN401 - those of make_discovery_settings
    ) -> None:
        if render_mode not in {None, "ansi"}:
            raise ConfigError(f"render_mode must be 'ansi' or None, not {render_mode!r}")
        known = (*(option_names(make_discovery_settings) or ()), "render_mode")
        check_option_names("the environment", settings, known)
        self.render_mode = render_mode
        self._settings = make_discovery_settings(systems, **settings)
        self._space = DiscoverySpace(self._settings.elements)
        self.action_space = spaces.MultiDiscrete(np.array(self._space.levels))
        self.observation_space = discovery_observation_space(self._settings)
        self._system: ChemicalSystem | None = None
        self._judge: Judge | None = None
        self._episode_seed = 0
        self._past: list[tuple[Verdict, NDArray[np.float64]]] = []
        self._ended = False

    @property
    def settings(self) -> DiscoverySettings:
        """What the environment is made of."""
        return self._settings

    @property
    def system(self) -> ChemicalSystem:
        """The chemical system of the episode.

        Raises:
            ResetNeeded: Before the first `reset`.
        """
        if self._system is None:
            raise ResetNeeded("call reset() before the environment is used")
        return self._system

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode in a system drawn anew.

        Args:
            seed: Restarts the environment's random stream; None continues it.
            options: None are known.

        Returns:
            Observation and info.

        Raises:
            ConfigError: If an option is given.
        """
        if options:
            raise ConfigError(f"reset takes no options, got {', '.join(map(repr, options))}")
        super().reset(seed=seed)
        systems = self._settings.systems
        self._system = systems[int(self.np_random.integers(len(systems)))]
        self._episode_seed = int(self.np_random.integers(SEEDS))
        self._judge = Judge(self._hull(self._system))
        self._past, self._ended = [], False
        return self._observation(), self._state_info()

    def step(self, action: NDArray[np.int64]) -> Step:
        """Propose the structure that an action means.

        Args:
            action: Of the action space.

        Returns:
            Observation, reward, terminated, truncated, info.

        Raises:
            ProposalError: If the action is not of the action space; nothing has moved then.
        """
        read = self._space.read(action)
        structure = self._rattled(self._space.build(read, self.system.elements), read)
        shares = read / np.maximum(np.array(self._space.levels) - 1, 1)
        return self._advance(structure, shares.astype(np.float64))

    def propose(self, structure: Structure | Mapping[str, Any] | str) -> Step:
        """Propose any structure; it is relaxed as it stands.

        What no potential can judge comes back with the status "invalid" and uses up a proposal.

        Args:
            structure: A pymatgen structure, its dictionary, or the text of a CIF file.

        Returns:
            As `step`.

        Raises:
            ProposalError: If it cannot be read as a structure; nothing has moved then.
        """
        return self._advance(read_structure(structure), np.zeros(len(self._space.levels)))

    def render(self) -> str | None:
        """Return the state of the episode as text, or None without a render mode."""
        if self.render_mode != "ansi":
            return None
        total = sum(verdict.reward for verdict, _ in self._past)
        lines = [
            f"{self.system.name}: {len(self._past)} of {self._settings.proposals} proposals, "
            f"score {total:.3f}"
        ]
        for verdict, _ in self._past[-5:]:
            energy = verdict.energy_above_hull_ev_per_atom
            shown = verdict.message if energy is None else f"{1000 * energy:+.1f} meV/atom"
            lines.append(f"  {verdict.formula or '-'} {verdict.status}: {shown}")
        return "\n".join(lines)

    def _hull(self, system: ChemicalSystem) -> ReferenceHull:
        elements, source = frozenset(system.elements), self._settings.source
        if self._settings.potential is not None:
            return hull_by(source, elements)
        hull = reference_hull(elements)
        if hull.model_id != source.model_id:
            raise ConfigError(
                f"the hull was computed with {hull.model_id}, {source.model_id} is installed; "
                "their energies never share a hull"
            )
        return hull

    def _rattled(self, structure: Structure, action: NDArray[np.int64]) -> Structure:
        """Return the structure with its atoms moved, alike for the same action of an episode."""
        if self._settings.rattle_a == 0.0:
            return structure
        from pymatgen.core.structure import Structure as Crystal

        rng = np.random.default_rng([self._episode_seed, *action.tolist()])
        shifts = rng.normal(0.0, self._settings.rattle_a, (len(structure), 3))
        places = structure.cart_coords + shifts
        return Crystal(structure.lattice, structure.species, places, coords_are_cartesian=True)

    def _advance(self, structure: Structure, shares: NDArray[np.float64]) -> Step:
        system, judge = self.system, self._judge
        if self._ended or judge is None:
            raise ResetNeeded("the episode has ended; call reset() before the next step")
        strange = sorted({str(e) for e in structure.composition.elements} - set(system.elements))
        if strange:
            verdict = Verdict("invalid", message=f"{', '.join(strange)} is not of {system.name}")
        else:
            relaxed = self._settings.source.relax(structure, self._settings.relaxation)
            verdict = judge.judge(relaxed)
        self._past.append((verdict, shares))
        goal = self._settings.goal_score
        terminated = goal is not None and judge.total >= goal
        truncated = not terminated and len(self._past) >= self._settings.proposals
        self._ended = terminated or truncated
        info = {**self._state_info(), **_verdict_info(verdict)}
        if self._ended:
            info["episode_end"] = "goal" if terminated else "budget"
            info["episode_score"] = float(judge.total)
        return self._observation(), float(verdict.reward), terminated, truncated, info

    def _observation(self) -> Observation:
        features = element_features(self.system.elements)
        return discovery_observation(self._settings, features, self._past)

    def _state_info(self) -> dict[str, Any]:
        total = sum(verdict.reward for verdict, _ in self._past)
        return {"system": self.system.name, "total_score": float(total)}


def _verdict_info(verdict: Verdict) -> dict[str, Any]:
    info: dict[str, Any] = {"status": verdict.status, "score": float(verdict.score)}
    if verdict.formula:
        info["formula"] = verdict.formula
    if verdict.energy_above_hull_ev_per_atom is not None:
        info["energy_above_hull_ev_per_atom"] = float(verdict.energy_above_hull_ev_per_atom)
    if verdict.message:
        info["message"] = verdict.message
    return info
