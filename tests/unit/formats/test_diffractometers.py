"""RAS, RASX, BRML, Bruker RAW and UXD: files made to their layouts, damage, real files, noise."""

from __future__ import annotations

import struct
import zipfile
from contextlib import suppress
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labenv_instruments.formats import format_ids, read_measurement, read_measurements
from labenv_schemas.errors import MeasurementFileError
from labenv_schemas.measurement import Diffractogram, Spectrum

if TYPE_CHECKING:
    from pathlib import Path

COUNTS = (5.0, 7.0, 11.0, 900.0, 12.0)


def packed(size: int, fields: dict[int, bytes]) -> bytes:
    block = bytearray(size)
    for at, content in fields.items():
        block[at : at + len(content)] = content
    return bytes(block)


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def raw_1(*ranges: tuple[float, float]) -> bytes:
    data = b"RAW "
    for number, (start, step) in enumerate(ranges, 1):
        fields = {
            0: struct.pack("<I", len(COUNTS)),
            4: floats(2.5, step),
            24: floats(start),
            36: b"quartz",
            68: floats(1.5406, 1.54439),
            148: struct.pack("<I", len(ranges) - number),
        }
        data += (b"RAW " if number > 1 else b"") + packed(152, fields) + floats(*COUNTS)
    return data


def raw_2(*ranges: tuple[float, float]) -> bytes:
    head = {
        0: b"RAW2" + struct.pack("<H", len(ranges)),
        168: b"04-Mar-2010 20:59:14",
        188: b"Cu" + floats(1.5406, 1.54439, 0.5),
    }
    data = packed(256, head)
    for start, step in ranges:
        block = {0: struct.pack("<HH", 60, len(COUNTS)), 8: floats(2.5, step, start)}
        block[46] = struct.pack("<H", 298)
        data += packed(60, block) + floats(*COUNTS)
    return data


def raw_3(*ranges: tuple[float, float], code: int = 0, measured: bool = False) -> bytes:
    head = {
        0: b"RAW1.01",
        8: struct.pack("<II", 1, len(ranges)),
        16: b"03/24/10",
        26: b"20:59:14",
        326: b"BT86",
        564: floats(200.5),
        608: b"Cu",
        616: struct.pack("<5d", 1.5418, 1.5406, 1.54439, 1.39222, 0.5),
    }
    data = packed(712, head)
    for start, step in ranges:
        fields = {
            0: struct.pack("<II", 304, len(COUNTS)),
            8: struct.pack("<dd", start / 2, start),
            176: struct.pack("<d", step),
            192: struct.pack("<fI", 2.5, code),
            224: struct.pack("<II", 45, 40),
            240: struct.pack("<dIII", 1.5406, int(measured), 12 if measured else 4, 40),
        }
        data += packed(304, fields) + bytes(40)
        for index, value in enumerate(COUNTS):
            data += floats(value) + (struct.pack("<d", start + index) if measured else b"")
    return data


def segment(kind: int, size: int, fields: dict[int, bytes]) -> bytes:
    return packed(size, {0: struct.pack("<II", kind, size), **fields})


def raw_4(*ranges: tuple[float, float], scan: bytes = b"Locked Coupled", size: int = 4) -> bytes:
    data = packed(61, {0: b"RAW4.00", 12: b"03/24/2010", 24: b"20:59:14"})
    data += segment(10, 44, {12: b"SAMPLEID", 36: b"BT86"})
    waves = struct.pack("<5d", 1.5418, 1.5406, 1.54439, 1.39222, 0.5)
    data += segment(30, 136, {72: waves, 116: b"Cu"})
    for start, step in ranges:
        drives = segment(50, 92, {8: b"\x02", 12: b"2Theta", 56: struct.pack("<d", start)})
        fields = {
            4: struct.pack("<I", len(COUNTS)),
            32: scan,
            72: struct.pack("<ddI", start, step, len(COUNTS)) + floats(2.5, 15.0, 45.0, 40.0),
            112: struct.pack("<d", 1.5406),
            136: struct.pack("<II", size, len(drives)),
        }
        data += packed(160, fields) + drives
        data += b"".join(floats(value) + b"\x01" * (size - 4) for value in COUNTS)
    return data


UXD = """; a comment
_FILEVERSION=2
_SAMPLE='BT86'
_DATEMEASURED='24-Mar-2010 20:59:14'
_WL1=1.540600
_WL2=1.544390
_WLRATIO=0.500000
_ANODE='Cu'
_GONIOMETER_RADIUS=200.5
"""
UXD_RANGE = "_DRIVE='{drive}'\n_STEPTIME=2.5\n_STEPSIZE={step}\n_START={start}\n"


