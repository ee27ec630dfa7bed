"""The furnace's twin speaks Modbus as the handbook has it, and follows a programme."""

from __future__ import annotations

import asyncio
import struct
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labenv_instruments.clock import VirtualClock
from labenv_instruments.drivers._eurotherm_models import State
from labenv_instruments.drivers._eurotherm_program import program_of, table_entries, typed_table
from labenv_instruments.drivers._eurotherm_watch import CoolingWatch, FiringWatch, Look
from labenv_instruments.testing import StillSample
from labenv_instruments.twins._furnace_model import Furnace, Phase, Step
from labenv_instruments.twins._furnace_path import fired
from labenv_instruments.twins._modbus_frames import check_sum
from labenv_instruments.twins.eurotherm import EurothermTwin
from labenv_schemas.errors import ConfigError, InstrumentError, SimulatorError
from labenv_schemas.proposal import Heat

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def talk(work: Callable[[EurothermTwin, Any], Awaitable[Any]], **options: str) -> Any:
    """Let some work send bytes and get what comes back within a moment."""

    async def whole() -> Any:
        twin = EurothermTwin(clock=VirtualClock(), options={"model": "2416"} | options)
        await twin.start()
        host, port = twin._server.sockets[0].getsockname()
        reader, writer = await asyncio.open_connection(host, port)

        async def ask(request: bytes) -> bytes:
            writer.write(request)
            try:
                async with asyncio.timeout(0.05):
                    return await reader.read(600)
            except TimeoutError:
                return b""

        try:
            return await work(twin, ask)
        finally:
            writer.close()
            await twin.close()

    return asyncio.run(whole())


def tcp(body: bytes, unit: int = 1, transaction: int = 7) -> bytes:
    return struct.pack(">HHHB", transaction, 0, len(body) + 1, unit) + body


def rtu(body: bytes, unit: int = 1) -> bytes:
    return bytes([unit]) + body + check_sum(bytes([unit]) + body)


def test_the_check_sum_is_that_of_the_handbook() -> None:
    assert check_sum(bytes([0x02, 0x07])) == bytes([0x41, 0x12])  # its example, HA026230


def test_bytes_on_tcp_and_rtu() -> None:
    async def on_tcp(_: EurothermTwin, ask: Any) -> None:
        assert await ask(tcp(b"\x03\x00\x7a\x00\x01")) == tcp(b"\x03\x02\x24\x60")
        assert await ask(tcp(b"\x04\x00\x17\x00\x01")) == tcp(b"\x04\x02\x00\x01")  # reset
        assert await ask(tcp(b"\x08\x00\x00\xbe\xef")) == tcp(b"\x08\x00\x00\xbe\xef")
        assert await ask(tcp(b"\x07")) == tcp(b"\x07\x00")
        assert await ask(tcp(b"\x06\x01\x11\x00\x01")) == tcp(b"\x06\x01\x11\x00\x01")  # manual
        assert await ask(tcp(b"\x07")) == tcp(b"\x07\x10")
        float_20 = struct.pack(">f", 20.0)
        assert await ask(tcp(b"\x03\x80\x30\x00\x02")) == tcp(b"\x03\x04" + float_20)
        float_30 = struct.pack(">f", 30.0)
        assert await ask(tcp(b"\x10\x80\x30\x00\x02\x04" + float_30)) == tcp(
            b"\x10\x80\x30\x00\x02"
        )
        assert await ask(tcp(b"\x03\x00\x18\x00\x01")) == tcp(b"\x03\x02" + struct.pack(">h", 300))
        assert await ask(tcp(b"\x03\x80\x2e\x00\x02")) == tcp(b"\x03\x04\x00\x01\x80\x00")  # padded

    async def on_rtu(_: EurothermTwin, ask: Any) -> None:
        assert await ask(rtu(b"\x03\x00\x7a\x00\x01")) == rtu(b"\x03\x02\x24\x60")
        assert await ask(rtu(b"\x10\x00\x18\x00\x01\x02\x01\x2c")) == rtu(b"\x10\x00\x18\x00\x01")
        assert await ask(rtu(b"\x07")) == rtu(b"\x07\x00")

    talk(on_tcp)
    talk(on_rtu, framer="rtu")


