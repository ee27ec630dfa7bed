"""What `inspect_file` and `labenv inspect` tell of real and made files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from labenv.cli.app import app
from labenv_instruments.formats.inspection import inspect_file

if TYPE_CHECKING:
    from pathlib import Path

HEAT = (
    "[Header]\nFILEOPENTIME,100,12/18/2024,10:42 AM\nBYAPP,HeatCapacity,1\n[Data]\n"
    "Comment,Time Stamp (sec),Sample Temp (Kelvin),Field (Oersted),Samp HC (uJ/K)\n"
    ",160,10,0,1.5\n,220,11,0,1.7\n"
)
RHO = (
    "[Header]\nFILEOPENTIME,100,12/18/2024,10:42 AM\nINFO,0.1393,SAMPLE1_LEAD_SEPARATION\n"
    "INFO,0.0011144,SAMPLE1_CROSS_SECTION\n[Data]\nComment,Time Stamp (sec),Temperature (K),"
    "Magnetic Field (Oe),Res. ch1 (ohm-cm),Bridge 2 Resistivity (Ohm-m)\n"
    ",160,10,5000,8.39211453293e-6,\n,220,11,5000,,2e-8\n"
)


def shown(path: Path) -> dict[str, object]:
    answer = CliRunner().invoke(app, ["inspect", str(path), "--format", "json"])
    assert answer.exit_code == 0, answer.output
    return json.loads(answer.output)


def test_columns_without_any_time_or_wavelength_say_so(tmp_path: Path) -> None:
    path = tmp_path / "a.xy"
    path.write_text("".join(f"{20 + 0.02 * i:.2f} {100 + i}\n" for i in range(50)))
    told = inspect_file(path)
    scan = told["scans"][0]
    assert told["kind"] == "diffractogram"
    assert scan["points"] == 50
    assert scan["axis"]["step"] == pytest.approx(0.02)
    assert scan["wavelengths"] is None
    assert scan["timestamp"] is None
    assert scan["timezone"] is None
    assert "the file states no wavelength; copper Kα was assumed" in told["warnings"]
    assert "the file states no time of measurement" in told["warnings"]
    table = CliRunner().invoke(app, ["inspect", str(path)])
    assert table.exit_code == 0
    assert "2Theta / deg" in table.output
    assert "not stated" in table.output


def test_a_table_of_neither_kind_is_still_described(tmp_path: Path) -> None:
    path = tmp_path / "heat.dat"
    path.write_text(HEAT)
    told = inspect_file(path)
    assert (told["kind"], told["points"]) == ("table", [2])
    units = {channel["name"]: channel["unit"] for channel in told["channels"]}
    assert units["Samp HC"] == "uJ/K"
    assert told["scans"][0]["timestamp"] == "2024-12-18T10:43:00"
    assert any("neither a resistance" in warning for warning in told["warnings"])
    assert CliRunner().invoke(app, ["inspect", str(path)]).exit_code == 0


def test_resistivities_become_resistances_of_a_bar(tmp_path: Path) -> None:
    path = tmp_path / "rho.dat"
    path.write_text(RHO)
    told = inspect_file(path)
    assert [scan["name"] for scan in told["scans"]] == ["bridge 1", "bridge 2"]
    channels = [scan["channels"][1] for scan in told["scans"]]
    # the file this is after measured 1.0792e-6 V at 1.0288e-3 A
    assert channels[0]["min"] == pytest.approx(1.07923080942839e-6 / 1.02880465367804e-3, rel=1e-6)
    assert channels[1]["min"] == 2e-8
    field = next(c for c in told["channels"] if c["name"] == "Magnetic Field")
    assert (field["unit"], field["file_unit"], field["max"]) == ("T", "Oe", 0.5)


def test_what_cannot_be_read_is_wrong_input(tmp_path: Path) -> None:
    from labenv.cli import main

    path = tmp_path / "a.xy"
    path.write_text("nothing\n")
    assert callable(main)
    answer = CliRunner().invoke(app, ["inspect", str(path)])
    assert answer.exit_code != 0


@pytest.mark.real_data
def test_real_files(cases_dir: Path) -> None:
    told = shown(cases_dir / "xrd-formats" / "panalytical_v20_counts.xrdml")
    scan = told["scans"][0]  # type: ignore[index]
    assert (told["format_version"], scan["points"]) == ("2.0", 6474)
    assert scan["axis"]["step"] == pytest.approx(0.01313028268)
    assert (scan["timestamp"], scan["timezone"]) == ("2024-03-08T11:13:20-06:00", "-06:00")
    assert scan["wavelengths"]["k_alpha2_angstrom"] == 1.544426
    assert told["warnings"] == []
    told = shown(cases_dir / "ppms" / "resistivity.dat")
    assert told["rows"] == 1401
    assert told["number_of_scans"] == 2
    assert {"name": "Bridge 3 Resistivity", "file_unit": "Ohm-m"} in told["channels_without_values"]  # type: ignore[operator]
    assert told["scans"][0]["timestamp"] == "2024-12-18T10:53:27"  # type: ignore[index]
    assert any("zone" in warning for warning in told["warnings"])  # type: ignore[attr-defined]


@pytest.mark.real_data
@pytest.mark.parametrize("folder", ["xrd-mixtures", "xrd-reactions"])
def test_every_real_scan_of_the_bench_diffractometer(cases_dir: Path, folder: str) -> None:
    for path in sorted((cases_dir / folder).glob("*.xrdml")):
        told = inspect_file(path)
        scan = told["scans"][0]
        assert scan["points"] in {4142, 6889, 6846, 8247} or scan["points"] > 1000
        assert scan["counting_time_s"] in {10.965, 12.495, 13.77}
        assert scan["timezone"] in {"-08:00", "-07:00"}
        assert scan["axis"]["equal_steps"]
        assert told["warnings"] == []
