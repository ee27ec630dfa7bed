"""Users' CIF files: read exactly as written, or refused with the place and the reason."""

from __future__ import annotations

import pickle
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from labenv.physics.structures import phase_from_cif, phase_library
from labenv.physics.structures.cif_sites import element_of
from labenv.physics.structures.cif_symmetry import parse_operation
from labenv_schemas.errors import MeasurementFileError

if TYPE_CHECKING:
    from pathlib import Path

RUTILE = """
data_rutile
_chemical_formula_sum 'O2 Ti'
_cell_length_a 4.593659(5)
_cell_length_b 4.593659(5)
_cell_length_c 2.958682(8)
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
_symmetry_space_group_name_H-M 'P 42/m n m'
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
_atom_site_occupancy
Ti1 Ti4+ 0 0 0 1
O1 O2- 0.30479(10) 0.30479(10) 0 1.
"""
ICE_OPERATIONS = """
loop_
_symmetry_equiv_pos_as_xyz
x,y,z
-x,-y,z
1/2+x,1/2-y,-z
1/2-x,1/2+y,-z
"""


def written(folder: Path, text: str, name: str = "sample.cif") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def cell(a: float, b: float, c: float, gamma: float = 90) -> str:
    lengths = f"_cell_length_a {a}\n_cell_length_b {b}\n_cell_length_c {c}\n"
    return (
        f"data_x\n{lengths}_cell_angle_alpha 90\n_cell_angle_beta 90\n_cell_angle_gamma {gamma}\n"
    )


def atoms(*rows: str) -> str:
    items = ["label", "fract_x", "fract_y", "fract_z", "occupancy"]
    return "loop_\n" + "".join(f"_atom_site_{item}\n" for item in items) + "\n".join(rows) + "\n"


def test_a_file_gives_the_structure_that_the_library_has(tmp_path: Path) -> None:
    phase = phase_from_cif(written(tmp_path, RUTILE))
    ours = phase_library().get("rutile")
    assert (phase.formula, phase.sites_per_cell, phase.name) == ("TiO2", 6, "sample")
    assert phase.density_kg_m3 == pytest.approx(ours.density_kg_m3, rel=1e-3)
    distances = np.sort(phase.structure().distance_matrix, axis=None)
    expected = np.sort(ours.structure().distance_matrix, axis=None)
    assert distances == pytest.approx(expected, abs=1e-6)
    assert pickle.loads(pickle.dumps(phase)) == phase


def test_every_library_phase_survives_being_written_and_read(tmp_path: Path) -> None:
    for name in ("anatase", "Bi2O3-alpha", "La(OH)3", "Zn2TiO4", "calcite"):
        phase = phase_library().get(name)
        path = tmp_path / "phase.cif"
        phase.structure().to(filename=str(path))
        again = phase_from_cif(path)
        assert again.density_kg_m3 == pytest.approx(phase.density_kg_m3, rel=0.015)
        assert again.sites_per_cell == phase.sites_per_cell


def test_operations_in_the_file_outrank_the_symbol(tmp_path: Path) -> None:
    text = (
        cell(4.0, 4.0, 4.0)
        + "_symmetry_space_group_name_H-M 'F m -3 m'\n"
        + ICE_OPERATIONS
        + atoms("Na1 0.1 0.2 0.3 1")
    )
    assert phase_from_cif(written(tmp_path, text)).sites_per_cell == 4


@pytest.mark.parametrize(
    ("item", "value", "sites"),
    [
        ("_symmetry_space_group_name_Hall", "-F 4 2 3", 4),
        ("_symmetry_space_group_name_H-M", "F m -3 m", 4),
        ("_space_group_name_H-M_alt", "Fm-3m", 4),
        ("_symmetry_space_group_name_H-M", "F d -3 m :1", 8),
        ("_symmetry_space_group_name_H-M", "F d -3 m S", 8),
        ("_symmetry_space_group_name_H-M", "P 63/m m c", 2),
        ("_symmetry_space_group_name_H-M", "P63/mmc", 2),
        ("_symmetry_space_group_name_H-M", "R -3 m", 3),
        ("_symmetry_space_group_name_H-M", "P 1", 1),
    ],
)
def test_symmetry_is_understood_in_its_usual_spellings(
    tmp_path: Path, item: str, value: str, sites: int
) -> None:
    hexagonal = value.startswith(("P 6", "P6", "R"))
    text = cell(4.0, 4.0, 4.0, 120 if hexagonal else 90) + f"{item} '{value}'\n"
    phase = phase_from_cif(written(tmp_path, text + atoms("Cu1 0 0 0 1")))
    assert phase.sites_per_cell == sites


