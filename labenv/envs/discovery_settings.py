"""What a structure-discovery environment is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labenv.envs.budgets import MOST_EXPERIMENTS, read_budget
from labenv.physics.potential.backends import Backend
from labenv.physics.potential.relaxation import RelaxationSettings
from labenv.physics.potential.source import EnergySource, chgnet_source
from labenv.tasks.options import check_whole_number
from labenv.tasks.structure_discovery import DEFAULT_SYSTEMS, ChemicalSystem
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labenv_schemas.task import Budget

_DEFAULT_PROPOSALS = 20


@dataclass(frozen=True)
class DiscoverySettings:
    """Where structures are sought, how long, and by which potential they are judged.

    Attributes:
        systems: One of them is drawn for each episode; all have as many elements.
        proposals: Budget of an episode.
        history: Verdicts shown in the observation.
        goal_score: Total score that ends the episode, None for no goal.
        rattle_a: Standard deviation by which atoms are moved before relaxing, angstrom.
        relaxation: Limits of each relaxation.
        potential: None for chgnet; another one brings energies of the hull of its own.
    """

    systems: tuple[ChemicalSystem, ...]
    proposals: int
    history: int
    goal_score: float | None
    rattle_a: float
    relaxation: RelaxationSettings
    potential: EnergySource | None = field(default=None, compare=False)

    @property
    def source(self) -> EnergySource:
        """The potential: the one given, or chgnet as shared by the process."""
        return chgnet_source() if self.potential is None else self.potential

    @property
    def elements(self) -> int:
        """Elements of a system."""
        return len(self.systems[0].elements)


def make_discovery_settings(  # noqa: PLR0913 - the arguments of gym.make
    systems: str | Sequence[str] = DEFAULT_SYSTEMS,
    *,
    budget: Budget | Mapping[str, Any] | None = None,
    proposals: int | None = None,
    history: int = 8,
    goal_score: float | None = None,
    rattle_a: float = 0.01,
    max_steps: int = 100,
    max_atoms: int = 60,
    potential: Any = None,  # noqa: ANN401 - checked below
) -> DiscoverySettings:
    """Return checked settings.

    Args:
        systems: Names such as ``Ba-Ti-O``; one is drawn for each episode.
        budget: What an episode may spend, of which this environment limits ``experiments``: the
            proposals, 20 where none is given.
        proposals: Short for a budget of so many experiments, 1 to 10000.
        history: Verdicts shown in the observation, 0 to 1000.
        goal_score: Total score that ends the episode as a success; None for no goal.
        rattle_a: Standard deviation by which atoms are moved before relaxing, so that none rests on
            a saddle, 0 to 0.2 angstrom.
        max_steps: Steps of a relaxation at most, 1 to 2000.
        max_atoms: Largest cell, 1 to 200.
        potential: A `Backend`; None for chgnet.

    Returns:
        The settings.

    Raises:
        ConfigError: If an argument is out of range, the systems differ in their number of elements,
            or chgnet is needed and not installed.
    """
    names = (systems,) if isinstance(systems, str) else tuple(systems)
    parsed = tuple(ChemicalSystem.parse(name) for name in names)
    if len({len(system.elements) for system in parsed}) != 1:
        raise ConfigError(
            f"the systems {', '.join(map(str, names)) or '(none)'} must be at least one and have "
            "the same number of elements, for actions name elements by number"
        )
    limit = read_budget(budget, ("experiments",), {"proposals": proposals})
    if limit is not None:
        proposals = limit.experiments
    proposals = _DEFAULT_PROPOSALS if proposals is None else proposals
    check_whole_number("proposals", proposals, 1, MOST_EXPERIMENTS)
    check_whole_number("history", history, 0, 1000)
    check_whole_number("max_steps", max_steps, 1, 2000)
    check_whole_number("max_atoms", max_atoms, 1, 200)
    if not 0.0 <= rattle_a <= 0.2:
        raise ConfigError(f"rattle_a must be 0 to 0.2 angstrom, got {rattle_a!r}")
    if goal_score is not None and not goal_score > 0.0:
        raise ConfigError(f"goal_score must be above 0 or None, got {goal_score!r}")
    if potential is None:
        chgnet_source()
    elif not isinstance(potential, Backend):
        raise ConfigError(f"potential must be a Backend or None, not {potential!r}")
    return DiscoverySettings(
        parsed,
        int(proposals),
        int(history),
        None if goal_score is None else float(goal_score),
        float(rattle_a),
        RelaxationSettings(max_steps=int(max_steps), max_atoms=int(max_atoms)),
        None if potential is None else EnergySource(potential),
    )
