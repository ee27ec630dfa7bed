"""The resistivity option's bridges of a simulated cryostat, with the sample on one of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from labenv_instruments.drivers._multipyvu_commands import (
    BRIDGE_NODE,
    BRIDGES,
    CANNOT_TELL,
    CURRENT,
    ENABLED,
    RESISTANCE,
    SUCCESS,
)
from labenv_instruments.sample_view import Unknown

if TYPE_CHECKING:
    from labenv_instruments.sample_view import ResistanceSeen, SampleView
    from labenv_schemas.characterisation import MeasureResistance

OVERLOAD: Final = 9.9e37
_SET_CURRENT: Final = 0x5
_OBJECT = re.compile(
    r"node: (\d+)  index: 0x([0-9a-fA-F]+)  sub_index: 0x([0-9a-fA-F]+)  type: \w+"
)


class Specimen:
    """What a sample shows of its resistance, asked once and looked up at any temperature.

    Args:
        sample: The sample.
        run: The temperatures at which it is asked.
    """

    def __init__(self, sample: SampleView, run: MeasureResistance) -> None:
        self.sample = sample
        self._stage_k = run.temperatures_k()
        self._seen: ResistanceSeen | Unknown = sample.resistance(run)

    @property
    def unknown(self) -> str | None:
        """Why there are no numbers; None if there are."""
        return self._seen.reason if isinstance(self._seen, Unknown) else None

    def shown_k(self, stage_k: float) -> float:
        """Return what the thermometer shows at a temperature of the stage, K."""
        if isinstance(self._seen, Unknown):
            return stage_k
        error_k = np.asarray(self._seen.temperature_k) - self._stage_k
        return stage_k + float(np.interp(stage_k, self._stage_k, error_k))

    def resistance_ohm(self, stage_k: float) -> float:
        """Return what the bridge shows at a temperature of the stage, ohm."""
        if isinstance(self._seen, Unknown):
            return OVERLOAD
        return float(np.interp(stage_k, self._stage_k, self._seen.resistance_ohm))


class Bridges:
    """Objects of the bridges, by index and sub-index; the sample is on all of them."""

    def __init__(self) -> None:
        self._objects: dict[tuple[int, int], float] = {}

    @property
    def driving(self) -> bool:
        """Whether any bridge drives a current."""
        return any(value and part == ENABLED for (_, part), value in self._objects.items())

    def read(self, query: str, specimen: Specimen | None, stage_k: float, overload: bool) -> str:
        """Return an object's value, as the server words it.

        Args:
            query: Name of the object.
            specimen: What lies in the cryostat.
            stage_k: Temperature, K.
            overload: Whether the reading is to be beyond the range.

        Returns:
            Value and status.
        """
        found = object_key(query)
        if found is None:
            return "0,,CAN Error: object does not exist"
        number, part = found
        on = bool(self._objects.get((number, ENABLED)))
        if part == CURRENT:
            driven = self._objects.get((number, _SET_CURRENT), 0.0)
            return f"{driven if on and specimen is not None else 0.0},,{SUCCESS}"
        if part == RESISTANCE:
            if specimen is None or not on or overload:
                return f"{OVERLOAD},,{SUCCESS}"
            if specimen.unknown is not None:
                return f"{OVERLOAD},,{CANNOT_TELL}{specimen.unknown}"
            return f"{specimen.resistance_ohm(stage_k)},,{SUCCESS}"
        value = self._objects.get((number, part), 0.0)
        return f"{value if 'double' in query or 'single' in query else int(value)},,{SUCCESS}"

    def write(self, query: str) -> bool:
        """Set an object.

        Args:
            query: Its name, a comma, and the value.

        Returns:
            Whether there is such an object and it takes the value.
        """
        name, _, text = query.rpartition(",")
        found = object_key(name)
        try:
            value = float(text)
        except ValueError:
            return False
        if found is None or found[1] in {RESISTANCE, CURRENT} or not np.isfinite(value):
            return False
        self._objects[found] = value
        return True


def object_key(name: str) -> tuple[int, int] | None:
    """Return number of the bridge and part that an object's name means; None if there is none."""
    found = _OBJECT.fullmatch(name.strip())
    if found is None or int(found[1]) != BRIDGE_NODE:
        return None
    number, part = int(found[2], 16) - 0x6000, int(found[3], 16)
    return (number, part) if number in BRIDGES and 1 <= part <= 8 else None


__all__ = ["OVERLOAD", "Bridges", "Specimen", "object_key"]