def test_another_unit_or_a_wrong_check_sum_is_not_answered() -> None:
    async def on_tcp(_: EurothermTwin, ask: Any) -> None:
        assert not await ask(tcp(b"\x03\x00\x01\x00\x01", unit=2))
        assert await ask(tcp(b"\x03\x00\x17\x00\x01"))

    async def on_rtu(twin: EurothermTwin, ask: Any) -> None:
        right = rtu(b"\x06\x00\x17\x00\x02", unit=1)
        assert not await ask(right[:-1] + bytes([right[-1] ^ 1]))
        assert not await ask(rtu(b"\x03\x00\x01\x00\x01", unit=9))
        assert twin.furnace.phase is Phase.RESET
        assert await ask(rtu(b"\x03\x00\x17\x00\x01"))

    talk(on_tcp)
    talk(on_rtu, framer="rtu")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"\x03\x03\xe7\x00\x01", 2),  # no such register
        (b"\x03\x00\x01\x00\x00", 3),
        (b"\x03\x00\x01\x00\x7e", 3),
        (b"\x06\x00\x01\x00\x05", 2),  # read only
        (b"\x06\x00\x17\x00\x03", 3),  # no state of a 2416
        (b"\x06\x80\x30\x00\x00", 2),  # function 6 in the IEEE region
        (b"\x03\x80\x31\x00\x02", 2),  # across two parameters
        (b"\x10\x80\x30\x00\x01\x02\x00\x00", 3),  # half a float
        (b"\x10\x80\x30\x00\x02\x04\x7f\xc0\x00\x00", 3),  # not a number
        (b"\x10\x00\x18\x00\x01\x03\x00\x00\x00", 3),
        (b"\x06\x00\x03\x00\x05", 3),  # output by hand, in automatic
        (b"\x01\x00\x01\x00\x01", 2),
        (b"\x06\x00", 3),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_codes_of_the_handbook(
    body: bytes, code: int
) -> None:
    async def work(_: EurothermTwin, ask: Any) -> None:
        assert await ask(tcp(body)) == tcp(bytes([body[0] | 0x80, code]))

    talk(work)


@given(st.binary(max_size=40))
def test_nothing_that_is_sent_breaks_it(noise: bytes) -> None:
    twin = EurothermTwin(clock=VirtualClock(), options={"model": "EPC3016"})

    async def work() -> None:
        if noise:
            await twin.answer(tcp(noise))
            await twin.answer(tcp(b"\x10" + noise))
        twin.advance(10.0)

    asyncio.run(work())


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="no twin of a Eurotherm 2408"):
        EurothermTwin(options={"model": "2408"})


def test_a_sample_that_cannot_be_fired_is_shown_and_raises_nothing() -> None:
    class Broken(StillSample):
        def fire(self, heat: Heat) -> float:
            raise SimulatorError("no such chemistry")

    twin = EurothermTwin(clock=VirtualClock(), options={"model": "2416"})
    twin.load(Broken())
    twin.furnace.start((Step(100.0, 0.1, 60.0),), 1)
    twin.clock.set_s(2000.0)
    assert twin.state()["failure"] == "no such chemistry"
    assert twin.safe


# ----------------------------------------------------------------------------- the furnace


