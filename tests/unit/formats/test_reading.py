"""Measurement files: detection by content, encodings, decimal signs, damage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from labenv_instruments.formats import format_ids, read_measurement, read_measurements
from labenv_schemas.decoding import decode
from labenv_schemas.errors import MeasurementFileError
from labenv_schemas.measurement import Diffractogram

if TYPE_CHECKING:
    from pathlib import Path

XRDML = """<?xml version="1.0" encoding="{encoding}"?>
<xrdMeasurements xmlns="http://www.xrdml.com/XRDMeasurement/{version}" status="Completed">
  <sample type="To be analyzed"><id>Sm\u00f8r 12 \u00b5m</id></sample>
  <xrdMeasurement measurementType="Scan" status="Completed">
    <usedWavelength intended="K-Alpha"><kAlpha1 unit="Angstrom">1.5405980</kAlpha1>
      <kAlpha2 unit="Angstrom">1.5444260</kAlpha2>
      <ratioKAlpha2KAlpha1>0.5</ratioKAlpha2KAlpha1></usedWavelength>
    <incidentBeamPath><radius unit="mm">145.00</radius>
      <xRayTube><anodeMaterial>Cu</anodeMaterial></xRayTube>
      <divergenceSlit><distanceToSample unit="mm">50.00</distanceToSample>
        <height unit="mm">1.52</height></divergenceSlit></incidentBeamPath>
    <diffractedBeamPath><radius unit="mm">145.00</radius></diffractedBeamPath>
    <scan scanAxis="Gonio" status="Completed">
      <header><startTimeStamp>2024-11-14T12:53:32-08:00</startTimeStamp>
        <source><instrumentControlSoftware version="3.2">AERIS</instrumentControlSoftware>
        <instrumentID>950485</instrumentID></source></header>
      <dataPoints>
        <positions axis="2Theta" unit="deg"><startPosition>10.0</startPosition>
          <endPosition>10.4</endPosition></positions>
        <commonCountingTime unit="seconds">12.5</commonCountingTime>
        {extra}<{tag} unit="counts">{values}</{tag}>
      </dataPoints>
    </scan>
  </xrdMeasurement>
