"""A potential for tests of software: fast, needs nothing installed, and means nothing."""

from __future__ import annotations

from typing import Any

from labenv.physics.potential.backends import Backend


class LennardJonesBackend(Backend):
    """The same Lennard-Jones pair for all elements, by ASE."""

    @property
    def model_id(self) -> str:
        """Name and version."""
        return "lennard-jones-1"

    def calculator(self) -> Any:  # noqa: ANN401 - ASE publishes no types
        """Return a new calculator.

        Returns:
            ASE's, with a well 1 eV deep at 2.5 angstrom.
        """
        from ase.calculators import lj

        make: Any = lj.LennardJones
        return make(sigma=2.2, epsilon=1.0, rc=4.0, smooth=True)
