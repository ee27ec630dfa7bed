"""Quantum Design files: units, short rows, overflow, channels, damage, real files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from labenv_instruments.formats import format_ids, read_measurement
from labenv_instruments.formats.quantum_design import matches, read_bridge, read_table
from labenv_schemas.errors import MeasurementFileError
from labenv_schemas.measurement import MagnetisationCurve, ResistanceCurve

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "[Header]\nTITLE, a film\nFILEOPENTIME,1,12/18/2024,10:42 AM\nBYAPP, Resistivity, 2.1\n"
COLUMNS = (
    "Comment,Time Stamp (sec),Status (code),Temperature (K),Magnetic Field (Oe),"
    "Bridge 1 Excitation (uA),Bridge 1 Resistance (Ohms),Bridge 2 Resistance (Ohms),Map 20 ()\n"
)
ROWS = ",1,4369,300,0,100,2.0,20\n,2,99999,200,0.1,100,1.5,15\nhi,3,-1,100,0,100,1.0,10,\n"


def write(folder: Path, body: str, header: str = HEADER) -> Path:
    path = folder / "run.dat"
    path.write_text(header + "[Data]\n" + body)
    return path


def resistance_of(path: Path) -> ResistanceCurve:
    curve = read_measurement(path)
    assert isinstance(curve, ResistanceCurve)
    return curve


def moments_of(path: Path) -> MagnetisationCurve:
    curve = read_measurement(path)
    assert isinstance(curve, MagnetisationCurve)
    return curve


def codes(curve: ResistanceCurve | MagnetisationCurve) -> set[str]:
    return {flag.code for flag in curve.flags}


def test_the_format_is_found_by_content() -> None:
    assert "quantum_design" in format_ids()
    assert matches(b"[Header]\r\nTITLE\r\n[Data]\r\nTemperature (K)\r\n")
    assert not matches(b"1 2\n3 4\n5 6\n")
    assert not matches(b"[Header]\nno data section")


def test_short_rows_and_unknown_status_are_read(tmp_path: Path) -> None:
    curve = resistance_of(write(tmp_path, COLUMNS + ROWS))
    np.testing.assert_array_equal(curve.temperature_k, [300, 200, 100])
    np.testing.assert_array_equal(curve.resistance_ohm, [2.0, 1.5, 1.0])
    assert curve.current_a == pytest.approx(1e-4)
    assert codes(curve) == {"other_channels"}
    assert curve.provenance["title"] == "a film"
    assert curve.measured_at is None  # the file tells no time zone


def test_a_second_bridge_can_be_asked_for(tmp_path: Path) -> None:
    data = write(tmp_path, COLUMNS + ROWS).read_bytes()
    np.testing.assert_array_equal(read_bridge(data, "x", 2).resistance_ohm, [20, 15, 10])
    with pytest.raises(MeasurementFileError, match=r"bridge 3; measured: \[1, 2\]"):
        read_bridge(data, "x", 3)


@pytest.mark.parametrize(
    ("unit", "value", "tesla"),
    [("Oe", 5000, 0.5), ("T", 0.5, 0.5), ("Tesla", 2, 2.0), ("kOe", 10, 1.0), ("G", 100, 0.01)],
)
def test_fields_become_tesla(tmp_path: Path, unit: str, value: float, tesla: float) -> None:
    body = f"Comment,Temperature (K),Magnetic Field ({unit}),Moment (emu)\n,5,{value},1e-3\n"
    curve = moments_of(write(tmp_path, body))
    assert curve.field_t[0] == pytest.approx(tesla)
    assert curve.moment_a_m2[0] == pytest.approx(1e-6)


def test_a_field_without_a_known_unit_is_refused(tmp_path: Path) -> None:
    body = "Comment,Temperature (K),Magnetic Field (A/m),Moment (emu)\n,5,1,1e-3\n"
    with pytest.raises(MeasurementFileError, match="Magnetic Field is in 'A/m'"):
        read_measurement(write(tmp_path, body))


@pytest.mark.parametrize("mark", ["-9.9e36", "9.9E+37", "3.4e38", "nan", "inf", ""])
def test_overflow_and_gaps_are_missing_not_numbers(tmp_path: Path, mark: str) -> None:
    rows = ROWS + f",4,4369,50,0,100,{mark},5\n"
    curve = resistance_of(write(tmp_path, COLUMNS + rows))
    assert curve.resistance_ohm.max() == 2.0
    assert curve.temperature_k.size == 3
    assert "rows_skipped" in codes(curve)
    assert ("overflow" in codes(curve)) == (mark in {"-9.9e36", "9.9E+37", "3.4e38"})


def test_a_swept_field_is_flagged(tmp_path: Path) -> None:
    curve = resistance_of(write(tmp_path, COLUMNS + ROWS + ",4,1,100,9000,100,1.1,5\n"))
    assert "field_varies" in codes(curve)


def test_an_alternating_moment_is_no_static_one(tmp_path: Path) -> None:
    body = (
        "Comment,Temperature (K),Magnetic Field (Oe),Frequency (Hz),Amplitude (Oe),Moment (emu)\n"
        ",5,1,100,1,1e-3\n"
    )
    with pytest.raises(MeasurementFileError, match="static moment"):
        read_measurement(write(tmp_path, body))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("", "no column headings"),
        (COLUMNS, "no row"),
        (COLUMNS + ",1,2,abc,0,1,2,3\n", "line 7: 'abc' is no number"),
        (COLUMNS + ",1,2,3,4,5,6,7,8,9,10\n", "11 values for 9 headings"),
        (COLUMNS + ",1,2,-5,0,1,2,3\n", "no row has"),
        ("Comment,Bridge 1 Resistance (Ohms)\n,5\n", "no column 'temperature'"),
        ("Comment,Temperature (K),Magnetic Field (Oe)\n,5,1\n", "neither a resistance"),
    ],
)
def test_damage_is_named(tmp_path: Path, body: str, why: str) -> None:
    with pytest.raises(MeasurementFileError, match=why):
        read_measurement(write(tmp_path, body))


@pytest.mark.real_data
def test_real_resistivity_file(cases_dir: Path) -> None:
    data = (cases_dir / "ppms" / "resistivity.dat").read_bytes()
    curve = resistance_of(cases_dir / "ppms" / "resistivity.dat")
    assert curve.temperature_k.size == 1401
    assert curve.resistance_ohm[0] == pytest.approx(0.466511068344116)
    assert curve.current_a == pytest.approx(19.98e-6, rel=1e-3)
    assert {"other_channels", "field_varies"} == codes(curve)
    assert read_bridge(data, "x", 2).resistance_ohm[0] == pytest.approx(0.22415763258934)
    table = {column.name: column for column in read_table(data, "x").columns}
    assert table["Magnetic Field"].unit == "Oe"
    assert table["Magnetic Field"].values.min() == pytest.approx(-10000.7678125)


@pytest.mark.real_data
def test_real_ac_susceptibility_file_gives_its_static_moments(cases_dir: Path) -> None:
    curve = moments_of(cases_dir / "ppms" / "acms.dat")
    assert curve.temperature_k.size == 61
    assert curve.moment_a_m2[0] == pytest.approx(0.0112873817495618e-3)
    assert curve.field_t.max() == pytest.approx(8.5, abs=0.01)
    assert "rows_skipped" in codes(curve)
