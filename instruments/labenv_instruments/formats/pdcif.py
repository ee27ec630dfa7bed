"""pdCIF: powder diffractograms in CIF, with listed angles or with a first, a last and a step.

Every data block with a pattern gives one measurement. Of several intensities the one nearest to
the detector is read, the others are named in a flag; calculated ones are never read. A standard
uncertainty in brackets, as in ``5540(160)``, is not part of the number.

Source:
    CIF dictionary pdCIF 1.0.1, International Tables for Crystallography G (2005), chapter 4.2, and
    the syntax of CIF 1.1 (ibid., chapter 2.2). A small own parser, because the CIF libraries here
    read structures and would be a heavy dependency of the instruments.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from labenv_instruments.formats.scans import (
    TWO_THETA,
    IntensityUnit,
    XrayScan,
    grid,
    identity,
    radiation_of,
    to_measurement,
)
from labenv_instruments.formats.times import moment_of
from labenv_schemas.decoding import decode, is_text
from labenv_schemas.errors import MeasurementFileError
from labenv_schemas.measurement import Measurement, QualityFlag

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

NAME = "pdCIF"
_TOKEN = re.compile(
    r"""(?P<blank>\s+|\#[^\n]*)
      | (?P<field>(?<=\n);(?:[^\n]*)(?:\n(?!;)[^\n]*)*\n;)
      | (?P<quoted>'(?:[^'\n]|'(?=\S))*'(?=\s|\Z)|"(?:[^"\n]|"(?=\S))*"(?=\s|\Z))
      | (?P<plain>\S+)""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:\((\d+)\))?$")
_INTENSITIES: tuple[tuple[str, IntensityUnit], ...] = (
    ("_pd_meas_counts_total", "counts"),
    ("_pd_meas_intensity_total", "arbitrary"),
    ("_pd_proc_intensity_total", "arbitrary"),
    ("_pd_proc_intensity_net", "arbitrary"),
    ("_pd_meas_intensity_net", "arbitrary"),
)
_OTHER_AXES = (
    ("_pd_meas_time_of_flight", "time of flight", "us"),
    ("_pd_proc_d_spacing", "d spacing", "angstrom"),
    ("_pd_proc_energy_incident", "incident energy", "eV"),
    ("_pd_proc_recip_len_q", "scattering vector", "1/angstrom"),
)
_HEADING = re.compile(rb"^(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*data_", re.MULTILINE)
_MARKS = (b"_pd_meas_", b"_pd_proc_", b"_pd_meas.", b"_pd_proc.", b"_pd_data.")


@dataclass
class _Block:
    name: str
    items: dict[str, str] = field(default_factory=dict[str, str])
    columns: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


def matches(data: bytes) -> bool:
    """Return whether the bytes are a CIF that names a powder pattern."""
    if not is_text(data):
        return False
    plain = data.replace(b"\x00", b"").lower() if b"\x00" in data[:200] else data.lower()
    return bool(
        re.search(rb"^(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*data_", plain, re.MULTILINE)
    ) and any(m in plain for m in _MARKS)


def read(data: bytes, source: str) -> tuple[Measurement, ...]:
    """Read the pattern of every data block.

    Args:
        data: The file.
        source: The file's name, for messages.

    Returns:
        Diffractograms, or spectra against another axis such as a time of flight.

    Raises:
        MeasurementFileError: If the CIF is damaged, or no block holds intensities with an axis.
    """
    text, encoding = decode(data)
    found: list[Measurement] = []
    for block in _blocks(text, source):
        scan = _scan(block, f"{source}: data_{block.name}")
        if scan is not None:
            scan.part = f"data_{block.name}"
            provenance = {"file": source, "format": NAME, "encoding": encoding}
            found.append(to_measurement(scan, provenance))
    if not found:
        names = ", ".join(name for name, _ in _INTENSITIES)
        raise MeasurementFileError(
            f"{source}: no data block holds measured intensities ({names}); a CIF of a structure "
            "or of a calculated pattern is no measurement"
        )
    return tuple(found)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    text = "\n" + text.replace("\r\n", "\n").replace("\r", "\n")
    for found in _TOKEN.finditer(text):
        kind, token = str(found.lastgroup), found[0]
        if kind == "plain":
            yield "plain", token
        elif kind == "quoted":
            yield "value", token[1:-1]
        elif kind == "field":
            yield "value", token[1:-2].strip()