@pytest.mark.parametrize("pause_s", [7.0, 30.0, 600.0, 1e5])
def test_the_course_does_not_hang_on_when_one_looks(pause_s: float) -> None:
    furnace = Furnace(0.0)
    furnace.start((Step(700.0, 0.2, 3600.0, 1), Step(500.0, 0.05, 1800.0, 2)), 2)
    now_s = 0.0
    while now_s < 14_000.0:
        now_s += pause_s
        furnace.advance(now_s)
    run = furnace.run
    assert run is not None
    assert run.followed
    assert furnace.complete
    peak_c = max(c for _, c in run.path)
    assert 700.5 < peak_c < 703.5  # a slight overshoot
    heat = fired(run, {}, complete=True)
    assert heat is not None
    assert [s.target_k for s in heat.segments] == pytest.approx([973.15, 773.15])
    assert [s.rate_k_per_s for s in heat.segments] == pytest.approx([0.2, 0.05])
    assert [s.hold_s for s in heat.segments] == pytest.approx([3600.0, 1800.0])


def test_a_furnace_that_is_off_cools_to_the_room_and_no_further() -> None:
    furnace = Furnace(0.0)
    furnace.temperature_c = 1200.0
    furnace.advance(4 * 3600.0)
    assert 50.0 < furnace.temperature_c < 80.0
    furnace.advance(1e6)
    assert furnace.temperature_c == pytest.approx(25.0)


def test_a_path_that_left_the_programme_is_what_the_sample_saw() -> None:
    furnace = Furnace(0.0)
    furnace.start((Step(800.0, 0.2, 7200.0),), 1)
    furnace.advance(5000.0)
    furnace.conditions.door_open = True
    furnace.advance(6500.0)
    furnace.conditions.door_open = False
    furnace.advance(20_000.0)
    run = furnace.run
    assert run is not None
    assert not run.followed
    heat = fired(run, {"cooling": "quench"}, complete=furnace.complete)
    assert heat is not None
    total_s, at_k, lowest_k = 0.0, 298.15, 2000.0
    for segment in heat.segments:
        total_s += abs(segment.target_k - at_k) / segment.rate_k_per_s + segment.hold_s
        at_k = segment.target_k
        if total_s > 5000.0:
            lowest_k = min(lowest_k, at_k)
    assert total_s == pytest.approx(run.path[-1][0], rel=0.02)
    assert lowest_k == pytest.approx(min(c for t, c in run.path if t > 5000.0) + 273.15, abs=3.0)


def test_a_held_programme_goes_on_where_it_was() -> None:
    furnace = Furnace(0.0)
    steps = (Step(500.0, 0.1, 600.0),)
    furnace.start(steps, 1)
    furnace.advance(1000.0)
    furnace.hold()
    furnace.advance(4000.0)
    assert furnace.setpoint_c == pytest.approx(125.0)
    furnace.start(steps, 1)
    assert furnace.phase is Phase.RUN
    furnace.advance(4001.0)
    assert furnace.setpoint_c == pytest.approx(125.1)


# ----------------------------------------------------------------------------- programmes, watch


@given(
    st.lists(
        st.tuples(
            st.integers(50, 1500), st.sampled_from([0.5, 1, 3.3, 5, 20]), st.sampled_from([0, 90])
        ),
        min_size=1,
        max_size=7,
    )
)
def test_a_table_has_as_many_entries_as_it_says(segments: list[tuple[int, float, int]]) -> None:
    heat = Heat.model_validate({
        "segments": [
            {"target": f"{t} degC", "rate": f"{r} K/min", "hold": f"{h} min"}
            for t, r, h in segments
        ]
    })
    program = program_of(heat)
    settings = list(typed_table(program, lambda n: 8328 + 8 * n, 25.0, 8328))
    types = [s for s in settings if s.address >= 8336 and (s.address - 8328) % 8 == 0]
    assert len(types) == table_entries(program)
    assert types[-1].value == 0
    assert len({s.address for s in settings}) == len(settings)


def look(pv_c: float, output: float = 50.0, setpoint_c: float | None = None, **more: Any) -> Look:
    return Look(
        pv_c, 20.0, output, pv_c if setpoint_c is None else setpoint_c,
        more.get("state", State.RUN), more.get("status", 0),
    )  # fmt: skip