def uxd(*ranges: tuple[float, float], drive: str = "COUPLED", listed: bool = True) -> bytes:
    text = UXD
    for start, step in ranges:
        text += UXD_RANGE.format(drive=drive, start=start, step=step)
        if listed:
            rows = (f"{start + i * step:.2f} {count:.0f}" for i, count in enumerate(COUNTS))
            text += "_2THETACOUNTS\n" + "\n".join(rows) + "\n"
        else:
            text += "_COUNTS\n" + "  ".join(f"{count:.0f}," for count in COUNTS[:3]) + "\n"
            text += "  ".join(f"{count:.0f}" for count in COUNTS[3:]) + "\n"
    return text.encode()


def ras_scan(start: float, step: float, **changed: str) -> str:
    header = {
        "FILE_SAMPLE": "酸化チタン",
        "FILE_SYSTEM_NAME": "SmartLab",
        "HW_XG_TARGET_NAME": "Cu",
        "HW_XG_WAVE_LENGTH_ALPHA1": "1.540593",
        "HW_XG_WAVE_LENGTH_ALPHA2": "1.544414",
        "MEAS_SCAN_AXIS_X": "2θ/θ",
        "MEAS_SCAN_AXIS_X_INTERNAL": "TwoThetaTheta",
        "MEAS_SCAN_START_TIME": "03/24/2010 20:59:14",
        "MEAS_SCAN_STEP": str(step),
        "MEAS_SCAN_SPEED": "0.48",
        "MEAS_SCAN_SPEED_UNIT": "deg/min",
        "MEAS_SCAN_UNIT_X": "deg",
        "MEAS_SCAN_UNIT_Y": "counts",
        "MEAS_DATA_COUNT": str(len(COUNTS)),
        **changed,
    }
    keys = "\n".join(f'*{key} "{value}"' for key, value in header.items())
    rows = "\n".join(f"{start + i * step:.4f} {c:.4f} 1.0000" for i, c in enumerate(COUNTS))
    return f"*RAS_HEADER_START\n{keys}\n*RAS_HEADER_END\n*RAS_INT_START\n{rows}\n*RAS_INT_END\n"


def ras(*ranges: tuple[float, float], encoding: str = "cp932", **changed: str) -> bytes:
    scans = "".join(ras_scan(start, step, **changed) for start, step in ranges)
    return f"*RAS_DATA_START\n{scans}*RAS_DATA_END\n".encode(encoding)


def zipped(members: dict[str, str | bytes]) -> bytes:
    target = BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return target.getvalue()


CONDITIONS = """<?xml version="1.0" encoding="utf-8"?><MeasurementConditions>
<GeneralInformation><SampleName>BT86</SampleName><SystemName>SmartLab</SystemName>
</GeneralInformation><HWConfigurations><XrayGenerator><TargetName>Cu</TargetName>
<WavelengthKalpha1>1.540593</WavelengthKalpha1><WavelengthKalpha2>1.544414</WavelengthKalpha2>
</XrayGenerator></HWConfigurations><ScanInformation><AxisName>{axis}</AxisName>
<Step>{step}</Step><Speed>0.48</Speed><SpeedUnit>deg/min</SpeedUnit>
<PositionUnit>deg</PositionUnit><IntensityUnit>counts</IntensityUnit>
<StartTime>2010-03-24T20:59:14Z</StartTime><DataCount>{count}</DataCount></ScanInformation>
</MeasurementConditions>"""


def rasx(
    *ranges: tuple[float, float], count: int = len(COUNTS), axis: str = "TwoThetaTheta"
) -> bytes:
    members: dict[str, str | bytes] = {"root.xml": "<Root/>"}
    for number, (start, step) in enumerate(ranges):
        rows = "\n".join(f"{start + i * step:.4f}\t{c:.4f}\t1" for i, c in enumerate(COUNTS))
        members[f"Data{number}/Profile{number}.txt"] = "\ufeff" + rows
        members[f"Data{number}/MesurementConditions{number}.xml"] = CONDITIONS.format(
            step=step, count=count, axis=axis
        )
    return zipped(members)