def _blocks(text: str, source: str) -> list[_Block]:
    blocks: list[_Block] = []
    block = _Block("")
    name: str | None = None
    loop: list[str] | None = None
    values: list[str] = []
    for kind, token in [*_tokens(text), ("plain", "data_")]:
        lower = token.lower() if kind == "plain" else ""
        starts = lower.startswith(("data_", "loop_", "save_", "global_"))
        if loop is not None and (starts or (lower.startswith("_") and values)):
            _close(block, loop, values, source)
            loop, values = None, []
        if lower.startswith("data_"):
            block, name = _Block(token[5:]), None
            blocks.append(block)
        elif lower.startswith("loop_"):
            loop, values, name = [], [], None
        elif starts:
            name = None
        elif lower.startswith("_"):
            tag = _plain_name(lower)
            if loop is not None:
                loop.append(tag)
            else:
                name = tag
        elif loop is not None:
            values.append(token)
        elif name is not None:
            block.items[name], name = token, None
    return blocks[:-1]


def _plain_name(name: str) -> str:
    """Return the name as dictionaries of the first generation spell it: without the full stop."""
    return name.replace(".", "_", 1)


def _close(block: _Block, loop: list[str], values: list[str], source: str) -> None:
    if not loop:
        return
    if len(values) % len(loop):
        raise MeasurementFileError(
            f"{source}: the loop of {loop[0]} in data_{block.name} has {len(loop)} columns but "
            f"{len(values)} values; a value is missing, or the file is cut off"
        )
    for index, tag in enumerate(loop):
        block.columns[tag] = values[index :: len(loop)]


def _scan(block: _Block, place: str) -> XrayScan | None:
    present: list[tuple[str, IntensityUnit]] = [
        (name, unit) for name, unit in _INTENSITIES if _has_numbers(block, name)
    ]
    if not present:
        return None
    name, unit = present[0]
    intensity, uncertainty = _column(block, name, place)
    axis, axis_unit, positions = _positions(block, name, intensity.size, place)
    measured = np.isfinite(intensity) & np.isfinite(positions)
    flags: list[QualityFlag] = []
    if not measured.all():
        message = f"{int((~measured).sum())} points without a value are left out"
        flags.append(QualityFlag(code="rows_skipped", message=message))
    if len(present) > 1:
        message = f"{name} was read; {', '.join(n for n, _ in present[1:])} are there too"
        flags.append(QualityFlag(code="other_intensities", message=message))
    if unit == "counts" and not (intensity[measured] == np.round(intensity[measured])).all():
        message = f"{name} holds numbers that are not whole; they were scaled or corrected"
        flags.append(QualityFlag(code="counts_not_whole", message=message))
    if (block.items.get("_diffrn_radiation_probe") or "").lower().startswith("neutron"):
        flags.append(QualityFlag(code="neutrons", message="measured with neutrons, not x-rays"))
    one, two, ratio = _wavelengths(block)
    facts = {"column": name}
    if np.isfinite(uncertainty).any():
        facts["uncertainties"] = "in the file"
    kelvin = _value(block, "_diffrn_ambient_temperature") or _value(block, "_pd_meas_temperature")
    if kelvin is not None:
        facts["temperature_k"] = f"{kelvin:g}"
    return XrayScan(
        positions=positions[measured],
        intensity=intensity[measured],
        axis=axis,
        axis_unit=axis_unit,
        intensity_unit=unit,
        counting_time_s=_counting_time(block),
        radiation=radiation_of(one, two, ratio, None if one and not two else _anode(block)),
        started=moment_of(block.items.get("_pd_meas_datetime_initiated")),
        instrument=identity("pdcif", block.items.get("_diffrn_measurement_device_type")),
        sample_id=_text(block, "_pd_spec_description") or _text(block, "_pd_block_id"),
        flags=flags,
        facts=facts,
    )


def _has_numbers(block: _Block, name: str) -> bool:
    return any(_NUMBER.match(word) for word in block.columns.get(name, ()))


def _column(block: _Block, name: str, place: str) -> tuple[Floats, Floats]:
    values: list[float] = []
    uncertainties: list[float] = []
    for number, word in enumerate(block.columns[name], 1):
        if word in {".", "?"}:
            values.append(math.nan)
            uncertainties.append(math.nan)
            continue
        value, uncertainty = _parsed(word)
        if not math.isfinite(value):
            raise MeasurementFileError(
                f"{place}: value {number} of {name} is {word[:30]!r}, no finite number; write '.' "
                "for a missing value"
            )
        values.append(value)
        uncertainties.append(uncertainty)
    return np.array(values), np.array(uncertainties)


