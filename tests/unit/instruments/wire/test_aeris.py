"""A scan is the one that was asked for, of the sample that was asked for, or it is an error."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from labenv_instruments.clock import VirtualClock, WallClock
from labenv_instruments.drivers.aeris import Aeris, application_name
from labenv_instruments.drivers.powder_diffractometer import PowderDiffractometer
from labenv_instruments.faults import FOR_EVER, HARMLESS, WIRE_FAULTS, Fault, FaultKind
from labenv_instruments.instrument import InstrumentRequest, InstrumentState
from labenv_instruments.still_sample import StillSample
from labenv_instruments.twins import load_twin
from labenv_instruments.twins._aeris_file import written
from labenv_instruments.twins.aeris import AerisTwin
from labenv_schemas.errors import ConfigError, InstrumentError, ProposalError
from labenv_schemas.proposal import Measure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from labenv_schemas.measurement import Diffractogram

    Work = Callable[[Aeris, AerisTwin], Awaitable[Any]]

SCAN = Measure(two_theta_min_deg=10.0, two_theta_max_deg=40.0, step_deg=0.05, scan_time_s=300.0)


def course(
    work: Work, folder: Path | None = None, *, options: str = "", timeout_s: float = 0.2
) -> Any:
    async def whole() -> Any:
        given = {} if folder is None else {"folder": str(folder)}
        given |= dict(part.split("=") for part in options.split("&") if part)
        twin = AerisTwin(clock=VirtualClock(), options=given)
        address = await twin.start()

        async def pace(lab_s: float) -> None:
            twin.clock.set_s(twin.clock.now_s + lab_s)
            await asyncio.sleep(0)

        driver = Aeris(address, pace=pace, timeout_s=timeout_s, stamps=False)
        try:
            async with asyncio.timeout(20.0):
                await driver.connect()
                return await work(driver, twin)
        finally:
            await driver.close()
            await twin.close()
            assert asyncio.all_tasks() == {asyncio.current_task()}

    return asyncio.run(whole())


async def measure(
    driver: Aeris, scan: Measure = SCAN, sample_id: str = "sample-1"
) -> Diffractogram:
    await driver.prepare(InstrumentRequest(scan, sample_id, scan.scan_time_s, 42.0))
    await driver.run()
    (found,) = await driver.result()
    return found  # type: ignore[return-value]


# ---------------------------------------------------------------------------- a scan


@pytest.mark.parametrize(
    "scan",
    [
        SCAN,
        Measure(),
        Measure(two_theta_min_deg=10.1, two_theta_max_deg=69.97, step_deg=0.013, scan_time_s=977.3),
    ],
)
def test_the_scan_is_that_of_the_process_to_the_last_bit(scan: Measure) -> None:
    async def in_process() -> Diffractogram:
        twin = PowderDiffractometer("aeris")
        await twin.connect()
        twin.load(StillSample(seed=5))
        await twin.prepare(InstrumentRequest(scan, "sample-1", finishes_s=42.0))
        await twin.run()
        return (await twin.result())[0]  # type: ignore[return-value]

    async def work(driver: Aeris, twin: AerisTwin) -> Diffractogram:
        twin.load(StillSample(seed=5))
        return await measure(driver, scan)

    wire, process = course(work), asyncio.run(in_process())
    assert np.array_equal(wire.two_theta_deg, process.two_theta_deg)
    assert np.array_equal(wire.counts, process.counts)
    for name in ("counting_time_s", "radiation", "goniometer_radius_m", "intensity_unit", "flags"):
        assert getattr(wire, name) == getattr(process, name), name
    assert wire.sample_id == "sample-1"
    assert wire.lab_time_s == 42.0
    assert wire.measured_at is None
    assert wire.instrument is not None
    assert wire.instrument.driver == "aeris"
    assert wire.instrument.station == "aeris"
    assert wire.instrument.simulated
    assert wire.provenance["application"] == application_name(scan)


def test_it_scans_while_the_wall_clock_runs() -> None:
    async def whole() -> None:
        clock = WallClock(speed=2000.0)
        twin = AerisTwin(clock=clock)

        async def pace(lab_s: float) -> None:
            await asyncio.sleep(lab_s / 2000.0)

        driver = Aeris(await twin.start() + "&export_timeout_s=600", pace=pace)
        try:
            await driver.connect()
            twin.load(StillSample())
            assert (await measure(driver)).counts.size == 600
            assert clock.now_s > 300.0
        finally:
            await driver.close()
            await twin.close()

    asyncio.run(whole())


def test_counts_need_not_be_whole(tmp_path: Path) -> None:
    class Corrected(StillSample):
        def diffraction(self, scan: Measure) -> Any:
            angles, counts = super().diffraction(scan)
            return angles, counts / 3.0

    async def work(driver: Aeris, twin: AerisTwin) -> None:
        twin.load(Corrected(seed=1))
        found = await measure(driver)
        _, counts = Corrected(seed=1).diffraction(SCAN)
        assert np.array_equal(found.counts, counts)

    course(work, tmp_path)


def test_a_scan_takes_its_time_and_the_sample_is_forgotten_after_it(tmp_path: Path) -> None:
    async def work(driver: Aeris, twin: AerisTwin) -> None:
        sample = StillSample()
        twin.load(sample)
        assert (await driver.readings()) == {
            "control": "remote",
            "state": "ready",
            "location 0,2": "occupied",
        }
        await measure(driver)
        assert 310.0 < twin.clock.now_s < 340.0
        assert sample.done == ["measure"]
        assert twin.done == 1
        assert twin.safe
        assert twin._known is None
        assert os.listdir(tmp_path) == ["sample-1.xrdml"]  # noqa: PTH208 - few and quick
        again = await measure(driver)  # the same sample, into the same file
        assert again.counts.sum() > 0.0
        twin.unload()
        twin.load(StillSample("b"))
        assert (await measure(driver, sample_id="b")).sample_id == "b"

    course(work, tmp_path)


def test_the_device_says_when_it_measured() -> None:
    async def work(driver: Aeris, twin: AerisTwin) -> None:
        twin.load(StillSample())
        driver._stamps = True
        before = datetime.now(UTC)
        found = await measure(driver)
        assert found.measured_at is not None
        assert before <= found.measured_at <= datetime.now(UTC)

    assert load_twin("aeris") is AerisTwin
    course(work)


def test_a_folder_of_the_twins_own_goes_with_it() -> None:
    async def work(_: Aeris, twin: AerisTwin) -> str:
        assert os.path.isdir(twin.options["folder"])  # noqa: PTH112, ASYNC240 - it is text
        return twin.options["folder"]

    assert not os.path.exists(course(work))  # noqa: PTH110 - it is text


def test_a_named_programme_is_held_against_what_was_asked_for(tmp_path: Path) -> None:
    async def work(driver: Aeris, twin: AerisTwin) -> None:
        twin.programmes["10-40 fast"] = SCAN
        twin.load(StillSample())
        assert (await measure(driver)).provenance["application"] == "10-40 fast"
        other = SCAN.model_copy(update={"two_theta_max_deg": 60.0})
        with pytest.raises(
            InstrumentError, match=r"600 points from 10 to 39.95 degrees where 1001"
        ):
            await measure(driver, other)
        await driver.abort()
        finer = SCAN.model_copy(update={"step_deg": 0.02})
        with pytest.raises(InstrumentError, match="write the programme on the device anew"):
            await measure(driver, finer)

    course(work, tmp_path, options="application=10-40 fast")


def test_names_of_programmes_tell_all_of_a_scan() -> None:
    assert application_name(SCAN) == "labenv_10-40_0.05_300s"
    odd = Measure(two_theta_min_deg=10.1, two_theta_max_deg=70.3, step_deg=1 / 30, scan_time_s=1e3)
    assert AerisTwin()._programme(application_name(odd)) == odd
    assert AerisTwin()._programme("labenv_10-10.1_0.05_300s") is None
    assert AerisTwin()._programme("labenv_1.1.1-40_0.05_300s") is None
    assert AerisTwin()._programme("other") is None


# ---------------------------------------------------------------------------- refusals


def test_it_wants_a_folder_and_numbers() -> None:
    with pytest.raises(ConfigError, match="names no folder"):
        Aeris("aeris+tcp://127.0.0.1")
    for option in ("location=x", "export_timeout_s=-1", "scan_timeout_s=x", "application=a@END"):
        with pytest.raises(ConfigError, match="is no n"):
            Aeris(f"aeris+tcp://127.0.0.1?folder=.&{option}")
    assert Aeris("aeris+tcp://127.0.0.1?folder=.").port == 702


def test_a_folder_that_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(InstrumentError, match="is it mounted"):
        course(lambda *_: asyncio.sleep(0), tmp_path / "lost")


def test_scans_beyond_the_goniometer_are_refused(tmp_path: Path) -> None:
    async def work(driver: Aeris, twin: AerisTwin) -> None:
        twin.load(StillSample())
        with pytest.raises(ProposalError, match="goniometer"):
            await driver.prepare(InstrumentRequest(Measure(two_theta_max_deg=149.0), "sample-1"))
        with pytest.raises(InstrumentError, match="cannot be told of sample"):
            await driver.prepare(InstrumentRequest(SCAN, "a@b"))
        twin.local = True
        with pytest.raises(InstrumentError, match="local control; set it to remote"):
            await driver.prepare(InstrumentRequest(SCAN, "sample-1"))
        assert driver.state is InstrumentState.IDLE

    course(work, tmp_path)


@pytest.mark.parametrize(
    "reply",
    [
        "@STATUS@UNIT=xrd@READY=maybe@END", "@SAMPLE@READY=yes@END", "@STATUS@END", "READY=yes@END",
        "@STATUS@READY=\x07@END", "@SAMPLE@STATUS=fatal@MESSAGE=no@END",
    ],
)  # fmt: skip
def test_what_is_no_answer_is_an_error(tmp_path: Path, reply: str) -> None:
    async def work(driver: Aeris, twin: AerisTwin) -> None:
        async def answer(_: bytes) -> bytes:
            return reply.encode()

        twin.answer = answer  # type: ignore[method-assign]
        with pytest.raises(InstrumentError, match=r"no answer to it|refused"):
            await driver._client.is_ready()

    course(work, tmp_path)


@pytest.mark.parametrize(
    "reply",
    [
        "@STATUS@READY=yes@END",
        "@SAMPLE@ADD@SAMPLE_ID=sample-1@STATUS=normal@END",
        "@SAMPLE@MEASURE@SAMPLE_ID=sample-2@STATUS=normal@END",
    ],
)
def test_an_answer_about_something_else_is_an_error(tmp_path: Path, reply: str) -> None:
    async def work(driver: Aeris, twin: AerisTwin) -> None:
        async def answer(_: bytes) -> bytes:
            return reply.encode()

        twin.answer = answer  # type: ignore[method-assign]
        with pytest.raises(InstrumentError, match="no answer to it"):
            await driver._client.measure("sample-1", "p")

    course(work, tmp_path)


# ---------------------------------------------------------------------------- the twin's own words


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("@STATUS_REQUEST@LOCATION=0,3@END", "@STATUS@LOCATION=0,3@STATE=free@END"),
        ("@STATUS_REQUEST@LOCATION=0,2@END", "@STATUS@LOCATION=0,2@STATE=occupied@END"),
        ("@STATUS_REQUEST@UNIT=xrd@END", "@STATUS@UNIT=xrd@READY=yes@END"),
        ("@SAMPLE@ADD@APPLICATION=x@SAMPLE_ID=a@AT=0,2@END", "unknown application"),
        ("@SAMPLE@ADD@APPLICATION=p@SAMPLE_ID=a@AT=0,3@END", "is free"),
        ("@SAMPLE@ADD@APPLICATION=p@SAMPLE_ID=@AT=0,2@END", "no sample id"),
        ("@SAMPLE@MEASURE@SAMPLE_ID=a@APPLICATION=p@END", "unknown sample"),
        ("@SAMPLE@REMOVE@SAMPLE_ID@AT=0,2@END", "unknown sample"),
        ("@SAMPLE@DANCE@END", "unknown message"),
        ("@SAMPLE@END", "unknown message"),
        ("nonsense@END", "unknown message"),
    ],
)
def test_the_twin_answers_everything(message: str, says: str) -> None:
    twin = AerisTwin(clock=VirtualClock())
    twin.programmes["p"] = SCAN
    twin.load(StillSample())
    assert says in asyncio.run(twin.answer(message.encode())).decode()


def test_orders_are_refused_in_local_control_and_twice() -> None:
    twin = AerisTwin(clock=VirtualClock())
    twin.programmes["p"] = SCAN
    twin.load(StillSample("a"))

    def ask(message: str) -> str:
        return asyncio.run(twin.answer(message.encode())).decode()

    add = "@SAMPLE@ADD@APPLICATION=p@SAMPLE_ID=a@AT=0,2@END"
    twin.local = True
    assert "local control" in ask(add)
    twin.local = False
    assert "normal" in ask(add)
    assert "is registered there" in ask(add)
    assert "unknown application" in ask("@SAMPLE@MEASURE@SAMPLE_ID=a@APPLICATION=q@END")
    assert "normal" in ask("@SAMPLE@MEASURE@SAMPLE_ID=a@APPLICATION=p@END")
    assert "busy" in ask("@SAMPLE@MEASURE@SAMPLE_ID=a@APPLICATION=p@END")
    assert twin.state()["measuring"] == "a"
    assert twin.state()["location"] == "free"  # the arm has it
    assert "normal" in ask("@SAMPLE@REMOVE@SAMPLE_ID@AT=0,2@END")
    assert twin.safe


# ---------------------------------------------------------------------------- the file


def test_an_old_file_of_the_same_sample_is_not_taken(tmp_path: Path) -> None:
    old = datetime.now(UTC) - timedelta(days=1)
    seen = StillSample().diffraction(SCAN)
    (tmp_path / "sample-1.xrdml").write_bytes(written("sample-1", SCAN, seen, old))

    async def work(driver: Aeris, twin: AerisTwin) -> None:
        twin.load(StillSample())
        twin.faults.add(Fault(FaultKind.NOT_EXPORTED, 0, FOR_EVER))
        with pytest.raises(InstrumentError, match="the file that was there before"):
            await measure(driver)

    course(work, tmp_path)


def test_an_old_file_that_was_touched_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "sample-1.xrdml"
    seen = StillSample().diffraction(SCAN)
    path.write_bytes(written("sample-1", SCAN, seen, datetime.now(UTC)))

    async def work(driver: Aeris, twin: AerisTwin) -> None:
        twin.load(StillSample())
        twin._export = lambda _: os.utime(path)  # type: ignore[method-assign]
        with pytest.raises(InstrumentError, match="holds what it held before"):
            await measure(driver)

    course(work, tmp_path)


def test_a_file_of_another_sample_is_not_taken(tmp_path: Path) -> None:
    async def work(driver: Aeris, twin: AerisTwin) -> None:
        twin.load(StillSample())
        twin.file_sample_id = "sample-7"
        with pytest.raises(InstrumentError, match="of sample 'sample-7', not of 'sample-1'"):
            await measure(driver)

    course(work, tmp_path)


def test_a_file_that_goes_on_growing_is_not_taken(tmp_path: Path) -> None:
    async def work(driver: Aeris, twin: AerisTwin) -> None:
        twin.load(StillSample())
        wait = driver._pace

        async def growing(lab_s: float) -> None:
            await wait(lab_s)
            path = tmp_path / "sample-1.xrdml"
            if path.exists():
                path.write_bytes(path.read_bytes() + b" ")

        driver._pace = growing
        with pytest.raises(InstrumentError, match="is still being written"):
            await measure(driver)

    course(work, tmp_path)


def test_a_file_that_comes_late_is_waited_for(tmp_path: Path) -> None:
    async def work(driver: Aeris, twin: AerisTwin) -> None:
        twin.load(StillSample())
        export, late = twin._export, []

        def later(job: Any) -> None:
            late.append(job)

        twin._export = later  # type: ignore[method-assign]
        wait = driver._pace

        async def pace(lab_s: float) -> None:
            await wait(lab_s)
            if late and twin.clock.now_s > late[0].ends_s + 6.0:
                export(late.pop())

        driver._pace = pace
        assert (await measure(driver)).counts.size == 600

    course(work, tmp_path)


def test_the_last_scan_again_is_not_taken(tmp_path: Path) -> None:
    async def work(driver: Aeris, twin: AerisTwin) -> None:
        twin.load(StillSample())
        await measure(driver)
        (tmp_path / "sample-1.xrdml").unlink()  # somebody tidies up
        await driver.prepare(InstrumentRequest(SCAN, "sample-1"))
        twin.faults.add(Fault(FaultKind.STALE_READING, 0, FOR_EVER))
        with pytest.raises(InstrumentError, match="is an old scan: it began at"):
            await driver.run()

    course(work, tmp_path)


# ---------------------------------------------------------------------------- faults


DEVICE_FAULTS = {
    FaultKind.BUSY: "has not become ready within 120 s",
    FaultKind.DOOR_OPEN: "the door is open",
    FaultKind.LOST_SAMPLE: "location 0,2 is free, so sample sample-1 is not there",
    FaultKind.NOT_EXPORTED: "has not been written",
    FaultKind.HALF_WRITTEN: "the file is not whole",
    FaultKind.STALE_READING: "is an old scan: it began at",
}


def test_every_known_fault_is_tried() -> None:
    assert set(DEVICE_FAULTS) == AerisTwin.known_faults


@pytest.mark.parametrize("kind", sorted(DEVICE_FAULTS))
def test_a_lasting_fault_is_an_error_that_says_so(tmp_path: Path, kind: FaultKind) -> None:
    async def work(driver: Aeris, twin: AerisTwin) -> None:
        twin.load(StillSample())
        await driver.prepare(InstrumentRequest(SCAN, "sample-1"))
        twin.faults.add(Fault(kind, 0, FOR_EVER))
        with pytest.raises(InstrumentError, match=DEVICE_FAULTS[kind]):
            await driver.run()
        twin.faults.clear()
        await driver.abort()
        assert twin.safe
        assert twin._known is None
        assert driver.state is InstrumentState.IDLE
        assert (await measure(driver)).counts.size == 600  # and all is well again

    course(work, tmp_path)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("door_open", "there is no file of this scan"),
        ("lost_sample", "did not come back from the goniometer"),
    ],
)
def test_what_happens_in_the_middle_of_a_scan_is_noticed(
    tmp_path: Path, kind: str, says: str
) -> None:
    async def work(driver: Aeris, twin: AerisTwin) -> None:
        twin.load(StillSample())
        await driver.prepare(InstrumentRequest(SCAN, "sample-1"))
        twin.faults.add(Fault(FaultKind(kind), 30, 1))
        with pytest.raises(InstrumentError, match=says):
            await driver.run()
        assert twin.safe
        assert twin.done == 0

    course(work, tmp_path)


@pytest.mark.parametrize("at", [0, 2, 3, 20, 132])
@pytest.mark.parametrize("kind", sorted(WIRE_FAULTS | AerisTwin.known_faults))
def test_a_passing_fault_is_got_over_or_told(tmp_path: Path, kind: FaultKind, at: int) -> None:
    async def work(driver: Aeris, twin: AerisTwin) -> None:
        twin.load(StillSample(seed=3))
        await driver.prepare(InstrumentRequest(SCAN, "sample-1"))
        twin.faults.add(Fault(kind, at, 1, delay_s=0.3))
        try:
            await driver.run()
        except InstrumentError:
            assert kind not in HARMLESS
            assert driver.state is InstrumentState.FAULT
            await driver.abort()
        else:
            (found,) = await driver.result()
            _, counts = StillSample(seed=3).diffraction(SCAN)
            assert np.array_equal(found.counts, counts)  # type: ignore[attr-defined]
            assert found.sample_id == "sample-1"
        assert twin.safe
        assert twin._known is None
        assert driver.state is InstrumentState.IDLE

    course(work, tmp_path, timeout_s=0.1)


@pytest.mark.parametrize("kind", ["dropped", "silent", "garbled"])
def test_a_lost_answer_to_a_question_ends_no_scan(tmp_path: Path, kind: str) -> None:
    async def work(driver: Aeris, twin: AerisTwin) -> None:
        twin.load(StillSample())
        await driver.prepare(InstrumentRequest(SCAN, "sample-1"))
        for at in (0, 20, 40, 60):
            twin.faults.add(Fault(FaultKind(kind), at))
        await driver.run()
        assert len(twin.faults.fired) == 4
        assert twin.done == 1

    course(work, tmp_path, timeout_s=0.05)


def test_cancelled_in_the_middle_the_shutter_closes(tmp_path: Path) -> None:
    async def work(driver: Aeris, twin: AerisTwin) -> None:
        twin.load(StillSample())
        await driver.prepare(InstrumentRequest(SCAN, "sample-1"))
        task = asyncio.create_task(driver.run())
        while twin.safe or twin.clock.now_s < 100.0:  # noqa: ASYNC110 - it rings no bell
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert twin.safe
        assert twin.done == 0
        assert driver.state is InstrumentState.IDLE
        assert (await measure(driver)).counts.size == 600

    course(work, tmp_path)


def test_a_scan_that_does_not_end_is_given_up(tmp_path: Path) -> None:
    async def work(driver: Aeris, twin: AerisTwin) -> None:
        twin.load(StillSample())
        with pytest.raises(InstrumentError, match="has not ended its scan within 200 s"):
            await measure(driver)
        assert twin.safe

    course(work, tmp_path, options="scan_timeout_s=200")


def test_a_detector_that_shows_no_number_is_no_measurement(tmp_path: Path) -> None:
    async def work(driver: Aeris, twin: AerisTwin) -> None:
        twin.load(StillSample(broken=True))
        with pytest.raises(InstrumentError, match="no file of this scan"):
            await measure(driver)

    course(work, tmp_path)