RAW_DATA = """<?xml version="1.0"?><RawData><MeasurementStatus>{status}</MeasurementStatus>
<TimeStampStarted>2010-03-24T20:59:14.1234567+01:00</TimeStampStarted><DataRoutes>
<DataRoute RouteFlag="Measured"><ScanInformation VisibleName="Coupled TwoTheta/Theta">
<MeasurementPoints>{planned}</MeasurementPoints><TimePerStep>0.5</TimePerStep>
<TimePerStepEffective>2.5</TimePerStepEffective><ScanAxes><ScanAxisInfo AxisId="{axis}">
<Start>{start}</Start><Increment>{step}</Increment></ScanAxisInfo></ScanAxes></ScanInformation>
<SubScans><SubScanInfo MeasuredSteps="{measured}"/></SubScans>{rows}<DataViews>
<RawDataView Start="0" Length="1" LogicName="MeasuredTime"/>
<RawDataView Start="1" Length="1" LogicName="AbsorptionFactor"/>
<RawDataView Start="2" Length="1"><Varying><FieldDefinitions AxisId="{axis}"/></Varying>
</RawDataView><RawDataView Start="3" Length="1"><Recording><Unit Base="Counts"/></Recording>
</RawDataView></DataViews></DataRoute></DataRoutes><FixedInformation><Instrument>
<WaveLengthAlpha1 Value="1.5406"/><WaveLengthAlpha2 Value="1.54439"/>
<WaveLengthRatio Value="0.5"/><TubeMaterial>Cu</TubeMaterial></Instrument></FixedInformation>
</RawData>"""
ABOUT = """<DataContainer><ExperimentInfo><InstrumentDescription><DeviceTypeDesc>D2</DeviceTypeDesc>
</InstrumentDescription></ExperimentInfo><MeasurementInfo SampleName="BT86"/></DataContainer>"""


def brml(
    *ranges: tuple[float, float],
    status: str = "Measured",
    planned: int = len(COUNTS),
    measured: int = len(COUNTS),
    axis: str = "TwoTheta",
) -> bytes:
    members: dict[str, str | bytes] = {"Experiment0/DataContainer.xml": ABOUT}
    for number, (start, step) in enumerate(ranges):
        rows = "".join(
            f"<Datum>2.5,1,{start + i * step:.6f},{c:.0f}</Datum>" for i, c in enumerate(COUNTS)
        )
        members[f"Experiment0/RawData{number}.xml"] = RAW_DATA.format(
            start=start, step=step, rows=rows, status=status, planned=planned, measured=measured,
            axis=axis,
        )  # fmt: skip
    return zipped(members)


MAKERS = {
    "raw 1": raw_1, "raw 2": raw_2, "raw 3": raw_3, "raw 4": raw_4,
    "uxd": uxd, "ras": ras, "rasx": rasx, "brml": brml,
}  # fmt: skip
MADE = {name: make((20.0, 0.02), (30.0, 0.02)) for name, make in MAKERS.items()}


def write(folder: Path, data: bytes) -> Path:
    path = folder / "scan.bin"
    path.write_bytes(data)
    return path


def only(folder: Path, data: bytes) -> Diffractogram:
    found = read_measurements(write(folder, data))
    assert len(found) == 1
    assert isinstance(found[0], Diffractogram)
    return found[0]


def codes(measurement: Diffractogram | Spectrum) -> set[str]:
    return {flag.code for flag in measurement.flags}


@pytest.mark.parametrize("name", MAKERS)
def test_every_format_tells_the_same_scan(tmp_path: Path, name: str) -> None:
    scan = only(tmp_path, MAKERS[name]((20.0, 0.02)))
    np.testing.assert_allclose(scan.two_theta_deg, 20.0 + 0.02 * np.arange(5), atol=1e-6)
    assert scan.counts.tolist() == list(COUNTS)
    assert scan.intensity_unit == "counts"
    assert scan.counting_time_s == pytest.approx(2.5)
    assert scan.radiation.k_alpha1_a == pytest.approx(1.5406, abs=2e-5)
    assert scan.radiation.k_alpha2_a == pytest.approx(1.54439, abs=5e-5)
    assert codes(scan) == set()


@pytest.mark.parametrize("name", MAKERS)
def test_several_ranges_are_all_read_and_never_joined(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, MADE[name])
    found = read_measurements(path)
    assert [one.two_theta_deg[0] for one in found if isinstance(one, Diffractogram)] == [20, 30]
    first = read_measurement(path)
    assert isinstance(first, Diffractogram)
    assert first.two_theta_deg[-1] == pytest.approx(20.08)
    said = {flag.code: flag.message for flag in first.flags}["several_scans"]
    assert "2 measurements" in said
    assert "read_measurements" in said