def _parsed(word: str) -> tuple[float, float]:
    found = _NUMBER.match(word)
    if not found:
        return math.nan, math.nan
    mantissa = word.partition("(")[0]
    value = float(mantissa)
    if not found[1]:
        return value, math.nan
    digits, _, power = mantissa.lower().partition("e")
    decimals = len(digits.partition(".")[2])
    exponent = int(power or 0) - decimals
    return value, float(f"{found[1][:18]}e{exponent}") if abs(exponent) < 300 else math.nan


def _value(block: _Block, name: str) -> float | None:
    words = block.columns.get(name) or [block.items.get(name, "?")]
    value, _ = _parsed(words[0])
    return value if math.isfinite(value) else None


def _text(block: _Block, name: str) -> str | None:
    text = (block.items.get(name) or "").strip()
    return None if text in {"", "?", "."} else text


def _positions(block: _Block, intensity: str, count: int, place: str) -> tuple[str, str, Floats]:
    order: list[Literal["meas", "proc"]] = ["meas", "proc"]
    if intensity.startswith("_pd_proc"):
        order.reverse()
    listed = {"meas": "_pd_meas_2theta_scan", "proc": "_pd_proc_2theta_corrected"}
    for stage in order:
        if len(block.columns.get(listed[stage], ())) == count:
            return TWO_THETA, "deg", _column(block, listed[stage], place)[0]
    for stage in order:
        angles = _range(block, stage, count, place)
        if angles is not None:
            return TWO_THETA, "deg", angles
    for name, axis, unit in _OTHER_AXES:
        if len(block.columns.get(name, ())) == count:
            return axis, unit, _column(block, name, place)[0]
    lengths = {n: len(v) for n, v in block.columns.items() if n in listed.values()}
    found = f" (there are {lengths}, for {count} intensities)" if lengths else ""
    raise MeasurementFileError(
        f"{place} has intensities but no 2θ axis: neither a list of angles nor "
        f"_pd_meas_2theta_range_min with _max or _inc{found}; add one of them"
    )


def _range(block: _Block, stage: str, count: int, place: str) -> Floats | None:
    ends = ("min", "max", "inc")
    low, high, step = (_value(block, f"_pd_{stage}_2theta_range_{end}") for end in ends)
    if low is None or (high is None and not step):
        return None
    if high is not None and step:
        expected = round((high - low) / step) + 1
        if abs(expected - count) > max(1, 0.001 * count):
            raise MeasurementFileError(
                f"{place}: from {low:g} to {high:g} by {step:g} there are {expected} angles, but "
                f"{count} intensities; correct the range or export the pattern again"
            )
        if expected == count:
            return np.linspace(low, high, count)
    if step:
        return grid(low, step, count)
    return np.linspace(low, float(high or 0.0), count)


def _wavelengths(block: _Block) -> tuple[float | None, float | None, float | None]:
    """Return Kα1, Kα2 and the ratio of their weights, from a list or a single value."""
    name, weight = "_diffrn_radiation_wavelength", "_diffrn_radiation_wavelength_wt"
    words = [_parsed(w)[0] for w in block.columns.get(name, [])]
    listed = [w for w in words if math.isfinite(w) and w > 0.0]
    if len(listed) >= 2:
        weights = [_parsed(w)[0] for w in block.columns.get(weight, [])]
        pairs = sorted(zip(listed, weights, strict=False)) if len(weights) == len(words) else []
        listed.sort()
        known = len(pairs) >= 2 and pairs[0][1] > 0.0 and pairs[1][1] >= 0.0
        ratio = min(1.0, pairs[1][1] / pairs[0][1]) if known else None
        return listed[0], listed[1] if listed[1] < 1.02 * listed[0] else None, ratio
    single = _value(block, name) or _value(block, "_pd_proc_wavelength")
    return (single if single and single > 0.0 else None), None, None


def _anode(block: _Block) -> str | None:
    text = block.items.get("_diffrn_radiation_type") or block.items.get("_diffrn_source_target")
    found = re.match(r"\s*(Cr|Fe|Co|Cu|Mo|Ag)(?![a-z])", text or "")
    return found[1] if found else None


def _counting_time(block: _Block) -> float | None:
    name = "_pd_meas_step_count_time"
    return _value(block, name) or _value(block, "_pd_meas_counts_time")
