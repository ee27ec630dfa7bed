"""Written files are read back by others: ElementTree, numpy, a CIF parser and h5py, and by us."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pymatgen.io.cif import CifFile

from labenv_instruments.formats import (
    read_measurement,
    write_nexus,
    write_pdcif,
    write_xrdml,
    write_xye,
)
from labenv_schemas.errors import ConfigError
from labenv_schemas.measurement import (
    Diffractogram,
    InstrumentIdentity,
    MassReading,
    Radiation,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DEVICE = InstrumentIdentity(
    station="x", model="Aeris", serial="7", driver="d", driver_version="1", simulated=True
)
WRITERS = {"xrdml": write_xrdml, "xye": write_xye, "cif": write_pdcif}


def diffractogram(**changes: object) -> Diffractogram:
    angles = 20.0 + 0.0131303 * np.arange(40)
    counts = np.random.default_rng(3).poisson(500, 40).astype(float)
    fields: dict[str, object] = {
        "two_theta_deg": angles,
        "counts": counts,
        "counting_time_s": 12.495,
        "radiation": Radiation(k_alpha1_a=1.540598, k_alpha2_a=1.544426, anode="Cu"),
        "goniometer_radius_m": 0.145,
        "sample_id": "TiO2 & <ZnO> 12 µm",
        "instrument": DEVICE,
        "measured_at": datetime(2024, 11, 14, 20, 53, 32, tzinfo=UTC),
        "provenance": {"tube_voltage_kv": "40", "tube_current_ma": "15"},
        **changes,
    }
    return Diffractogram.model_validate(fields)


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("steps", ["equal", "unequal"])
def test_what_we_write_we_read(tmp_path: Path, ending: str, steps: str) -> None:
    scan = diffractogram()
    if steps == "unequal":
        scan = diffractogram(two_theta_deg=np.asarray(scan.two_theta_deg) ** 1.05)
    write: Callable[[Diffractogram, Path], None] = WRITERS[ending]
    write(scan, tmp_path / "out")
    back = read_measurement(tmp_path / "out")
    assert isinstance(back, Diffractogram)
    np.testing.assert_allclose(back.two_theta_deg, scan.two_theta_deg, atol=1e-7)
    np.testing.assert_array_equal(back.counts, scan.counts)
    assert back.intensity_unit == "counts"
    assert back.counting_time_s == scan.counting_time_s
    assert back.radiation == scan.radiation
    assert back.measured_at == scan.measured_at
    assert back.flags == ()


@pytest.mark.parametrize(("version", "tag"), [("1.5", "intensities"), ("2.1", "counts")])
def test_xrdml_is_what_other_programs_look_for(tmp_path: Path, version: str, tag: str) -> None:
    scan = diffractogram()
    write_xrdml(scan, tmp_path / "out.xrdml", version="1.5" if version == "1.5" else "2.1")
    root = ElementTree.parse(tmp_path / "out.xrdml").getroot()
    space = {"x": f"http://www.xrdml.com/XRDMeasurement/{version}"}
    points = root.find("x:xrdMeasurement/x:scan/x:dataPoints", space)
    assert points is not None
    counts = (points.findtext(f"x:{tag}", "", space)).split()
    assert [float(word) for word in counts] == scan.counts.tolist()
    axis = next(e for e in points.findall("x:positions", space) if e.get("axis") == "2Theta")
    assert float(axis.findtext("x:startPosition", "", space)) == scan.two_theta_deg[0]
    assert float(axis.findtext("x:endPosition", "", space)) == pytest.approx(
        scan.two_theta_deg[-1], abs=1e-8
    )
    wave = root.findtext("x:xrdMeasurement/x:usedWavelength/x:kAlpha1", "", space)
    assert float(wave) == 1.540598
    assert root.findtext("x:sample/x:id", "", space) == scan.sample_id
    assert points.findtext("x:commonCountingTime", "", space) == "12.495"


def test_xye_is_three_columns_for_numpy(tmp_path: Path) -> None:
    scan = diffractogram()
    write_xye(scan, tmp_path / "out.xye")
    table = np.loadtxt(tmp_path / "out.xye")
    np.testing.assert_array_equal(table[:, 0], scan.two_theta_deg)
    np.testing.assert_array_equal(table[:, 1], scan.counts)
    np.testing.assert_allclose(table[:, 2], np.sqrt(scan.counts), rtol=1e-7)


def test_pdcif_is_read_by_a_cif_parser(tmp_path: Path) -> None:
    scan = diffractogram()
    write_pdcif(scan, tmp_path / "out.cif")
    block = next(iter(CifFile.from_file(tmp_path / "out.cif").data.values()))
    angles = [float(word) for word in block["_pd_meas_2theta_scan"]]
    np.testing.assert_allclose(angles, scan.two_theta_deg, atol=1e-8)
    assert [float(word) for word in block["_pd_meas_counts_total"]] == scan.counts.tolist()
    assert block["_diffrn_radiation_wavelength"] == ["1.5405980", "1.5444260"]
    assert block["_pd_meas_number_of_points"] == "40"


def test_nexus_has_the_definition_and_a_default_plot(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    scan = diffractogram()
    write_nexus(scan, tmp_path / "out.nxs")
    with h5py.File(tmp_path / "out.nxs") as file:
        entry = file[file.attrs["default"]]
        assert entry.attrs["NX_class"] == "NXentry"
        assert entry["definition"][()].decode() == "NXxrd_pan"
        plot = entry[entry.attrs["default"]]
        assert plot.attrs["NX_class"] == "NXdata"
        np.testing.assert_array_equal(plot[plot.attrs["signal"]][:], scan.counts)
        axis = plot[plot.attrs["axes"]]
        np.testing.assert_array_equal(axis[:], scan.two_theta_deg)
        assert axis.attrs["units"] == "deg"
        source = entry["instrument/source"]
        assert source["k_alpha_one"][()] == 1.540598
        assert source["xray_tube_material"][()].decode() == "Cu"
        assert source["xray_tube_voltage"][()] == 40.0
        assert entry["instrument/detector/count_time"][()] == 12.495
        assert entry["start_time"][()].decode() == "2024-11-14T20:53:32+00:00"


def test_rates_and_unknown_units(tmp_path: Path) -> None:
    rate = diffractogram(counts=np.full(40, 8.0), intensity_unit="counts_per_second")
    write_xrdml(rate, tmp_path / "out.xrdml")
    back = read_measurement(tmp_path / "out.xrdml")
    assert isinstance(back, Diffractogram)
    assert back.counts[0] == pytest.approx(8.0 * 12.495)
    unknown = diffractogram(intensity_unit="arbitrary")
    with pytest.raises(ConfigError, match="write xye"):
        write_xrdml(unknown, tmp_path / "out.xrdml")
    with pytest.raises(ConfigError, match="standard_uncertainty"):
        write_xye(unknown, tmp_path / "out.xye")
    with pytest.raises(ConfigError, match="cannot be written"):
        write_pdcif(rate, tmp_path / "nowhere" / "out.cif")


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.integers(0, 10**7), min_size=2, max_size=30),
    st.floats(0.5, 100.0),
    st.floats(0.001, 1.0),
    st.sampled_from(sorted(WRITERS)),
)
def test_round_trip(
    tmp_path: Path, counts: list[int], start: float, step: float, ending: str
) -> None:
    angles = start + step * np.arange(len(counts))
    scan = diffractogram(two_theta_deg=angles, counts=np.array(counts, dtype=float))
    write: Callable[[Diffractogram, Path], None] = WRITERS[ending]
    write(scan, tmp_path / "out")
    if len(counts) < 3 and ending == "xye":  # three rows are what tells a table from prose
        return
    back = read_measurement(tmp_path / "out")
    assert isinstance(back, Diffractogram)
    np.testing.assert_allclose(back.two_theta_deg, angles, atol=1e-7)
    np.testing.assert_array_equal(back.counts, scan.counts)


@pytest.mark.parametrize("write", [write_xrdml, write_xye, write_pdcif, write_nexus])
def test_what_is_no_diffractogram_is_refused_and_leaves_no_file(write: Any, tmp_path: Any) -> None:
    path = tmp_path / "out"
    with pytest.raises(ConfigError, match="only diffractograms"):
        write(MassReading(mass_kg=1e-3, standard_uncertainty_kg=1e-7), path)
    assert not path.exists()


def test_xye_keeps_the_ratio_of_both_lines_and_a_short_time(tmp_path: Any) -> None:
    light = Radiation(k_alpha1_a=1.5406, k_alpha2_a=1.5444, k_alpha2_ratio=0.123)
    scan = Diffractogram(
        two_theta_deg=np.linspace(10.0, 20.0, 30), counts=np.full(30, 50.0),
        counting_time_s=1e-9, radiation=light,
    )  # fmt: skip
    write_xye(scan, tmp_path / "a.xye")
    back = read_measurement(tmp_path / "a.xye")
    assert back.radiation.k_alpha2_ratio == pytest.approx(0.123)
    assert back.counting_time_s == pytest.approx(1e-9)
