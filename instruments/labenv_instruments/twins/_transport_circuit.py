"""A bar with four contacts, its leads, and the thermal voltages that no sample makes.

The leads from room temperature to the cold bar make microvolts of their own, which drift as the
cryostat does; each contact with its lead has an ohm or so. A voltmeter at the source's own
terminals sees both, one at contacts of its own sees the thermal voltages alone, and only reversing
the current takes those away.

Magnitudes: Keithley, Low Level Measurements Handbook, 7th ed. (2016), section 3.3.1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from labenv_instruments.faults import FaultKind
from labenv_instruments.sample_view import Unknown
from labenv_instruments.twins._scpi import ScpiTwin
from labenv_schemas.characterisation import MeasureResistance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from labenv_instruments.sample_view import SampleView
    from labenv_instruments.twins.lakeshore_336 import Lakeshore336Twin

ROOM_K: Final = 295.0
_EMF_SD_V, _DRIFT_SD_V_PER_S, _SWING_V, _SWING_S = 2e-6, 1e-9, 2e-7, 900.0


class TransportCircuit:
    """Source, leads and bar.

    Args:
        rng: Decides the leads and the thermal voltages.

    Attributes:
        lead_ohm: Resistance of one lead with its contact, ohm.
        temperature_k: Returns the temperature of the stage, K; room temperature by default.
        lost: Whether the bar has come off its contacts.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.lead_ohm = float(1.0 + abs(rng.normal()))
        self.temperature_k: Callable[[], float] = lambda: ROOM_K
        self.lost = False
        self._emf_v, self._drift_v_per_s, self._phase = (
            float(draw) for draw in rng.normal(size=3) * (_EMF_SD_V, _DRIFT_SD_V_PER_S, math.pi)
        )
        self._curve: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None = None

    def take_out(self) -> None:
        """Leave the contacts open."""
        self._curve = None

    def put_in(self, sample: SampleView, settings: Mapping[str, Any]) -> None:
        """Mount a bar; it is asked once what its resistance is at the temperatures of the plan.

        Args:
            sample: The sample.
            settings: ``operation`` is the plan, a `MeasureResistance` or its plain data; without
                it, the usual one.
        """
        plan = settings.get("operation")
        run = MeasureResistance() if plan is None else MeasureResistance.model_validate(plan)
        seen = sample.resistance(run)
        self._curve = None
        if not isinstance(seen, Unknown):
            self._curve = run.temperatures_k(), np.asarray(seen.resistance_ohm, dtype=float)

    def sample_ohm(self) -> float:
        """Return the bar's resistance where the stage is, ohm; infinite if there is none."""
        if self._curve is None or self.lost:
            return math.inf
        at_k = self.temperature_k()
        value = float(np.interp(at_k, *self._curve))
        return value if math.isfinite(value) else math.inf

    def thermal_voltage_v(self, now_s: float) -> float:
        """Return the sum of the thermal voltages, V.

        Args:
            now_s: Lab time, s.
        """
        swing = _SWING_V * math.sin(2.0 * math.pi * now_s / _SWING_S + self._phase)
        return self._emf_v + self._drift_v_per_s * min(now_s, 3600.0) + swing

    def current_a(self, asked_a: float, compliance_v: float) -> tuple[float, bool]:
        """Return the current that flows.

        Args:
            asked_a: What the source is set to, A.
            compliance_v: Greatest voltage at its terminals, V.

        Returns:
            The current, A, and whether the source is in compliance.
        """
        total = self.sample_ohm() + 2.0 * self.lead_ohm
        if abs(asked_a) * total <= compliance_v:
            return asked_a, False
        return math.copysign(compliance_v / total, asked_a), asked_a != 0.0


class SourceTwin(ScpiTwin):
    """A simulated current source with a voltmeter, on a bar.

    Attributes:
        circuit: Leads, thermal voltages and bar.
    """

    known_faults = frozenset({
        FaultKind.BUSY,
        FaultKind.OVERRANGE,
        FaultKind.STALE_READING,
        FaultKind.WRONG_UNIT,
        FaultKind.LOST_SAMPLE,
    })

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - those of WireTwin
        super().__init__(*args, **kwargs)
        self.circuit = TransportCircuit(self.rng)

    @property
    def thermometer(self) -> Callable[[], float]:
        """What returns the temperature of the stage, K; room temperature by default."""
        return self.circuit.temperature_k

    @thermometer.setter
    def thermometer(self, source: Callable[[], float] | Lakeshore336Twin) -> None:
        self.circuit.temperature_k = source if callable(source) else source.stage_temperature_k

    def load(self, sample: SampleView, settings: Mapping[str, Any] | None = None) -> None:
        """Mount a bar.

        Args:
            sample: The sample.
            settings: ``operation``: the plan.
        """
        super().load(sample, settings)
        self.circuit.put_in(sample, self.settings)

    def unload(self) -> None:
        """Leave the contacts open."""
        super().unload()
        self.circuit.take_out()

    def advance(self, now_s: float) -> None:
        """See whether the bar is still there.

        Args:
            now_s: Lab time, s.
        """
        self.circuit.lost = self.faults.active(FaultKind.LOST_SAMPLE) is not None

    def busy_reply(self, request: bytes) -> bytes | None:
        """Return None: until it has finished with a line it keeps silent."""
        return None


__all__ = ["ROOM_K", "SourceTwin", "TransportCircuit"]