def watched(looks: list[tuple[float, Look]], **heat: Any) -> bool:
    segment = {"target": "600 degC", "rate": "10 K/min", "hold": "60 min"} | heat
    program = program_of(Heat.model_validate({"segments": [segment]}))
    watch = FiringWatch(program, 25.0, 30.0, "furnace-1")
    return [watch.look(at_s, at_s, seen) for at_s, seen in looks][-1]


def test_a_good_firing_passes() -> None:
    course = [(30.0 * n, look(min(600.0, 25.0 + 5.0 * n) + 0.01 * (n % 3))) for n in range(236)]
    assert watched([*course, (7080.0, look(600.0, 0.0, state=State.RESET))])


@pytest.mark.parametrize(
    ("looks", "message"),
    [
        ([(30.0, look(25.0, status=1 << 5))], "thermocouple is broken"),
        ([(30.0, look(25.0, status=1 << 6))], "control loop is broken"),
        ([(30.0, look(25.0, status=1 << 10))], "out of range"),
        ([(30.0, look(30000.0))], "out of range"),
        ([(30.0, look(25.0, status=1 << 4))], "switched the controller to manual"),
        ([(30.0, look(25.0)), (60.0, look(500.0))], "which no furnace does"),
        ([(30.0 * n, look(25.0, setpoint_c=25.0 + 5 * n)) for n in range(9)], "stood at"),
        ([(60.0 * n, look(600.0)) for n in range(30)], "stood at"),
        ([(60.0 * n, look(500.0 + 3 * n, 0.0)) for n in range(9)], "stuck on"),
        ([(60.0 * n, look(300.0 + 0.1 * n, 100.0, 600.0)) for n in range(40)], "check door"),
        ([(300.0, look(60.0, state=State.RESET))], "somebody reset it"),
        ([(7080.0, look(580.0, state=State.RESET))], "reached only 580 degC of 600"),
        ([(30.0, look(595.0)), (7080.0, look(599.0, state=State.RESET))], None),
        ([(9e4, look(600.0, state=State.HOLD))], "has not ended after 90000 s; it is in hold"),
    ],
)
def test_a_furnace_that_does_not_follow_is_found_out(
    looks: list[tuple[float, Look]], message: str | None
) -> None:
    if message is None:
        assert watched(looks)
        return
    with pytest.raises(InstrumentError, match=message):
        watched(looks)


@pytest.mark.parametrize(
    ("looks", "message"),
    [
        ([(0.0, look(500.0, 0.0, state=State.RUN))], "somebody switched the heater on"),
        ([(0.0, look(500.0, 20.0, state=State.RESET))], "somebody switched the heater on"),
        (
            [(120.0 * n, look(500.0 + n % 2, 0.0, state=State.RESET)) for n in range(70)],
            "has stood",
        ),
        ([(120.0 * n, look(500.0 + 2 * n, 0.0, state=State.RESET)) for n in range(70)], "stuck on"),
        ([(120.0 * n, look(500.0 - 2 * n, 0.0, state=State.RESET)) for n in range(70)], None),
    ],
)
def test_a_furnace_that_does_not_cool_is_found_out(
    looks: list[tuple[float, Look]], message: str | None
) -> None:
    def follow() -> None:
        watch = CoolingWatch("furnace-1")
        for at_s, seen in looks:
            watch.look(at_s, seen)

    if message is None:
        follow()
        return
    with pytest.raises(InstrumentError, match=message):
        follow()


def test_a_furnace_hotter_than_its_programme_is_a_failure() -> None:
    segment = {"target": "900 degC", "rate": "10 K/min", "hold": "1 h"}
    watch = FiringWatch(program_of(Heat.model_validate({"segments": [segment]})), 25.0, 30.0, "x")
    assert not watch.look(5000.0, 5000.0, Look(905.0, 900.0, 20.0, 900.0, State.RUN, 0))
    with pytest.raises(InstrumentError, match="940 degC where the programme goes to 900 degC"):
        watch.look(5030.0, 5030.0, Look(940.0, 900.0, 0.0, 900.0, State.RUN, 0))