</xrdMeasurements>
"""


def xrdml(**changes: str) -> str:
    fields = {"encoding": "UTF-8", "version": "2.3", "tag": "counts", "values": "1 2 3 4 5"}
    return XRDML.format(**{**fields, "extra": "", **changes})


def write(folder: Path, data: str | bytes, name: str = "scan.dat") -> Path:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def scan_of(path: Path) -> Diffractogram:
    measurement = read_measurement(path)
    assert isinstance(measurement, Diffractogram)
    return measurement


def test_a_new_format_module_is_found_by_itself() -> None:
    assert {"xrdml", "text_columns"} <= set(format_ids())
    assert format_ids()[-1] == "text_columns"


@pytest.mark.parametrize(
    ("version", "tag"), [("1.5", "intensities"), ("2.0", "counts"), ("2.3", "counts")]
)
def test_xrdml_names_its_counts_either_way(tmp_path: Path, version: str, tag: str) -> None:
    scan = scan_of(write(tmp_path, xrdml(version=version, tag=tag)))
    assert scan.counts.tolist() == [1, 2, 3, 4, 5]
    np.testing.assert_allclose(scan.two_theta_deg, [10.0, 10.1, 10.2, 10.3, 10.4])
    assert scan.counting_time_s == 12.5
    assert scan.radiation.k_alpha1_a == 1.540598
    assert scan.goniometer_radius_m == pytest.approx(0.145)
    assert scan.measured_at is not None
    assert scan.measured_at.isoformat() == "2024-11-14T20:53:32+00:00"
    assert scan.instrument is not None
    assert scan.instrument.serial == "950485"
    assert float(scan.provenance["beam_height_m"]) == pytest.approx(1.52e-3 * 145 / 50)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "iso-8859-15"])
def test_xrdml_in_any_encoding_gives_the_same_name(tmp_path: Path, encoding: str) -> None:
    declared = encoding.removesuffix("-sig").removesuffix("-le").upper()
    scan = scan_of(write(tmp_path, xrdml(encoding=declared).encode(encoding)))
    assert scan.sample_id == "Smør 12 µm"
    assert scan.provenance["encoding"].replace("-sig", "").startswith(encoding[:5])


def test_a_wrongly_declared_encoding_is_read_and_flagged(tmp_path: Path) -> None:
    scan = scan_of(write(tmp_path, xrdml().encode("iso-8859-15")))
    assert scan.sample_id == "Smør 12 µm"
    assert [flag.code for flag in scan.flags] == ["encoding"]


def test_listed_positions_and_attenuator_are_used(tmp_path: Path) -> None:
    text = xrdml(extra="<beamAttenuationFactors>1 1 10 1 1</beamAttenuationFactors>")
    text = text.replace(
        "<startPosition>10.0</startPosition>", "<listPositions>10 11 13 14 20</listPositions>"
    )
    scan = scan_of(write(tmp_path, text))
    assert scan.two_theta_deg.tolist() == [10, 11, 13, 14, 20]
    assert scan.counts.tolist() == [1, 2, 30, 4, 5]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": "1 2 x 4 5"}, "value 3 of <counts> is 'x'"),
        ({"values": "1 2 nan 4 5"}, "value 3 of <counts> is 'nan', not a number; write there"),
        ({"values": "1 2 3 -inf 5"}, "value 4 of <counts> is '-inf', not a number; write there"),
        ({"values": "1"}, "1 points"),
        ({"tag": "other"}, "neither counts nor intensities"),
    ],
)
def test_damaged_xrdml_is_refused_with_the_place(
    tmp_path: Path, change: dict[str, str], message: str
) -> None:
    with pytest.raises(MeasurementFileError, match=message):
        read_measurement(write(tmp_path, xrdml(**change)))


def test_cut_off_and_hostile_xml_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MeasurementFileError, match="damaged XML"):
        read_measurement(write(tmp_path, xrdml()[:-40]))
    bomb = xrdml().replace("<xrdMeasurements", '<!DOCTYPE x [<!ENTITY a "b">]><xrdMeasurements', 1)
    with pytest.raises(MeasurementFileError, match="entities"):
        read_measurement(write(tmp_path, bomb))


ROWS = [(10.0, 100.0), (10.5, 144.0), (11.0, 81.0), (11.5, 121.0)]


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{x:.2f} {y:.0f}\n" for x, y in ROWS),
        "".join(f"{x:.2f}\t{y:.1f}\r\n" for x, y in ROWS),
        "angle,counts\n" + "".join(f"{x:.2f},{y:.0f}\n" for x, y in ROWS),
        "".join(f"{x:.2f} {y:.0f}\n" for x, y in ROWS).replace(".", ","),
        "".join(f"{x:.2f};{y:.2f}\n" for x, y in ROWS).replace(".", ","),
        "".join(f"{x:.5E} {y:.5E}\n" for x, y in ROWS).replace(".", ","),
        "# header 1 2\n! note\n" + "".join(f" {x:.2f}   {y:.0f} \n" for x, y in ROWS) + "\n\n",
        "".join(f"{x:.2f} {y:.0f}\n" for x, y in reversed(ROWS)),
    ],
    ids=[
        "space",
        "tab-crlf",
        "csv",
        "decimal comma",
        "semicolon",
        "exponent",
        "comments",
        "falling",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_columns_in_any_dress_are_the_same_numbers(
    tmp_path: Path, text: str, encoding: str
) -> None:
    scan = scan_of(write(tmp_path, text.encode(encoding)))
    assert scan.two_theta_deg.tolist() == [row[0] for row in ROWS]
    assert scan.counts.tolist() == [row[1] for row in ROWS]
    assert [flag.code for flag in scan.flags] == ["wavelength_assumed"]


@pytest.mark.parametrize("bad", ["0", "-3", "nan", ""], ids=["none", "negative", "nan", "missing"])
def test_a_damaged_uncertainty_is_told_with_its_line(tmp_path: Path, bad: str) -> None:
    rows = [f"{20 + 0.1 * i:.2f} {100 + i} {(100 + i) ** 0.5:.4f}" for i in range(50)]
    rows[7], rows[9] = f"20.70 107 {bad}", f"20.90 109 {bad}"
    path = tmp_path / "scan.xye"
    path.write_text("# a heading\n" + "\n".join(rows))
    scan = read_measurement(path)
    assert isinstance(scan, Diffractogram)
    said = {flag.code: flag.message for flag in scan.flags}["uncertainty_ignored"]
    shown = {"": "missing"}.get(bad, bad)
    assert said.startswith(f"uncertainties ignored: that of line 9 is {shown} and 1 more")
    assert scan.intensity_unit == "counts"
    assert scan.counts[7] == 107


def test_uncertainties_of_xye_turn_intensities_into_counts(tmp_path: Path) -> None:
    text = "".join(f"{x} {y / 50} {np.sqrt(y) / 50}\n" for x, y in ROWS)
    scan = scan_of(write(tmp_path, text))
    np.testing.assert_allclose(scan.counts, [row[1] for row in ROWS])
    assert scan.intensity_unit == "counts"
    assert "rescaled" in [flag.code for flag in scan.flags]


def test_wavelength_in_a_heading_is_used(tmp_path: Path) -> None:
    text = "# Calibrated wavelength = 0.414581\n" + "".join(f"{x} {y}\n" for x, y in ROWS)
    scan = scan_of(write(tmp_path, text))
    assert scan.radiation.k_alpha1_a == 0.414581
    assert scan.radiation.k_alpha2_a is None
    assert scan.flags == ()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b"hello world\nno numbers here\n", "not recognised"),
        (b"PK\x03\x04" + bytes(100), "zip container"),
        (b"RAW4.00\x00" + bytes(100), "Bruker RAW"),
        (b"10 1\n11 2\n12 3\nbroken line\n13 4\n", "line 4 is no row of numbers"),
        (b"10 1\n11 2\n10.5 3\n12 4\n", "does not increase at line 3"),
        (b"41110,5 1\n41110,6 2\n41110,7 3\n", "no scattering angle"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(MeasurementFileError, match=message):
        read_measurement(write(tmp_path, data))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MeasurementFileError, match="nowhere"):
        read_measurement(tmp_path / "nowhere.xy")


def test_the_file_name_plays_no_part(tmp_path: Path) -> None:
    assert scan_of(write(tmp_path, xrdml(), "scan.raw")).sample_id == "Smør 12 µm"


def test_binary_is_not_decoded_as_text() -> None:
    with pytest.raises(ValueError, match="binary"):
        decode(b"abc\x00\xff\xfe\x9d" * 20)


@pytest.mark.real_data
def test_real_files_of_each_version(cases_dir: Path) -> None:
    expected = {
        "panalytical_v15_intensities.xrdml": (196, 0.44, 1.540598),
        "panalytical_v20_counts.xrdml": (6474, 133.62, 1.540598),
        "omega_2theta_v21.xrdml": (1800, 0.5, 1.540598),
        "aps_11bm.xye": (575, 0.1, 0.414581),
        "eva_header.xy": (28, 96.0, 1.5405929),
    }
    for name, (points, seconds, wavelength) in expected.items():
        scan = scan_of(cases_dir / "xrd-formats" / name)
        assert (scan.counts.size, scan.counting_time_s) == (points, seconds)
        assert scan.radiation.k_alpha1_a == wavelength
    with pytest.raises(MeasurementFileError, match="no scattering angle"):
        read_measurement(cases_dir / "xrd-formats" / "logger_decimal_commas.txt")


@pytest.mark.parametrize("value", ["nan", "NaN", "inf", "-Infinity", "1e999"])
@pytest.mark.parametrize("row", [0, 50, 199])
@pytest.mark.parametrize("more", ["", " 10"], ids=["xy", "xye"])
def test_a_value_that_is_no_number_is_told_without_a_dump(
    tmp_path: Path, value: str, row: int, more: str
) -> None:
    lines = [f"{20 + 0.02 * i:.2f} {100 + i}{more}" for i in range(200)]
    lines[row] = f"{20 + 0.02 * row:.2f} {value}{more}"
    place = write(tmp_path, "# angle counts\n" + "\n".join(lines), "scan.xy")
    with pytest.raises(MeasurementFileError) as caught:
        read_measurement(place)
    told = str(caught.value)
    assert told.startswith(f"{place}: line {row + 2}: the intensity is {value}, ")
    assert "delete the line" in told
    assert "pydantic" not in told
    assert "array(" not in told


UXD = b"_FILEVERSION=2\n_STEPSIZE=0.02\n_START=20.0\n_COUNTS\n 101 102 103 104\n 105 106"


@pytest.mark.parametrize("text", [UXD, b"20.00 101\n20.02 102\n20.04 103\n20.06 10"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_line_that_is_cut_within_its_last_number_is_flagged(
    tmp_path: Path, text: bytes, encoding: str
) -> None:
    path = tmp_path / "cut"
    for end, flagged in (("", True), ("\n", False), ("\r\n\r\n", False)):
        path.write_bytes((text.decode() + end).encode(encoding))
        codes = {flag.code for flag in read_measurement(path).flags}
        assert ("last_line_open" in codes) is flagged, repr(end)


SCAN_ROWS = "".join(f"{20 + i * 0.5:.2f} {100 + i}\n" for i in range(20))


def test_recognition_does_not_take_for_ever(tmp_path: Path) -> None:
    for text in ("100 " * 40 + "x\n", "1," * 60 + "x\n", "1,1;" * 60 + "!\n"):
        with pytest.raises(MeasurementFileError, match="not recognised"):
            read_measurement(write(tmp_path, text * 20))


def test_a_comment_among_the_rows_parts_scans(tmp_path: Path) -> None:
    more = "".join(f"{30 + i * 0.5:.2f} {200 + i}\n" for i in range(20))
    path = write(
        tmp_path, f"# wavelength: 0.7093\n# scan 1\n{SCAN_ROWS}# scan 2\n{more}# the end\n"
    )
    one, other = read_measurements(path)
    assert isinstance(one, Diffractogram)
    assert isinstance(other, Diffractogram)
    assert (len(one.counts), one.two_theta_deg[-1]) == (20, 29.5)
    assert (len(other.counts), other.counts[0]) == (20, 200)
    assert other.radiation.k_alpha1_a == pytest.approx(0.7093, abs=1e-3)
    assert "several_scans" in {flag.code for flag in read_measurement(path).flags}
    with pytest.raises(MeasurementFileError, match="a comment after line 1 parts"):
        read_measurement(write(tmp_path, f"20.0 1\n# pause\n{SCAN_ROWS}"))


@pytest.mark.parametrize(
    ("heading", "angstrom"),
    [
        ("# wavelength = 0.15406 nm", 1.5406),
        ("# Wavelength: 154.06 pm", 1.5406),
        ("# wavelength 1.5406 A", 1.5406),
        ("# K-Alpha2 wavelength: 1.54443\n# K-Alpha1 wavelength: 1.54060", 1.5406),
    ],
)
def test_a_wavelength_is_read_with_its_unit(tmp_path: Path, heading: str, angstrom: float) -> None:
    scan = scan_of(write(tmp_path, f"{heading}\n{SCAN_ROWS}"))
    assert scan.radiation.k_alpha1_a == pytest.approx(angstrom, abs=1e-4)


@pytest.mark.parametrize(
    ("heading", "seconds"),
    [
        ("# count time: 500 ms", 0.5),
        ("# step time: 2 min", 120.0),
        ("# step time: 2 s", 2.0),
        ("# counting time: 1e-2", 0.01),
    ],
)
def test_a_time_is_read_with_its_unit(tmp_path: Path, heading: str, seconds: float) -> None:
    assert scan_of(write(tmp_path, f"{heading}\n{SCAN_ROWS}")).counting_time_s == pytest.approx(
        seconds
    )


@pytest.mark.parametrize(
    "heading",
    ["q(1/A) I", "d(Angstrom)\tCounts", "Energy(keV),I", "2theta (rad)  I", "Theta I", "# q  I",
     "time(s), temperature(C)"],
)  # fmt: skip
def test_a_column_that_is_called_otherwise_is_no_angle(tmp_path: Path, heading: str) -> None:
    with pytest.raises(MeasurementFileError, match="no 2θ in degrees"):
        read_measurement(write(tmp_path, f"{heading}\n{SCAN_ROWS}"))


@pytest.mark.parametrize(
    "heading",
    [
        "2theta I",
        "Angle\tIntensity",
        "# 2Theta (deg)  Counts",
        "x y",
        "Two-Theta, Det1Disc1",
        "Sample: d\nAngle, I",
    ],
)
def test_a_column_that_is_called_an_angle_is_one(tmp_path: Path, heading: str) -> None:
    assert len(scan_of(write(tmp_path, f"{heading}\n{SCAN_ROWS}")).counts) == 20


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{10 + i}.00\t1,{110 + i}\n" for i in range(9)),
        "".join(f"{10 + i}.00 1,{110 + i}\n" for i in range(9)),
        "".join(f"{10 + i},0,110,5\n" for i in range(9)),
    ],
)
def test_commas_that_may_mean_two_things_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(MeasurementFileError, match="comma"):
        read_measurement(write(tmp_path, text))


def test_a_point_in_a_comment_does_not_decide_on_commas(tmp_path: Path) -> None:
    rows = "".join(f"{20 + i},5\t{100 + i},25\n" for i in range(9))
    scan = scan_of(write(tmp_path, f"{rows}# v1.0\n"))
    assert scan.two_theta_deg[0] == 20.5
    assert scan.counts[0] == 100.25


def test_a_background_is_not_taken_for_uncertainty(tmp_path: Path) -> None:
    rows = "".join(f"{20 + i * 0.5:.2f} {1000 + 10 * i} {900 + i}\n" for i in range(20))
    scan = scan_of(write(tmp_path, rows))
    assert scan.counts[0] == 1000
    assert "third_column_ignored" in {flag.code for flag in scan.flags}


def test_units_of_xrdml_are_read(tmp_path: Path) -> None:
    text = xrdml()
    text = text.replace('unit="Angstrom">1.5405980', 'unit="nm">0.1540598')
    text = text.replace(
        '<commonCountingTime unit="seconds">12.5', '<commonCountingTime unit="ms">12.5'
    )
    text = text.replace('unit="deg"><startPosition>10.0', 'unit="rad"><startPosition>0.1745329252')
    text = text.replace("<endPosition>10.4", "<endPosition>0.1815142422")
    scan = scan_of(write(tmp_path, text))
    assert scan.radiation.k_alpha1_a == pytest.approx(1.540598)
    assert scan.counting_time_s == pytest.approx(0.0125)
    assert scan.two_theta_deg[[0, -1]] == pytest.approx([10.0, 10.4], abs=1e-6)
    with pytest.raises(MeasurementFileError, match="'furlong'; known units"):
        read_measurement(write(tmp_path, xrdml().replace('unit="Angstrom"', 'unit="furlong"')))
