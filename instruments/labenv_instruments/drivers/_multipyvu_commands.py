"""What a cryostat of Quantum Design is asked and told through MultiPyVu, and what it answers.

Commands, units and states are those of MultiPyVu 3.8 (MIT, Quantum Design). Resistance bridges are
reached as the objects of its ``resistivity`` option: node 21 of the CAN bus, one index a bridge.
That its readings are in ohm and its currents in microampere is what that option documents; neither
could be tried on a device.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from labenv_schemas.errors import InstrumentError

if TYPE_CHECKING:
    from labenv_instruments.drivers._multipyvu_client import MultiPyVuClient

OE_PER_T: Final = 1e4  # in vacuum
FAST_SETTLE, LINEAR, DRIVEN, PURGE_AND_SEAL = 0, 0, 1, 1
BRIDGES: Final = (1, 2, 3)
BRIDGE_NODE: Final = 21
RESISTANCE, CURRENT, ENABLED, CONSTANT_CURRENT, SET_CURRENT = 0x1, 0x2, 0x3, 0x4, 0x5
SUCCESS: Final = "Call was successful"
CANNOT_TELL: Final = "Simulation cannot tell: "  # only a twin says so, and why

TEMPERATURE_MOVING: Final = frozenset({"Tracking", "Near", "Chasing", "Pot Operation"})
FIELD_SETTLED: Final = frozenset({"Stable", "Holding (driven)"})
FIELD_MOVING: Final = frozenset({
    "Switch Warming",
    "Switch Cooling",
    "Iterate",
    "Ramping",
    "Resetting",
})  # fmt: skip
CHAMBER_CLOSED: Final = frozenset({"Purged and Sealed", "Pre-HiVac", "HiVac"})
CHAMBER_AT_WORK: Final = "Performing Purge/Seal"
CHAMBER_UNSURE: Final = frozenset({"Unknown", "Sealed (condition unknown)", "Vented and Sealed"})


@dataclass(frozen=True, slots=True)
class Reading:
    """A value with the state that the cryostat gives it.

    Attributes:
        value: In K or Oe.
        state: In the server's words.
    """

    value: float
    state: str


class CryostatCommands:
    """Commands of one cryostat.

    Args:
        client: The session.
        name: What to call the device in messages.
        bridge: Number of the resistance bridge.
    """

    def __init__(self, client: MultiPyVuClient, name: str, bridge: int) -> None:
        self._client, self._name, self.bridge = client, name, bridge

    async def temperature(self) -> Reading:
        """Return the temperature, K."""
        return self._reading("TEMP?", await self._client.ask("TEMP?"), "K")

    async def field(self) -> Reading:
        """Return the field, Oe."""
        return self._reading("FIELD?", await self._client.ask("FIELD?"), "Oe")

    async def chamber(self) -> str:
        """Return the chamber's state."""
        result = await self._client.ask("CHAMBER?")
        return self._parts("CHAMBER?", result)[2]

    async def temperature_setpoint_k(self) -> float:
        """Return the temperature that the cryostat goes to, K."""
        result = await self._client.ask("TEMP_SETPOINTS?")
        numbers, _, rest = result.removeprefix("(").partition(")")
        if not rest.startswith(",K,"):
            raise self._wrong("TEMP_SETPOINTS?", result)
        return self._number("TEMP_SETPOINTS?", numbers.split(",")[0])

    async def set_temperature(self, target_k: float, rate_k_per_min: float) -> None:
        """Go to a temperature.

        Args:
            target_k: K.
            rate_k_per_min: K/min.
        """
        await self._set("TEMP", f"{float(target_k)},{float(rate_k_per_min)},{FAST_SETTLE}")

    async def set_field(self, target_oe: float, rate_oe_per_s: float) -> None:
        """Go to a field and keep driving it.

        Args:
            target_oe: Oe.
            rate_oe_per_s: Oe/s.
        """
        await self._set("FIELD", f"{float(target_oe)},{float(rate_oe_per_s)},{LINEAR},{DRIVEN}")

    async def purge_and_seal(self) -> None:
        """Purge the sample chamber and seal it."""
        await self._set("CHAMBER", str(PURGE_AND_SEAL))

    async def resistance_ohm(self) -> float | str:
        """Return the bridge's resistance, ohm, or why a simulated bridge cannot tell.

        Raises:
            InstrumentError: If the bridge answers with anything else.
        """
        query = object_of(self.bridge, RESISTANCE, "double_t")
        result = await self._client.ask("SDO?", query)
        value, _, status = self._parts("SDO?", result)
        if self._client.simulated and status.startswith(CANNOT_TELL):
            return status.removeprefix(CANNOT_TELL)
        return self._successful(result, value, status)

    async def current_a(self) -> float:
        """Return the bridge's current, A."""
        return 1e-6 * await self._object(CURRENT, "double_t")

    async def bridge_is_on(self) -> bool:
        """Return whether the bridge drives its current."""
        return await self._object(ENABLED, "ushort_t") != 0.0

    async def drive_bridge(self, current_a: float) -> None:
        """Let the bridge drive a constant current.

        Args:
            current_a: A.
        """
        await self._set_object(SET_CURRENT, "double_t", repr(round(1e6 * current_a, 6)))
        await self._set_object(CONSTANT_CURRENT, "ushort_t", "1")
        await self._set_object(ENABLED, "ushort_t", "1")

    async def stop_bridge(self) -> None:
        """Let the bridge drive nothing."""
        await self._set_object(ENABLED, "ushort_t", "0")

    async def _object(self, part: int, kind: str) -> float:
        result = await self._client.ask("SDO?", object_of(self.bridge, part, kind))
        value, _, status = self._parts("SDO?", result)
        return self._successful(result, value, status)

    async def _set_object(self, part: int, kind: str, value: str) -> None:
        await self._set("SDO", f"{object_of(self.bridge, part, kind)},{value}")

    async def _set(self, action: str, query: str) -> None:
        # The server waits up to 2 s until MultiVu has taken a set point up.
        result = await self._client.ask(action, query, patience=2.0)
        if not result.startswith(f"{action} Command Received"):
            raise InstrumentError(f"{self._name} refuses {action} {query}: {result}")

    def _reading(self, action: str, result: str, unit: str) -> Reading:
        value, shown, state = self._parts(action, result)
        if shown != unit:
            raise InstrumentError(
                f"{self._name} answers {action} in {shown!r}, not in {unit}: {result!r}"
            )
        return Reading(self._number(action, value), state)

    def _parts(self, action: str, result: str) -> tuple[str, str, str]:
        parts = result.split(",", 2)
        if len(parts) != 3:
            raise self._wrong(action, result)
        return parts[0].strip(), parts[1].strip(), parts[2].strip()

    def _successful(self, result: str, value: str, status: str) -> float:
        if status != SUCCESS:
            raise self._wrong(f"the bridge {self.bridge}", result)
        return self._number(f"the bridge {self.bridge}", value)

    def _number(self, action: str, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise self._wrong(action, text) from None
        if not math.isfinite(value):
            raise self._wrong(action, text)
        return value

    def _wrong(self, action: str, result: str) -> InstrumentError:
        return InstrumentError(f"{self._name} answers {action} with {result!r}")


def object_of(bridge: int, part: int, kind: str) -> str:
    """Return how the server names an object of a bridge.

    Args:
        bridge: Number of the bridge, from 1.
        part: Which of its objects.
        kind: Type of its value.

    Returns:
        The name.
    """
    index = 0x6000 + bridge
    return f"node: {BRIDGE_NODE}  index: {index:#x}  sub_index: {part:#x}  type: {kind}"
