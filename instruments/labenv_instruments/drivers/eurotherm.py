"""A tube furnace with a Eurotherm 2416, 3216 or EPC3016 controller, on Modbus TCP or RTU over TCP.

A firing is downloaded once as a setpoint programme of the controller, writing only what differs
(the controllers' memory stands about 100,000 writes), and runs there without this process. It ends
with the programmer's reset, where the base setpoint is low: a furnace whose computer died cools at
the programme's end. What is read back decides: the programme must have run its time and the
thermocouple must have been where the programme says.

Safe on all three models: programme reset, base setpoint 20 degC, manual mode with 0 % output, all
of it read back. The next programme switches back to automatic.

::

    eurotherm+tcp://10.0.0.5:502?model=EPC3016&dead_man_s=120
    eurotherm+tcp://10.0.0.9:4001?model=2416&framer=rtu&unit=3
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from labenv_instruments.drivers._eurotherm_link import IEEE, ModbusLink, float_pair, time_pair
from labenv_instruments.drivers._eurotherm_models import ENDED, MODELS, told_apart
from labenv_instruments.drivers._eurotherm_program import KELVIN, program_of
from labenv_instruments.drivers._eurotherm_watch import (
    CoolingWatch,
    FiringWatch,
    Look,
    PassedTime,
    check_look,
)
from labenv_instruments.drivers.tube_furnace import READING_UNCERTAINTY_K, TubeFurnace
from labenv_instruments.wire.driver import WireDriver
from labenv_schemas.errors import ConfigError, InstrumentError, ProposalError
from labenv_schemas.measurement import TemperatureReading
from labenv_schemas.proposal import Heat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv_instruments.drivers._eurotherm_program import Program, Setting
    from labenv_instruments.instrument import InstrumentRequest
    from labenv_schemas.measurement import MeasurementBase
    from labenv_schemas.proposal import Operation

SAFE_SETPOINT_C: Final = 20.0
TWIN_ID: Final = 0x5457  # customer identification (register 629) that the twins carry
_PV, _OUTPUT, _STATE, _STATUS = 1, 3, 23, 75
_BASE_SETPOINT, _HIGHEST_SETPOINT, _MANUAL, _UNITS, _CUSTOMER = 24, 111, 273, 516, 629
_CELSIUS = 0
_BITTEN = 3  # from a watchdog's time-out to its flag
_OFF_PERCENT = 0.05
_UNITS_EVERY = 10  # looks
_LONGEST_POLL_S, _LOOKS, _SHORTEST_S = 120.0, 300, 0.5


class EurothermFurnace(WireDriver):
    """Fires samples through programmes of a Eurotherm controller."""

    kind = "eurotherm"
    operations = frozenset({"heat"})
    role = "tube_furnace"
    default_port = 502
    option_help: ClassVar[Mapping[str, str]] = {
        "model": "2416, 3216 or EPC3016; required, since registers mean different things",
        "framer": "tcp, or rtu for RTU frames through a transparent gateway; default tcp",
        "unit": "Modbus address of the controller, 1 to 254; default 1",
        "holdback_k": "the setpoint waits while the furnace is so far below; 0 never; default 25 "
        "(2416 and EPC3016; a 3216 keeps what was configured)",
        "cool_below_c": "a firing is over, and the next begins, when the furnace is colder than "
        "this; default 100",
        "dead_man_s": "time-out of an EPC3016's network watchdog while a programme runs, s; its "
        "flag must be wired to stop the heater; default 0, none",
    }

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - as the base
        super().__init__(*args, **options)
        name = self.option("model", "")
        if name not in MODELS:
            raise ConfigError(
                f"address {self.address}: model={name or '?'}; write model={' or '.join(MODELS)}, "
                "since the same register means different things on each"
            )
        framer = self.option("framer", "tcp")
        if framer not in {"tcp", "rtu"}:
            raise ConfigError(f"address {self.address}: framer={framer}; write tcp or rtu")
        self._model = MODELS[name]()
        self._holdback_k = self._number("holdback_k", "25", 0.0, 200.0)
        self._cool_below_c = self._number("cool_below_c", "100", 40.0, 400.0)
        self._dead_man_s = self._number("dead_man_s", "0", 0.0, 3600.0)
        if self._dead_man_s and not self._model.watchdogs:
            raise ConfigError(
                f"address {self.address}: a {name} has no watchdog; leave dead_man_s out"
            )
        if 0.0 < self._dead_man_s < 10.0:
            raise ConfigError(f"address {self.address}: dead_man_s must be 10 or more, or 0")
        self._link = ModbusLink(
            self.address.host,
            self.port,
            int(self._number("unit", "1", 1.0, 254.0)),
            rtu=framer == "rtu",
            timeout_s=self.timeout_s,
        )
        self._left_at_c: float | None = None  # when the heater was switched off
        self._looks = 0

    @property
    def channel_units(self) -> Mapping[str, str]:
        """Unit of every channel in the measurements."""
        return TubeFurnace.units

    @property
    def where(self) -> str:
        """What to call the furnace in messages."""
        return f"{self._station} (Eurotherm {self._model.name}, {self._link})"

    @classmethod
    def check(cls, operation: Operation) -> None:
        """Refuse what no tube furnace of this laboratory can do: the limits are the tube's."""
        TubeFurnace.check(operation)

    def check_request(self, operation: Operation) -> None:
        """Refuse also a programme that is longer than the controller's."""
        super().check_request(operation)
        if isinstance(operation, Heat):
            self._model.check(program_of(operation))

    # ------------------------------------------------------------------------- the life cycle

    async def open_device(self) -> tuple[str, str, bool]:
        """Return what the controller says of itself, if it is of the model that the address names.

        Raises:
            InstrumentError: If it is not.
        """
        found = await told_apart(self._link)
        if found != self._model.name:
            raise InstrumentError(
                f"{self._link} has the registers of {found or 'no Eurotherm known here'}, but the "
                f"address says model={self._model.name}; correct one of them before it heats"
            )
        await self._model.learn(self._link)
        model, serial = await self._model.identity(self._link)
        return model, serial, await self._link.word(_CUSTOMER) == TWIN_ID

    async def set_up(self, request: InstrumentRequest) -> None:
        """Download the programme; nothing moves.

        Args:
            request: The firing.

        Raises:
            ProposalError: If the programme is too long or too hot for the controller.
            InstrumentError: If a programme runs, a reading is wrong, or a setting is not kept.
        """
        program = self._program(request)
        self._model.check(program)  # now that the controller said how long it may be
        look = await self._look()
        if look.state not in ENDED:
            raise InstrumentError(
                f"{self.where}: a programme is in {look.state.name.lower()} already; abort it first"
            )
        check_look(look, self.where)
        await self._check_units()
        self._check_left_alone(look)
        highest_c = (await self._link.floats(_HIGHEST_SETPOINT, 1))[0]
        if program.peak_c > highest_c:
            raise ProposalError(
                f"{self._station} is set up for {highest_c:.0f} degC at most, not "
                f"{program.peak_c:.0f} degC; lower the target"
            )
        await self._set(_BASE_SETPOINT, float_pair(SAFE_SETPOINT_C))
        wanted = self._model.settings(program, self._holdback_k)
        written = [setting for setting in wanted if await self._put(setting)]
        for setting in written:
            if not await self._holds(setting):
                raise InstrumentError(
                    f"{self.where}: register {setting.address} did not keep {setting.value:g}"
                )

    async def carry_out(self, request: InstrumentRequest) -> tuple[MeasurementBase, ...]:
        """Run the programme and follow it to its end, and to the cold unless it is a quench.

        Args:
            request: What was set up.

        Returns:
            The thermocouple's highest reading.
        """
        program = self._program(request)
        look = await self._cooled(await self._look())
        expected_s = program.expected_s(look.pv_c)
        poll_s = self._poll(expected_s)
        marks = program.marks_s(look.pv_c)
        watch = FiringWatch(program, look.pv_c, poll_s, self.where)
        await self._arm(self._dead_man_s)
        await self._start()
        clock = PassedTime(self.wait, self.lab_clock)
        while True:
            due = [mark - clock.least_s for mark in marks]
            await clock.pause(min([poll_s, *(left for left in due if left > _SHORTEST_S)]))
            if watch.look(clock.least_s, clock.most_s, await self._look()):
                break
        await self._check_units()
        await self.make_safe()
        operation = request.operation
        if isinstance(operation, Heat) and operation.cooling != "quench":
            await self._cooled(await self._look())
        return (self._reading(request, watch.highest_c),)

    async def make_safe(self) -> None:
        """Reset the programme, switch the output off by hand, and see that it is so.

        Raises:
            InstrumentError: If the controller cannot be told, or does not.
        """
        try:
            await self._switch_off()
        except InstrumentError as first:
            if not first.retryable:
                raise
            await self._switch_off()
        await self._arm(0.0)

    async def release(self) -> None:
        """Let the connection go."""
        await self._link.close()

    async def readings(self) -> dict[str, str]:
        """Return what a person wants to see."""
        look = await self._look()
        shown = {
            "temperature": f"{look.pv_c:.1f} degC",
            "setpoint": f"{look.setpoint_c:.1f} degC",
            "output": f"{look.output_percent:.1f} %",
            "program": look.state.name.lower(),
            "segment": str(await self._link.word(self._model.segment)),
        }
        if self._model.left is not None:
            shown["time left"] = f"{await self._link.time_s(self._model.left) / 60.0:.1f} min"
        return shown

    # ------------------------------------------------------------------------- steps

    def _program(self, request: InstrumentRequest) -> Program:
        if not isinstance(request.operation, Heat):
            raise ProposalError(f"{self.kind} does heat, not '{request.operation.op}'")
        return program_of(request.operation)

    def _poll(self, expected_s: float) -> float:
        """Return how long to wait between looks: long firings are looked at more rarely."""
        poll_s = max(self.poll_s(expected_s), min(expected_s / _LOOKS, _LONGEST_POLL_S))
        return min(poll_s, self._dead_man_s / 3.0) if self._dead_man_s else poll_s

    async def _look(self) -> Look:
        """Return what the controller shows; now and then see also in which unit."""
        self._looks += 1
        if self._looks % _UNITS_EVERY == 0:
            await self._check_units()
        return await self._glance()

    async def _glance(self) -> Look:
        """Return what the controller shows, whatever the unit."""
        pv_c, target_c, _, output, setpoint_c = await self._link.floats(_PV, 5)
        # Three words, since two requests with equal replies must not follow each other on RTU.
        state, _, _ = await self._link.words(_STATE, 3)
        status = await self._link.word(_STATUS)
        return Look(pv_c, target_c, output, setpoint_c, self._model.state(state), status)

    async def _check_units(self) -> None:
        units = await self._link.word(_UNITS)
        if units != _CELSIUS:
            raise InstrumentError(
                f"{self.where}: shows temperatures in another unit than degC (register {_UNITS} is "
                f"{units}, not 0); set its display to degC"
            )

    def _check_left_alone(self, look: Look) -> None:
        if self._left_at_c is not None and look.pv_c > self._left_at_c + 15.0:
            raise InstrumentError(
                f"{self.where}: the temperature rose from {self._left_at_c:.0f} to "
                f"{look.pv_c:.0f} degC after the heater was switched off: it is stuck on; cut its "
                "power"
            )

    async def _start(self) -> None:
        """Switch to automatic, at a base setpoint that heats nothing, and start the programme.

        Raises:
            InstrumentError: If it does not start.
        """
        self._left_at_c = None
        if await self._link.word(_MANUAL) != 0:
            await self._link.write_word(_MANUAL, 0)
        for address in self._model.buttons:
            if await self._link.word(address) != 0:  # pressed buttons that did not spring back
                await self._link.write_word(address, 0)
        await self._link.write_word(*self._model.run)
        look = await self._look()
        if look.state in ENDED:
            raise InstrumentError(
                f"{self.where}: did not start its programme (register {_STATE} says "
                f"{look.state.name.lower()}); is it locked or in configuration mode?"
            )

    async def _cooled(self, look: Look) -> Look:
        """Return the first look at which the furnace is cold, watching that it cools."""
        watch, waited_s = CoolingWatch(self.where), 0.0
        check_look(look, self.where)
        while look.pv_c > self._cool_below_c:
            watch.look(waited_s, look)
            poll_s = self._poll(_LOOKS * _LONGEST_POLL_S)
            await self.wait(poll_s)
            waited_s += poll_s
            look = await self._look()
        return look

    async def _arm(self, timeout_s: float) -> None:
        """Set the network watchdog, where one was asked for."""
        if self._dead_man_s:
            for address in self._model.watchdogs:
                if not await self._link.has(address):
                    continue
                await self._set(address, time_pair(timeout_s))
                if timeout_s and await self._link.word(address + _BITTEN) != 0:
                    await self._link.write_word(address + _BITTEN, 0)

    async def _switch_off(self) -> None:
        link = self._link
        state = self._model.state((await link.words(_STATE, 3))[0])
        if state not in ENDED:
            await link.write_word(*self._model.reset)
        if await link.word(_MANUAL) != 1:
            await link.write_word(_MANUAL, 1)
        await self._set(_OUTPUT, float_pair(0.0))
        await self._set(_BASE_SETPOINT, float_pair(SAFE_SETPOINT_C))
        look = await self._glance()
        manual = await link.word(_MANUAL)
        if look.state not in ENDED or manual != 1 or look.output_percent > _OFF_PERCENT:
            raise InstrumentError(
                f"{self.where}: after reset and 0 % output by hand it is in "
                f"{look.state.name.lower()}, {'manual' if manual == 1 else 'automatic'}, with "
                f"{look.output_percent:.1f} % output",
                retryable=True,
            )
        self._left_at_c = look.pv_c

    # ------------------------------------------------------------------------- registers

    async def _set(self, address: int, pair: tuple[int, int]) -> bool:
        """Return whether a parameter's full value had to be written."""
        if tuple(await self._link.words(IEEE + 2 * address, 2)) == pair:
            return False
        await self._link.write_pair(address, pair)
        return True

    async def _put(self, setting: Setting) -> bool:
        if await self._holds(setting):
            return False
        if setting.kind == "word":
            await self._link.write_word(setting.address, int(setting.value))
        else:
            await self._link.write_pair(setting.address, _pair(setting))
        return True

    async def _holds(self, setting: Setting) -> bool:
        if setting.kind == "word":
            return await self._link.word(setting.address) == int(setting.value)
        held = await self._link.words(IEEE + 2 * setting.address, 2)
        return tuple(held) == _pair(setting)

    def _reading(self, request: InstrumentRequest, highest_c: float) -> TemperatureReading:
        return TemperatureReading(
            temperature_k=highest_c + KELVIN,
            standard_uncertainty_k=READING_UNCERTAINTY_K,
            **self.stamp(request),
        )

    def _number(self, name: str, default: str, least: float, most: float) -> float:
        text = self.option(name, default)
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            raise ConfigError(
                f"address {self.address}: {name}={text}; write a number from {least:g} to {most:g}"
            )
        return value


def _pair(setting: Setting) -> tuple[int, int]:
    return time_pair(setting.value) if setting.kind == "time" else float_pair(setting.value)


__all__ = ["EurothermFurnace"]
