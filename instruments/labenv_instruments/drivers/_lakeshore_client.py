"""What is asked of and told to a Lake Shore 336: one input, one output, and the heaters of all.

Commands: Model 336 user's manual, section 6.6. The controller has no error queue; after a command
its standard event register says whether the command was understood and carried out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from labenv_schemas.errors import InstrumentError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from labenv_instruments.wire.scpi import ScpiSession

OUTPUTS: Final = (1, 2, 3, 4)
ZERO_CELSIUS_K: Final = 273.15
_SAME_READING_K: Final = (
    0.5  # kelvin and Celsius are asked one after the other, perhaps while it ramps
)
_REFUSALS: Final = {2: "query error", 4: "cannot be carried out", 5: "not understood"}
_FLAWS: Final = {
    0: "invalid", 1: "old", 4: "temperature below the curve", 5: "temperature above the curve",
    6: "sensor reads zero", 7: "sensor over range",
}  # fmt: skip
_HEATER_FLAWS: Final = {1: "open: no current flows", 2: "short-circuited"}
_LOOKS_PER_STEP: Final = 4.0


@dataclass(frozen=True, slots=True)
class Settling:
    """When a temperature counts as reached.

    Attributes:
        tolerance_k: The sensor is within so much of the set point, K,
        hold_s: for so long, lab s;
        within_s: else it is given up after so long, lab s.
        poll_s: How often to look when it is near, lab s.
    """

    tolerance_k: float = 0.1
    hold_s: float = 10.0
    within_s: float = 4.0 * 3600.0
    poll_s: float = 2.0


@dataclass(frozen=True, slots=True)
class Look:
    """What the controller shows at one moment.

    Attributes:
        temperature_k: Of the sensor, K.
        setpoint_k: Where the set point is, K.
        ramping: Whether the set point still moves; the sensor may be elsewhere.
    """

    temperature_k: float
    setpoint_k: float
    ramping: bool


class LakeShore336Client:
    """One loop of a controller.

    Args:
        session: With the controller.
        input_name: Its input, A to D.
        output: Its output, 1 to 4.
    """

    def __init__(self, session: ScpiSession, input_name: str = "A", output: int = 1) -> None:
        self.session = session
        self.input_name = input_name
        self.output = output

    async def open(self) -> tuple[str, str, bool]:
        """Connect, and see that it is a Model 336 whose set points are in kelvin.

        Returns:
            Model, serial number, and whether it says that it is simulated.

        Raises:
            InstrumentError: If it is another device, or its input is not shown in kelvin.
        """
        await self.session.open()
        text = await self.session.query("*IDN?")
        fields = [field.strip() for field in text.split(",")]
        if len(fields) != 4 or fields[0] != "LSCI" or not fields[1].startswith("MODEL336"):
            raise InstrumentError(
                f"{self.session.name} says it is {text!r}, not a Lake Shore 336; check the address"
            )
        kind = await self.session.query(f"INTYPE? {self.input_name}")
        if kind.split(",")[-1].strip() != "1":
            raise InstrumentError(
                f"{self.session.name}: input {self.input_name} is not shown in kelvin (INTYPE? "
                f"{kind}), nor are set points then; set its preferred units to kelvin"
            )
        return "Lake Shore 336", fields[2], fields[2].startswith("twin-")

    async def reading_k(self, input_name: str | None = None) -> float:
        """Return what a sensor reads.

        Args:
            input_name: Which; None for the loop's own.

        Returns:
            The temperature, K.

        Raises:
            InstrumentError: If the reading is flawed or not in kelvin.
        """
        name = input_name or self.input_name
        query = f"KRDG? {name};CRDG? {name};RDGST? {name}"
        kelvin, celsius, status = await self.session.numbers(query, 3)
        return self._checked(query, kelvin, celsius, status)

    async def look(self) -> Look:
        """Return what the loop shows now.

        Returns:
            Sensor and set point.

        Raises:
            InstrumentError: If the reading is flawed, or the heater reports a fault.
        """
        name, output = self.input_name, self.output
        query = f"KRDG? {name};CRDG? {name};RDGST? {name};SETP? {output};RAMPST? {output}" + (
            f";HTRST? {output}" if output in {1, 2} else ""
        )
        kelvin, celsius, status, setpoint, ramping, *heater = await self.session.numbers(
            query, query.count(";") + 1
        )
        flaw = int(heater[0]) if heater else 0
        if flaw:
            what = _HEATER_FLAWS.get(flaw, f"in fault {flaw}")
            raise InstrumentError(
                f"{self.session.name}: the heater of output {output} is {what}; check its leads"
            )
        return Look(self._checked(query, kelvin, celsius, status), setpoint, ramping != 0.0)

    async def go_to(self, target_k: float, rate_k_per_min: float, heater_range: int) -> None:
        """Ramp to a temperature, from where the sensor is.

        With the heater off the set point may be anywhere, and a ramp begins at the set point; so it
        is first put to the sensor's reading, before the heater comes on.

        Args:
            target_k: The temperature, K.
            rate_k_per_min: Rate of the set point, K/min, 0.001 to 100.
            heater_range: 1 low, 2 medium, 3 high.

        Raises:
            InstrumentError: If the controller does not take it.
        """
        output = self.output
        is_range = await self.session.query(f"RANGE? {output}")
        if int(self.session.number("RANGE?", is_range)) != heater_range:
            here_k = await self.reading_k()
            await self.command(f"RAMP {output},0,{rate_k_per_min:.3f}")
            await self.command(f"SETP {output},{here_k:.4f}")
            await self.command(f"RANGE {output},{heater_range}")
        await self.command(f"RAMP {output},1,{rate_k_per_min:.3f}")
        await self.command(f"SETP {output},{target_k:.4f}")
        shown = await self.session.numbers(f"RAMP? {output};RANGE? {output}", 3)
        wanted = (1.0, rate_k_per_min, float(heater_range))
        if any(abs(is_ - want) > 2e-3 for is_, want in zip(shown, wanted, strict=True)):
            raise InstrumentError(
                f"{self.session.name} shows ramp and range {shown} after being told "
                f"{list(wanted)}; does someone else control it?"
            )

    async def settle(
        self, target_k: float, settling: Settling, wait: Callable[[float], Awaitable[None]]
    ) -> float:
        """Wait until the sensor, not just the set point, has come to a temperature and stays.

        Args:
            target_k: The temperature, K.
            settling: When it counts as reached.
            wait: Lets lab seconds pass.

        Returns:
            The last reading, K.

        Raises:
            InstrumentError: If it is not reached in time, the set point is not the one that was
                given, or the controller reports a fault.
        """
        waited_s = held_s = 0.0
        while True:
            look = await self.look()
            if not look.ramping and abs(look.setpoint_k - target_k) > 2e-3:
                raise InstrumentError(
                    f"{self.session.name}: the set point is {look.setpoint_k:g} K, not the "
                    f"{target_k:g} K it was given; does someone else control it?"
                )
            away_k = abs(look.temperature_k - target_k)
            near = away_k <= settling.tolerance_k and not look.ramping
            if near and held_s >= settling.hold_s:
                return look.temperature_k
            if waited_s >= settling.within_s:
                raise InstrumentError(
                    f"{self.session.name}: {target_k:g} K was not reached within "
                    f"{settling.within_s:g} s; the sensor reads {look.temperature_k:g} K"
                )
            step_s = settling.poll_s * (
                1.0 if near else min(max(away_k / _LOOKS_PER_STEP, 1.0), 15.0)
            )
            step_s = min(step_s, settling.within_s - waited_s)
            await wait(step_s)
            waited_s += step_s
            held_s = held_s + step_s if near else 0.0

    async def heaters_off(self) -> None:
        """Switch every heater off and see that it is.

        Raises:
            InstrumentError: If one is not off afterwards.
        """
        await self.command(";".join(f"RANGE {output},0" for output in OUTPUTS))
        if not await self.are_heaters_off():
            raise InstrumentError(f"{self.session.name}: a heater is on after being switched off")

    async def are_heaters_off(self) -> bool:
        """Return whether every range is off."""
        query = ";".join(f"RANGE? {output}" for output in OUTPUTS)
        return not any(await self.session.numbers(query, len(OUTPUTS)))

    async def command(self, command: str) -> None:
        """Give a command and see that it was carried out.

        Args:
            command: One or more, joined by ``;``; may be given twice, as a lost answer has it.

        Raises:
            InstrumentError: If the controller refuses it.
        """
        events = await self.session.query(f"{command};*ESR?")
        bits = int(self.session.number("*ESR?", events))
        refusals = [what for bit, what in _REFUSALS.items() if bits >> bit & 1]
        if refusals:
            raise InstrumentError(f"{self.session.name}: {command!r}: {', '.join(refusals)}")

    def _checked(self, query: str, kelvin: float, celsius: float, status: float) -> float:
        flaws = [what for bit, what in _FLAWS.items() if int(status) >> bit & 1]
        if flaws or status != 0.0:
            raise InstrumentError(
                f"{self.session.name}: the sensor's reading is {' and '.join(flaws) or status} "
                f"({query!r} gave {kelvin:g}, status {int(status)}); check sensor and leads"
            )
        if kelvin <= 0.0 or abs(kelvin - celsius - ZERO_CELSIUS_K) > _SAME_READING_K:
            self.session.drop()
            raise InstrumentError(
                f"{self.session.name}: {kelvin:g} K and {celsius:g} degC cannot be one reading, "
                "so a reading is not in the unit that it should be"
            )
        return kelvin


def parsed_loop(input_name: str, output: str) -> tuple[str, int]:
    """Read an input's name and an output's number.

    Args:
        input_name: A to D.
        output: 1 to 4.

    Returns:
        Both.

    Raises:
        ValueError: If one is not of that kind.
    """
    name = input_name.upper()
    if len(name) != 1 or name not in "ABCD":
        raise ValueError(f"{input_name!r} is no input; there are A, B, C and D")
    if output not in {"1", "2", "3", "4"}:
        raise ValueError(f"{output!r} is no output; there are 1 to 4")
    return name, int(output)


def parsed_range(text: str) -> int:
    """Read the number of a heater range.

    Args:
        text: It.

    Returns:
        1 low, 2 medium or 3 high.

    Raises:
        ValueError: If it is none of them.
    """
    if text not in {"1", "2", "3"}:
        raise ValueError(f"{text!r} is no heater range; there are 1 low, 2 medium and 3 high")
    return int(text)


def positive(text: str, what: str) -> float:
    """Read a number above 0.

    Args:
        text: It.
        what: Its name, for the message.

    Returns:
        The number.

    Raises:
        ValueError: If it is none.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0.0):
        raise ValueError(f"{what}={text} is no number above 0")
    return value


__all__ = ["LakeShore336Client", "Look", "Settling", "parsed_loop", "parsed_range", "positive"]