@pytest.mark.parametrize(
    ("symmetry", "reason"),
    [("", "no symmetry"), ("_symmetry_space_group_name_H-M 'F d -3 m'\n", "Fd-3m:1, Fd-3m:2")],
)
def test_symmetry_is_never_guessed(tmp_path: Path, symmetry: str, reason: str) -> None:
    text = cell(5.4, 5.4, 5.4) + symmetry + atoms("Si1 0 0 0 1")
    with pytest.raises(MeasurementFileError, match=reason):
        phase_from_cif(written(tmp_path, text))


def test_occupancies_above_one_name_the_sites_and_the_sum(tmp_path: Path) -> None:
    text = cell(4, 4, 4) + ICE_OPERATIONS + atoms("Fe1 0 0 0 0.7", "Co1 0 0 0 0.6")
    with pytest.raises(MeasurementFileError, match=r"'Fe1' and 'Co1' at .* sum to 1\.300"):
        phase_from_cif(written(tmp_path, text))
    with pytest.raises(MeasurementFileError, match=r"'Fe1' has an occupancy of 1\.2"):
        phase_from_cif(written(tmp_path, cell(4, 4, 4) + ICE_OPERATIONS + atoms("Fe1 0 0 0 1.2")))


def test_partial_occupancies_share_a_site(tmp_path: Path) -> None:
    rows = atoms("Ba1 0 0 0 0.335", "Sr1 0 0 0 0.335", "Ca1 0 0 0 0.335", "O1 .5 .5 .5 ?")
    text = cell(5, 5, 5) + "_symmetry_space_group_name_H-M 'P 1'\n" + rows
    phase = phase_from_cif(written(tmp_path, text))
    assert phase.sites_per_cell == 2
    site = phase.structure()[0]
    assert sum(site.species.values()) == pytest.approx(1.0)
    assert len(site.species) == 3


def test_a_whole_cell_listed_beside_its_symmetry_counts_once(tmp_path: Path) -> None:
    rows = "Ti1 Ti4+ 0.5 0.5 0.5 1\nO2 O2- 0.69521 0.69521 0 1\n"
    phase = phase_from_cif(written(tmp_path, RUTILE + rows))
    assert (phase.formula, phase.sites_per_cell) == ("TiO2", 6)


def test_atoms_that_disagree_with_the_formula_are_refused(tmp_path: Path) -> None:
    dropped = RUTILE.replace("O1 O2- 0.30479(10) 0.30479(10) 0 1.\n", "")
    with pytest.raises(MeasurementFileError, match=r"atoms listed are Ti, .* O2 Ti"):
        phase_from_cif(written(tmp_path, dropped))
    halved = RUTILE.replace("_cell_length_a", "_cell_formula_units_Z 4\n_cell_length_a")
    with pytest.raises(MeasurementFileError, match=r"Z = 4"):
        phase_from_cif(written(tmp_path, halved))


def test_deuterium_stays_deuterium(tmp_path: Path) -> None:
    text = (
        cell(4, 4, 4)
        + "_symmetry_space_group_name_H-M 'P 1'\n_chemical_formula_sum 'D2 O'\n"
        + atoms("O1 0 0 0 1", "D1 .2 .1 .1 1", "D2 -.2 .1 .1 1")
    )
    phase = phase_from_cif(written(tmp_path, text))
    assert phase.elements == {"D", "O"}
    assert phase.structure().composition["D"] == pytest.approx(2)


def test_hydrogen_that_was_not_located_is_said(tmp_path: Path) -> None:
    text = (
        cell(4, 4, 4)
        + "_symmetry_space_group_name_H-M 'P 1'\n_chemical_formula_sum 'Ca H2 O2'\n"
        + atoms("Ca1 0 0 0 1", "O1 .3 .3 .3 1", "O2 .7 .7 .7 1")
    )
    with pytest.warns(UserWarning, match="hydrogen"):
        assert phase_from_cif(written(tmp_path, text)).formula == "CaO2"


def test_a_magnetic_file_with_centring_is_read_without_its_moments(tmp_path: Path) -> None:
    text = (
        cell(8, 8, 8)
        + "loop_\n_space_group_symop_magn_operation.id\n_space_group_symop_magn_operation.xyz\n"
        + "1 x,y,z,+1\n2 -x,-y,-z,+1\n"
        + "loop_\n_space_group_symop_magn_centering.id\n_space_group_symop_magn_centering.xyz\n"
        + "1 x,y,z,+1\n2 x+1/2,y+1/2,z+1/2,-1\n"
        + atoms("Mn1 0.1 0.2 0.3 1")
        + "loop_\n_atom_site_moment.label\n_atom_site_moment.crystalaxis_x\nMn1 4.5\n"
    )
    phase = phase_from_cif(written(tmp_path, text, "magnetic.mcif"))
    assert (phase.formula, phase.sites_per_cell) == ("Mn", 4)


