"""A session takes no answer for another question's, waits for nothing without end, tidies up."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from labenv_instruments.clock import VirtualClock
from labenv_instruments.faults import FOR_EVER, Fault, FaultKind, FaultPlan
from labenv_instruments.twins._scpi import QUEUE_LENGTH, ScpiTwin
from labenv_instruments.twins._scpi_language import elements
from labenv_instruments.wire.address import parse_address
from labenv_instruments.wire.scpi import ScpiSession, open_session, overloaded
from labenv_schemas.errors import InstrumentError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

WAYS = ("tcp", "visa")


class Device(ScpiTwin):
    """Counts how often it is asked."""

    driver = "device"
    maker_and_model = "LABENV,TEST"
    safe = True

    def headers(self) -> None:
        self.asked = 0
        self.number("[SOURce:]CURRent[:LEVel][:IMMediate][:AMPLitude]", "current", 0.0, -1.0, 1.0)
        self.number("[SOURce:]CURRent:COMPliance", "compliance", 10.0, 0.1, 105.0)
        self.switch("OUTPut[:STATe]", "output", False)
        self.choice("UNIT", "unit", "V", "V OHMS SIEMens")
        self.header("COUNt", ask=lambda _: self._count())
        self.header("SYSTem:TEXT", do=self._keep)

    def _count(self) -> str:
        self.asked += 1
        return str(self.asked)

    def _keep(self, text: str) -> None:
        self.values["text"] = text


def course(
    work: Callable[[ScpiSession, Device], Awaitable[Any]],
    *faults: Fault,
    way: str = "tcp",
    timeout_s: float = 0.1,
    kind: type[Device] = Device,
) -> Any:
    async def whole() -> Any:
        twin = kind(clock=VirtualClock(), faults=FaultPlan(list(faults)))
        found = parse_address(await twin.start())
        if way == "visa":
            found = parse_address(f"visa://TCPIP::{found.host}::{found.port}::SOCKET")
        session = open_session(found, found.port or 0, "device", timeout_s)
        before = threading.active_count()
        try:
            async with asyncio.timeout(20.0):
                return await work(session, twin)
        finally:
            await session.close()
            await session.close()
            await twin.close()
            assert asyncio.all_tasks() == {asyncio.current_task()}
            assert threading.active_count() == before

    return asyncio.run(whole())


@pytest.mark.parametrize("way", WAYS)
def test_questions_are_answered_and_commands_obeyed(way: str) -> None:
    async def work(session: ScpiSession, twin: Device) -> None:
        await session.open()
        assert (await session.query("*IDN?")).startswith("LABENV,TEST,twin-device")
        await session.command(":SOUR:CURR 0.25;:OUTP ON")
        assert await session.numbers(":SOUR:CURR?;:OUTP?", 2) == [0.25, 1.0]
        assert twin.values["output"]
        for expected in range(1, 70):  # more than there are numbers to tell questions apart
            assert await session.numbers(":COUN?", 1) == [expected]

    course(work, way=way)


@pytest.mark.parametrize("way", WAYS)
def test_an_error_is_reported_with_the_command_and_the_queue_left_empty(way: str) -> None:
    async def work(session: ScpiSession, twin: Device) -> None:
        with pytest.raises(
            InstrumentError, match=r"device refused ':CURR 2;:NONE': -222 .*; -113 "
        ):
            await session.command(":CURR 2;:NONE")
        assert await session.errors() == []
        assert twin.values["current"] == 0.0

    course(work, way=way)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "kind",
    [FaultKind.LATE_REPLY, FaultKind.STALE_REPLY, FaultKind.GARBLED, FaultKind.SILENT,
     FaultKind.DROPPED, FaultKind.SPLIT_REPLY, FaultKind.BUSY],
)  # fmt: skip
def test_a_disturbed_answer_is_asked_for_again_and_never_taken_for_another(
    kind: FaultKind, way: str
) -> None:
    async def work(session: ScpiSession, twin: Device) -> None:
        assert await session.numbers(":COUN?", 1) == [1.0]
        unit = await session.query(":UNIT?")
        assert unit == "V"
        count, compliance = await session.numbers(":COUN?;:CURR:COMP?", 2)
        assert count == twin.asked
        assert compliance == 10.0
        assert await session.query(":UNIT?") == "V"
        assert twin.faults.fired

    course(work, Fault(kind, after_requests=2, delay_s=0.2), way=way)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "kind", [FaultKind.SILENT, FaultKind.GARBLED, FaultKind.DROPPED, FaultKind.BUSY]
)
def test_a_lasting_fault_is_an_error_in_bounded_time(kind: FaultKind, way: str) -> None:
    async def work(session: ScpiSession, _: Device) -> None:
        await session.query("*IDN?")
        began = time.monotonic()
        with pytest.raises(InstrumentError, match="device") as caught:
            await session.query(":COUN?")
        assert caught.value.retryable
        assert time.monotonic() - began < 2.0

    course(work, Fault(kind, after_requests=1, lasts_requests=FOR_EVER), way=way)


def test_an_answer_to_another_question_is_named() -> None:
    async def work(session: ScpiSession, _: Device) -> None:
        await session.query(":UNIT?")
        with pytest.raises(InstrumentError, match="belongs to another question"):
            await session.query(":CURR?", once=True)
        assert await session.numbers(":CURR?", 1) == [0.0]

    course(work, Fault(FaultKind.STALE_REPLY, after_requests=1))


@pytest.mark.parametrize("way", WAYS)
def test_a_cancelled_question_leaves_nothing_behind(way: str) -> None:
    async def work(session: ScpiSession, twin: Device) -> None:
        await session.query("*IDN?")
        asking = asyncio.ensure_future(session.query(":COUN?"))
        await asyncio.sleep(0.03)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await session.query(":UNIT?") == "V"
        assert await session.numbers(":COUN?", 1) == [twin.asked]

    course(work, Fault(FaultKind.LATE_REPLY, after_requests=1, delay_s=0.1), way=way)


def test_a_trigger_whose_fate_is_unknown_is_not_given_twice() -> None:
    async def work(session: ScpiSession, twin: Device) -> None:
        with pytest.raises(InstrumentError, match="did not answer"):
            await session.command(":OUTP ON", once=True)
        assert twin.faults.requests == 2
        await session.command(":OUTP ON")

    course(work, Fault(FaultKind.SILENT, after_requests=1))


def test_what_is_no_number_is_refused() -> None:
    async def work(session: ScpiSession, twin: Device) -> None:
        with pytest.raises(InstrumentError, match="not with a number"):
            await session.numbers(":UNIT?", 1)
        with pytest.raises(InstrumentError, match="not with 2 numbers"):
            await session.numbers(":CURR?", 2)
        with pytest.raises(InstrumentError, match="not with an answer"):
            await session.query(":NONE?")
        twin.values["current"] = float("nan")
        with pytest.raises(InstrumentError, match="not with a number"):
            await session.numbers(":CURR?", 1)

    course(work)


def test_errors_without_end_are_given_up() -> None:
    class Broken(Device):
        def _next_error(self) -> str:
            return '-100,"Command error"'

    async def work(session: ScpiSession, _: Device) -> None:
        with pytest.raises(InstrumentError, match="without end"):
            await session.errors()

    course(work, kind=Broken)


@pytest.mark.parametrize("way", WAYS)
def test_nobody_there_is_an_error(way: str) -> None:
    async def whole() -> None:
        twin = Device(clock=VirtualClock())
        found = parse_address(await twin.start())
        await twin.close()
        if way == "visa":
            found = parse_address(f"visa://TCPIP::{found.host}::{found.port}::SOCKET")
        session = open_session(found, found.port or 0, "device", 0.2)
        async with asyncio.timeout(5.0):
            with pytest.raises(InstrumentError, match="device"):
                await session.query("*IDN?")
        await session.close()

    asyncio.run(whole())


def test_a_call_that_the_library_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from labenv_instruments.wire import visa

    released = threading.Event()
    monkeypatch.setattr(visa, "_resource_manager", lambda: released.wait(10.0) and None)
    monkeypatch.setattr(visa, "_BEYOND_TIMEOUT_S", 0.02)

    async def whole() -> None:
        line = visa.VisaLine("GPIB0::1::INSTR", "stuck", 0.02)
        with pytest.raises(InstrumentError, match="did not return in time"):
            await line.exchange(b"*IDN?\n", 0.02)
        await line.close()

    asyncio.run(whole())
    released.set()


def test_overloads_are_known_by_their_magnitude() -> None:
    assert all(overloaded(value) for value in (9.9e37, -9.9e37, 9.91e37, float("nan")))
    assert not any(overloaded(value) for value in (0.0, 1e20, -8.9e37))


# --------------------------------------------------------------------- how a simulated device reads


def answers(*lines: str, twin: Device | None = None) -> list[str | None]:
    device = twin or Device(clock=VirtualClock())
    return [device.execute(line) for line in lines]


@pytest.mark.parametrize(
    "header",
    [":SOUR:CURR", "sour:curr", "SOURCE:CURRENT:LEVEL", ":curr:lev:imm:ampl", "Current", "CURR"],
)
def test_long_and_short_forms_in_any_case_are_one_header(header: str) -> None:
    assert answers(f"{header} 0.5", f"{header}?") == [None, "+5.000000E-01"]


@pytest.mark.parametrize("header", ["SOURC:CURR", "CURRE", "CURR:", "SOUR::CURR", "CUR", ""])
def test_forms_in_between_are_undefined(header: str) -> None:
    assert answers(f"{header}?", "SYST:ERR?") == [None, '-113,"Undefined header"']


def test_a_header_without_a_colon_goes_on_from_the_path_before() -> None:
    twin = Device(clock=VirtualClock())
    assert answers(":SOUR:CURR:LEV 0.1;IMM 0.2;:CURR:COMP 5;*OPC?;COMP 6", twin=twin) == ["1"]
    assert (twin.values["current"], twin.values["compliance"]) == (0.2, 6.0)
    assert answers("SYST:ERR?", twin=twin) == ['0,"No error"']
    assert answers(":SOUR:CURR:LEV 0.3;OUTP ON", "SYST:ERR?", twin=twin)[1].startswith("-113")


def test_a_command_error_ends_the_line_and_an_execution_error_does_not() -> None:
    twin = Device(clock=VirtualClock())
    assert answers("NONE 1;OUTP ON", "OUTP?", twin=twin) == [None, "0"]
    assert answers("CURR 7;:OUTP ON", "OUTP?", twin=twin) == [None, "1"]
    assert answers("*ESR?", "*ESR?", twin=twin) == [str(128 | 32 | 16), "0"]
    assert answers("SYST:ERR?;ERR?", twin=twin) == [
        '-113,"Undefined header";-222,"Parameter data out of range"'
    ]


@pytest.mark.parametrize(
    ("line", "code"),
    [("CURR", -109), ("CURR x", -104), ("CURR nan", -104), ("CURR inf", -104), ("CURR 1.1", -222),
     ("OUTP 2", -224), ("UNIT W", -224), ("*ESE 256", -222), ("COUN 3", -113), ("OUTP", -109)],
)  # fmt: skip
def test_wrong_parameters_have_their_numbers(line: str, code: int) -> None:
    assert answers(line, "SYST:ERR?")[1].startswith(f"{code},")


def test_a_full_queue_says_so() -> None:
    twin = Device(clock=VirtualClock())
    answers(*["NONE"] * (QUEUE_LENGTH + 3), twin=twin)
    found = answers(*["SYST:ERR?"] * (QUEUE_LENGTH + 1), twin=twin)
    assert found[-2:] == ['-350,"Queue overflow"', '0,"No error"']
    answers("NONE", "*CLS", twin=twin)
    assert answers("SYST:ERR?", twin=twin) == ['0,"No error"']


def test_quoted_semicolons_do_not_end_a_command() -> None:
    twin = Device(clock=VirtualClock())
    answers('SYST:TEXT "a;b";:OUTP ON', twin=twin)
    assert twin.values["text"] == '"a;b"'
    assert twin.values["output"]


def test_reset_brings_settings_back_and_keeps_the_queue() -> None:
    twin = Device(clock=VirtualClock())
    answers("CURR 0.5;:OUTP 1;:UNIT siemens;:NONE", "*RST", twin=twin)
    assert answers("CURR?;:OUTP?;:UNIT?", twin=twin) == ["+0.000000E+00;0;V"]
    assert answers("SYST:ERR?", twin=twin)[0].startswith("-113")
    assert answers("CURR MAX;:CURR?", "CURR? MIN", twin=twin) == [
        "+1.000000E+00", "-1.000000E+00"
    ]  # fmt: skip


def test_elements_come_in_the_devices_order() -> None:
    known = {"VOLTage": "v", "CURRent": "c", "TIME": "t"}
    assert elements("time, VOLT", known) == ("v", "t")


@pytest.mark.parametrize("noise", [b"\xff\xfe;;;?\n", b";\n", b"\n", b'"\n', b"*?\n", b":\n"])
def test_noise_neither_raises_nor_kills(noise: bytes) -> None:
    twin = Device(clock=VirtualClock())
    assert asyncio.run(twin.answer(noise)) is None
    assert answers("OUTP?", twin=twin) == ["0"]
