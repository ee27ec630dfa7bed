"""pdCIF: axes listed and implied, uncertainties in brackets, several intensities, damage."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labenv_instruments.formats import pdcif, read_measurement, read_measurements
from labenv_schemas.errors import MeasurementFileError
from labenv_schemas.measurement import Diffractogram, Spectrum

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "data_BARE_ZN\n_diffrn_radiation_wavelength 1.54056(2)\n_note\n;\nloop_ data_x _pd_\n;\n"
RANGE = (
    "_pd_meas_2theta_range_min 20.0\n_pd_meas_2theta_range_max 20.06\n"
    "_pd_meas_2theta_range_inc 0.02\n"
)
VALUES = "5540(160) 1.\n4570(140) .\n4140.5(1.3) ?\n3480 2\n".replace("(1.3)", "(13)")
IMPLIED = HEAD + RANGE + "loop_\n_pd_meas_intensity_total\n_pd_proc_ls_weight\n" + VALUES
LISTED = (
    HEAD + "loop_\n_pd_proc_point_id\n_pd_meas_2theta_scan\n_pd_meas_counts_total\n"
    "_pd_proc_intensity_net\n1 20.00 5 4.1(2)\n2 20.02 6 5.1(2)\n3 20.05 . 6.1\n4 20.09 8 ?\n"
)


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "pattern.cif"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def scan_of(path: Path) -> Diffractogram:
    scan = read_measurement(path)
    assert isinstance(scan, Diffractogram)
    return scan


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_an_implied_axis_and_uncertainties_in_brackets(tmp_path: Path, encoding: str) -> None:
    scan = scan_of(write(tmp_path, IMPLIED.encode(encoding)))
    assert scan.two_theta_deg == pytest.approx([20.0, 20.02, 20.04, 20.06])
    assert scan.counts.tolist() == [5540, 4570, 4140.5, 3480]
    assert scan.intensity_unit == "arbitrary"
    assert scan.radiation.k_alpha1_a == 1.54056
    assert scan.radiation.k_alpha2_a is None
    assert scan.provenance["part"] == "data_BARE_ZN"


def test_a_listed_axis_with_unequal_steps_and_gaps(tmp_path: Path) -> None:
    scan = scan_of(write(tmp_path, LISTED))
    assert scan.two_theta_deg.tolist() == [20.0, 20.02, 20.09]
    assert scan.counts.tolist() == [5, 6, 8]
    assert scan.intensity_unit == "counts"
    said = {flag.code: flag.message for flag in scan.flags}
    assert set(said) == {"rows_skipped", "other_intensities"}
    assert "_pd_proc_intensity_net" in said["other_intensities"]


def test_two_wavelengths_and_names_of_the_second_generation(tmp_path: Path) -> None:
    waves = (
        "loop_\n_diffrn_radiation_wavelength.id\n_diffrn_radiation.wavelength\n"
        "_diffrn_radiation.wavelength_wt\n1 1.5406 1.0\n2 1.5444 0.497\n"
    )
    text = IMPLIED.replace("_diffrn_radiation_wavelength 1.54056(2)\n", waves)
    scan = scan_of(write(tmp_path, text.replace("_pd_meas_", "_pd_meas.")))
    assert scan.radiation.k_alpha2_a == 1.5444
    assert scan.radiation.k_alpha2_ratio == 0.497


def test_every_block_with_a_pattern_is_read(tmp_path: Path) -> None:
    text = IMPLIED + LISTED.replace("BARE_ZN", "two") + "data_structure\n_cell_length_a 4.1\n"
    found = read_measurements(write(tmp_path, text))
    assert [one.provenance["part"] for one in found] == ["data_BARE_ZN", "data_two"]


def test_a_time_of_flight_is_no_angle(tmp_path: Path) -> None:
    text = LISTED.replace("_pd_meas_2theta_scan", "_pd_meas_time_of_flight")
    found = read_measurement(write(tmp_path, text))
    assert isinstance(found, Spectrum)
    assert (found.provenance["axis"], found.axis_unit) == ("time of flight", "us")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (IMPLIED.replace(RANGE, ""), "no 2θ axis"),
        (IMPLIED.replace("20.06", "29.06"), "there are 454 angles, but 4 intensities"),
        (LISTED.replace("4 20.09 8 ?", "4 20.09 8"), "4 columns but 15 values"),
        (LISTED.replace("20.02 6", "20.02 six"), "value 2 of _pd_meas_counts_total is 'six'"),
        (HEAD + RANGE, "no data block holds measured intensities"),
    ],
)
def test_damage_is_named(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(MeasurementFileError, match=why) as caught:
        read_measurement(write(tmp_path, text))
    assert "pattern.cif" in str(caught.value)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(
    ["data_a", "loop_", "_pd_meas_counts_total", "_pd_meas_2theta_scan", "1", "2.5(3)", ".", "'",
     "\n;", "\n", '"a b"', "#x\n", "_pd_meas_2theta_range_min", "save_", "1e999", "9(9)e3"]
), max_size=40))  # fmt: skip
def test_no_arrangement_of_words_raises_anything_else(words: list[str]) -> None:
    with suppress(MeasurementFileError):
        assert pdcif.read(" ".join(words).encode(), "x")