@pytest.mark.parametrize(
    ("name", "text", "zoned"),
    [
        ("raw 1", None, False),
        ("raw 2", "2010-03-04T20:59:14", False),
        ("raw 3", "2010-03-24T20:59:14", False),
        ("raw 4", "2010-03-24T20:59:14", False),
        ("uxd", "2010-03-24T20:59:14", False),
        ("ras", "2010-03-24T20:59:14", False),
        ("rasx", "2010-03-24T20:59:14+00:00", True),
        ("brml", "2010-03-24T20:59:14.123456+01:00", True),
    ],
)
def test_no_zone_is_invented(tmp_path: Path, name: str, text: str | None, zoned: bool) -> None:
    scan = only(tmp_path, MAKERS[name]((20.0, 0.02)))
    facts = scan.provenance
    assert facts.get("started" if zoned else "started_local") == text
    assert (scan.measured_at is not None) == zoned


@pytest.mark.parametrize("name", sorted(set(MADE) - {"uxd"}))  # UXD tells no number of points
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 0.95])
def test_a_file_that_is_cut_off_is_refused(tmp_path: Path, name: str, share: float) -> None:
    data = MADE[name][: int(len(MADE[name]) * share)]
    with pytest.raises(MeasurementFileError, match=r"scan\.bin"):
        read_measurements(write(tmp_path, data))


def test_an_end_that_is_missing_behind_whole_scans_is_told(tmp_path: Path) -> None:
    data = ras((20.0, 0.02)).replace(b"*RAS_DATA_END", b"")
    assert codes(only(tmp_path, data)) == {"end_missing"}


def test_a_uxd_range_without_its_counts_is_told(tmp_path: Path) -> None:
    data = uxd((20.0, 0.02)) + UXD_RANGE.format(drive="COUPLED", start=30, step=0.02).encode()
    with pytest.raises(MeasurementFileError, match="a range begins behind the last block"):
        read_measurements(write(tmp_path, data))


def test_a_cut_zip_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(MeasurementFileError, match="zip container that is cut off"):
        read_measurement(write(tmp_path, MADE["rasx"][:-40]))


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    bomb = zipped({"Data0/Profile0.txt": b"10 1 1\n" * 20_000_000})
    assert len(bomb) < 1_000_000
    with pytest.raises(MeasurementFileError, match="unpacks to more than 100 MB"):
        read_measurement(write(tmp_path, bomb))


def test_entities_in_a_container_are_refused(tmp_path: Path) -> None:
    hostile = '<!DOCTYPE x [<!ENTITY a "b">]><RawData>&a;</RawData>'
    with pytest.raises(MeasurementFileError, match="entities"):
        read_measurement(write(tmp_path, zipped({"Experiment0/RawData0.xml": hostile})))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (rasx((20.0, 0.02), count=9), "5 points, but its conditions declare 9"),
        (ras((20.0, 0.02), MEAS_DATA_COUNT="9"), "declares 9 points but holds 5"),
        (ras((20.0, 0.02)).replace(b"20.0200 7.0", b"20.0200 x"), "no row of numbers"),
        (brml((20.0, 0.02), measured=9), "5 points, but declares 9"),
        (uxd((20.0, 0.02), listed=False).replace(b"_STEPSIZE", b"_OTHER"), "no 2θ axis"),
        (uxd((20.0, 0.02)).replace(b"20.02 7", b"20.02 nan"), "no row of numbers"),
        (UXD.encode(), "it has no scan"),
        (zipped({"experimentCollection.xml": "<a/>"}), "no RawData"),
        (zipped({"something.txt": "a"}), "neither BRML nor RASX"),
        (raw_3((20.0, 0.0)), "which is no scan"),
        (raw_3((20.0, 0.02)) + b"\x01" * 64, "more than padding"),
        (raw_4((20.0, 0.02), size=2), "records of 2 bytes"),
        (raw_4(), "no range"),
    ],
)
def test_damage_is_named_with_the_remedy(tmp_path: Path, data: bytes, why: str) -> None:
    with pytest.raises(MeasurementFileError, match=why) as caught:
        read_measurement(write(tmp_path, data))
    assert "scan.bin" in str(caught.value)


def test_an_unfinished_scan_is_flagged(tmp_path: Path) -> None:
    scan = only(tmp_path, brml((20.0, 0.02), status="Aborted", planned=500))
    assert codes(scan) == {"scan_incomplete"}


@pytest.mark.parametrize("encoding", ["cp932", "utf-8", "utf-8-sig", "utf-16"])
def test_ras_names_are_read_in_japanese(tmp_path: Path, encoding: str) -> None:
    assert only(tmp_path, ras((20.0, 0.02), encoding=encoding)).sample_id == "酸化チタン"


