"""Names of phases in recipes, checked against what the laboratory can find."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labenv_schemas.errors import ConfigError, UnknownPluginError
from labenv_schemas.faults import Fault
from labenv_schemas.suggestions import meant

if TYPE_CHECKING:
    from labenv_schemas.campaign import CampaignConfig

_ALIKE = 0.6  # names of phases are long and differ in their ends


def unknown_phases(config: CampaignConfig) -> list[Fault]:
    """Find published phases that no analysis of the campaign's task could ever report.

    Args:
        config: The campaign.

    Returns:
        A fault for each, which says what may stand there.
    """
    known = _known(config.task) if config.recipes else []
    if not known:  # a wrong task is told of by whoever makes it
        return []
    faults: list[Fault] = []
    for place, recipe in enumerate(config.recipes):
        for name in recipe.published.phases:
            if name not in known:
                guess = meant(name, known, cutoff=_ALIKE)
                hint = f"did you mean {guess!r}? " if guess else ""
                message = (
                    f"no phase of the task {config.task!r} is called {name!r}; {hint}(known: "
                    f"{', '.join(known)}); what is not modelled belongs in 'statement'"
                )
                path = ("recipes", place, "published", "phases", name)
                faults.append(Fault(path, f"recipes[{place}].published.phases.{name}", message))
    return faults


def _known(task: str) -> list[str]:
    """Return the structures that a task looks for and their formulas; none for an unknown task."""
    from labenv.physics.structures import phase_library
    from labenv.tasks import make_task

    try:
        phases = make_task(task).phases
    except (UnknownPluginError, ConfigError):
        return []
    library = phase_library()
    return list(dict.fromkeys([*phases, *(library.get(name).formula for name in phases)]))
