"""A mixing station: a planetary ball mill and a mortar grinder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labenv_instruments.twin import InProcessTwin, ensure
from labenv_schemas.proposal import Mix, Regrind

if TYPE_CHECKING:
    from labenv_instruments.sample_view import SampleView
    from labenv_schemas.measurement import MeasurementBase
    from labenv_schemas.proposal import Operation

MAX_MILL_S = 72 * 3600.0
MAX_MORTAR_S = 4 * 3600.0


class BallMill(InProcessTwin):
    """Mixes in the jar or the mortar, and regrinds fired cakes in the mortar."""

    kind = "ball_mill"
    operations = frozenset({"mix", "regrind"})
    model = "labenv mill and mortar twin"

    @classmethod
    def check(cls, operation: Operation) -> None:
        """Refuse durations beyond what the machines run unattended.

        Args:
            operation: A `Mix` or `Regrind`.
        """
        if not isinstance(operation, (Mix, Regrind)):
            return
        milled = isinstance(operation, Mix) and operation.method == "ball_mill"
        machine, limit_s = ("ball mill", MAX_MILL_S) if milled else ("mortar", MAX_MORTAR_S)
        ensure(
            operation.duration_s <= limit_s,
            f"the {machine} runs at most {limit_s / 3600:g} h at a time, not "
            f"{operation.duration_s / 3600:.4g} h; shorten it or split it into several operations",
        )

    def perform(self, sample: SampleView, operation: Mix | Regrind) -> tuple[MeasurementBase, ...]:
        """Mix or regrind.

        Args:
            sample: The powder.
            operation: What to do.

        Returns:
            Nothing: the station has no sensor.
        """
        if isinstance(operation, Mix):
            sample.mix(operation)
        else:
            sample.regrind(operation)
        return ()