@pytest.mark.parametrize(
    ("edge_a", "reason"), [(40.0, r"6\.4e\+04 cubic angstrom"), (1.2, "1.728"), (-4, "close no")]
)
def test_cells_too_large_too_small_or_impossible_are_refused(
    tmp_path: Path, edge_a: float, reason: str
) -> None:
    text = cell(edge_a, edge_a, edge_a) + ICE_OPERATIONS + atoms("Fe1 0 0 0 1")
    with pytest.raises(MeasurementFileError, match=reason):
        phase_from_cif(written(tmp_path, text))


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("Fe1 ? 0 0 1", "coordinate x of site 'Fe1'"),
        ("Fe1 0 nan 0 1", "coordinate y of site 'Fe1'"),
        ("Fe1 0 0 0 much", "occupancy of site 'Fe1'"),
        ("Q1 0 0 0 1", "'Q1' is of no known element"),
        ("Fe1 0 0 0 -0.5", "'Fe1' has an occupancy of -0.5"),
    ],
)
def test_a_damaged_row_is_named(tmp_path: Path, row: str, reason: str) -> None:
    text = cell(4, 4, 4) + ICE_OPERATIONS + atoms(row)
    with pytest.raises(MeasurementFileError, match=reason):
        phase_from_cif(written(tmp_path, text))


@pytest.mark.parametrize("text", ["", "no CIF at all", "data_x\n_cell_length_a 3\n", "\x00\xff"])
def test_a_file_without_a_structure_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(MeasurementFileError, match=re.escape(str(tmp_path))):
        phase_from_cif(written(tmp_path, text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MeasurementFileError, match=r"absent\.cif"):
        phase_from_cif(tmp_path / "absent.cif")
    with pytest.raises(MeasurementFileError, match="cannot be read"):
        phase_from_cif(tmp_path)


def test_of_several_structures_one_must_be_chosen(tmp_path: Path) -> None:
    path = written(tmp_path, RUTILE + RUTILE.replace("data_rutile", "data_second"))
    with pytest.raises(MeasurementFileError, match="rutile, second"):
        phase_from_cif(path)
    assert phase_from_cif(path, block="second").formula == "TiO2"
    with pytest.raises(MeasurementFileError, match="'third'"):
        phase_from_cif(path, block="third")


def test_a_latin_1_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "umlaut.cif"
    path.write_bytes(("# Müller-Buschbaum, 4.59 Å\n" + RUTILE).encode("latin-1"))
    assert phase_from_cif(path).formula == "TiO2"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_files_of_wide_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "wide.cif"
    path.write_bytes(RUTILE.encode(encoding))
    assert phase_from_cif(path).formula == "TiO2"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (RUTILE.encode("utf-16")[:-1], "marked as UTF-16.* damaged at byte"),
        (RUTILE.rstrip().rpartition(" ")[0].encode(), r"is the file whole\? It ends at line \d+: "),
        (RUTILE[: RUTILE.index("loop_")].encode(), r"and whole\? It ends at line \d+: "),
        (b"<html>404</html>", "is no CIF file: no line begins with 'data_'"),
        (RUTILE.encode().replace(b"_cell_length_b", b"\0", 1), r"line \d+ holds binary data"),
        (b" \n", "the file is empty"),
    ],
)
def test_a_damaged_file_is_told_with_its_last_line(
    tmp_path: Path, data: bytes, message: str
) -> None:
    path = tmp_path / "damaged.cif"
    path.write_bytes(data)
    with pytest.raises(MeasurementFileError, match=message):
        phase_from_cif(path)


@pytest.mark.real_data
def test_a_flat_cell_is_refused(cases_dir: Path) -> None:
    with pytest.raises(MeasurementFileError, match="volume"):
        phase_from_cif(cases_dir / "structures" / "superflat_V23Ni.cif")


@pytest.mark.parametrize(
    ("text", "declared", "element"),
    [
        ("La3+", "", "La"),
        ("O2-", "", "O"),
        ("SrA", "", "Sr"),
        ("OH", "", "O"),
        ("Wat2", "", "O"),
        ("D1", "", "D"),
        ("CA1", "Ca C O", "C"),
        ("CA1", "Ca O", "Ca"),
        ("pb", "Pb", "Pb"),
        ("Cu(1)", "", "Cu"),
    ],
)
def test_elements_of_symbols_and_labels(text: str, declared: str, element: str) -> None:
    assert element_of(text, frozenset(declared.split())) == element


def test_operations_are_read_in_their_usual_spellings() -> None:
    for text in ("1/2+x,-y,z", "x+1/2, -y, z", "'X+0.5, -Y, Z'", "0.5+x,-y,+z,-1"):
        rotation, translation = parse_operation(text)
        assert rotation == pytest.approx(np.diag([1, -1, 1]))
        assert translation == pytest.approx([0.5, 0, 0])
    for text in ("x,y", "x,y,w", "x,y,", "x,x,z"):
        with pytest.raises(ValueError, match="no symmetry operation"):
            parse_operation(text)
