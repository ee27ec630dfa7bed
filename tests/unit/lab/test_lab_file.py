"""Lab files: every limit has a meaning at its station, or the file is refused with the line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import pytest
import yaml

from labenv.campaigns.lab_file import load_lab
from labenv_instruments import limits
from labenv_schemas import proposal
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

STATIONS = {
    "furnace": "eurotherm+tcp://127.0.0.1?model=3216",
    "cryostat": "multipyvu+tcp://127.0.0.1",
    "balance": "mt_sics+tcp://127.0.0.1",
    "stage": "lakeshore_336+tcp://127.0.0.1",
    "diffractometer": "aeris+tcp://127.0.0.1?folder=scans",
}


def lab(tmp_path: Path, station: str, given: Any) -> Path:
    stations = {name: {"address": address} for name, address in STATIONS.items()}
    stations[station]["limits"] = given
    path = tmp_path / "lab.yaml"
    path.write_text(yaml.safe_dump({"hand": "tcp://127.0.0.1", "stations": stations}))
    return path


@pytest.mark.parametrize(
    ("station", "given"),
    [
        ("furnace", {"max_temperature": "1450 degC", "max_ramp": "20 K/min"}),
        ("furnace", {"atmospheres": ["air", "mixture"]}),
        ("cryostat", {"max_field": "5 T", "min_temperature": "4 K", "max_temperature": "300 K"}),
        ("balance", {"max_dose": "2 g"}),
        ("stage", {"max_temperature": "350 K", "max_ramp": "10 K/min"}),
    ],
)
def test_limits_of_what_a_device_does_are_taken(
    tmp_path: Path, station: str, given: dict[str, Any]
) -> None:
    assert load_lab(lab(tmp_path, station, given)).stations[station].limits == given


@pytest.mark.parametrize(
    ("station", "given", "says"),
    [
        ("furnace", {"max_temperature": 1450}, "has no unit"),
        ("furnace", {"max_temperature": "nan degC"}, "not a finite number"),
        ("furnace", {"max_temperature": "20 K/min"}, "not a unit of temperature"),
        ("furnace", {"max_temp": "100 degC"}, "did you mean 'max_temperature'"),
        ("furnace", {"atmospheres": ["air", "xenon"]}, "'xenon' is not one of air, oxygen"),
        ("furnace", {"atmospheres": []}, "at least 1"),
        ("furnace", {"max_field": "5 T"}, "holds nothing back here: the device does heat"),
        ("diffractometer", {"max_temperature": "30 degC"}, "holds nothing back here"),
        ("balance", {"max_current": "1 mA"}, "holds nothing back here"),
        ("balance", {"max_dose": "0 mg"}, "must be above 0"),
        ("cryostat", {"max_field": "-3 T"}, "must be above 0"),
        ("cryostat", {"min_temperature": "50 K", "max_temperature": "10 K"}, "nothing is allowed"),
    ],
)
def test_a_limit_that_limits_nothing_is_refused_with_its_place(
    tmp_path: Path, station: str, given: dict[str, Any], says: str
) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        load_lab(lab(tmp_path, station, given))
    assert f"stations.{station}.limits" in str(caught.value)


@pytest.mark.parametrize(
    "second", ["eurotherm+tcp://localhost:502?model=3216", STATIONS["furnace"]]
)
def test_two_stations_at_one_device_are_refused(tmp_path: Path, second: str) -> None:
    stations = {"one": {"address": STATIONS["furnace"]}, "two": {"address": second}}
    path = tmp_path / "lab.yaml"
    path.write_text(yaml.safe_dump({"hand": "tcp://127.0.0.1", "stations": stations}))
    with pytest.raises(ConfigError, match=r"stations\.two\.address.*station one is at the same"):
        load_lab(path)


def test_one_robot_may_be_several_stations(tmp_path: Path) -> None:
    hand = "bench_hand+tcp://127.0.0.1"
    stations = {"mixer": {"address": hand}, "press": {"address": hand, "role": "pellet_press"}}
    path = tmp_path / "lab.yaml"
    path.write_text(yaml.safe_dump({"hand": "tcp://127.0.0.1", "stations": stations}))
    assert list(load_lab(path).stations) == ["mixer", "press"]


def test_every_atmosphere_can_be_a_limit() -> None:
    assert set(get_args(limits._Gas)) == {*get_args(proposal.AtmosphereName), "mixture"}