def test_other_axes_become_spectra(tmp_path: Path) -> None:
    for data, axis in (
        (ras((20.0, 0.02), MEAS_SCAN_AXIS_X_INTERNAL="Omega"), "Omega"),
        (rasx((20.0, 0.02), axis="Phi"), "Phi"),
        (uxd((20.0, 0.02), drive="THETA"), "Theta"),
        (raw_4((20.0, 0.02), scan=b"Rocking Curve"), "Theta"),
        (brml((20.0, 0.02), axis="Chi"), "Chi"),
    ):
        found = read_measurement(write(tmp_path, data))
        assert isinstance(found, Spectrum)
        assert found.provenance["axis"] == axis
        assert found.axis_unit == "deg"
        assert found.provenance["counting_time_s"] == "2.5"


def test_raw_records_of_any_width_and_measured_angles_are_read(tmp_path: Path) -> None:
    assert only(tmp_path, raw_4((20.0, 0.02), size=8)).counts.tolist() == list(COUNTS)
    scan = only(tmp_path, raw_3((20.0, 0.02), measured=True))
    assert scan.two_theta_deg.tolist() == [20, 21, 22, 23, 24]


def test_uxd_counts_without_angles_and_rates(tmp_path: Path) -> None:
    scan = only(tmp_path, uxd((20.0, 0.015592), listed=False))
    assert scan.two_theta_deg[-1] == pytest.approx(20.0 + 4 * 0.015592)
    rate = uxd((20.0, 0.02)).replace(b"_2THETACOUNTS", b"_2THETACPS")
    assert only(tmp_path, rate).intensity_unit == "counts_per_second"


def test_an_attenuator_that_is_not_one_is_told(tmp_path: Path) -> None:
    data = ras((20.0, 0.02)).replace(b"900.0000 1.0000", b"900.0000 10.000")
    assert codes(only(tmp_path, data)) == {"attenuator_not_applied"}


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.differing_executors])
@given(st.sampled_from(sorted(MADE)), st.data())
def test_no_damage_raises_anything_else(name: str, data: st.DataObject) -> None:
    from labenv_instruments.formats import reading

    content = bytearray(MADE[name])
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(content[: data.draw(st.integers(1, len(content)))])
    read_or_refuse(reading, cut)


@settings(max_examples=120, deadline=None)
@given(
    st.sampled_from(
        [b"", b"RAW ", b"RAW2", b"RAW1.01", b"RAW4.00\x00", b"PK\x03\x04", b"*RAS_INT_START\n",
         b"_FILEVERSION=1\n_DRIVE=1\n_COUNTS\n", b"data_a\nloop_\n_pd_meas_counts_total\n",
         b"<xrdMeasurements>", b"[Header]\n[Data]\n"]
    ),
    st.binary(max_size=400),
)  # fmt: skip
def test_noise_behind_any_mark_raises_nothing_else(mark: bytes, noise: bytes) -> None:
    from labenv_instruments.formats import reading

    read_or_refuse(reading, mark + noise)


def read_or_refuse(reading: object, content: bytes) -> None:
    from importlib import import_module

    for name in format_ids():
        reader = import_module(f"labenv_instruments.formats.{name}")
        if reader.matches(content):
            recognised = reading.Recognised(name, reader, content, "x")  # type: ignore[attr-defined]
            with suppress(MeasurementFileError):
                assert reading.read_all(recognised)  # type: ignore[attr-defined]
            return


REAL = {
    "bruker_raw1_TiO2.raw": (1647, 10.0, 70.041142, 77.9, 1.5406, "2018-07-11T15:55:31"),
    "bruker.uxd": (2374, 3.0, 39.999816, 0.5, 1.5406, "2010-03-04T20:59:14"),
    "bruker_TiOF.brml": (2469, 9.998839261, 60.012776015, 124.8, 1.5406, "2025-02-26T10:47:52"),
    "powder_scan.rasx": (2726, 10.0, 119.0, 2.4, 1.540593, "2021-05-05T10:35:31+00:00"),
}


@pytest.mark.real_data
@pytest.mark.parametrize("name", REAL)
def test_real_files(cases_dir: Path, name: str) -> None:
    scan = read_measurement(cases_dir / "xrd-formats" / name)
    assert isinstance(scan, Diffractogram)
    points, first, last, seconds, wavelength, moment = REAL[name]
    assert scan.counts.size == points
    assert scan.two_theta_deg[[0, -1]] == pytest.approx([first, last], abs=1e-7)
    assert scan.counting_time_s == seconds
    assert scan.radiation.k_alpha1_a == wavelength
    facts = scan.provenance
    assert (facts.get("started") or facts["started_local"]).startswith(moment)
