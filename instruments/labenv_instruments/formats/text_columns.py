"""Columns of numbers: xy, xye and CSV exports of diffractograms, with any decimal sign.

The decimal sign and the separator are decided once per file. Comment lines and headings may stand
before the numbers only; a line that is no row of numbers among them is reported by its number.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, cast

import numpy as np

from labenv_instruments.formats.scans import K_ALPHA_A, TWO_THETA, IntensityUnit
from labenv_instruments.formats.times import moment_of
from labenv_schemas.decoding import decode, is_text
from labenv_schemas.errors import MeasurementFileError
from labenv_schemas.measurement import Diffractogram, Measurement, QualityFlag, Radiation

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAME = "columns of numbers"
_TOKEN = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|[+-]?nan|[+-]?inf(?:inity)?", re.I)
_SEPARATORS = re.compile(r"[;,\s]+")
_COMMENT = re.compile(r"^\s*(?:[#;!'\"*%]|//|/\*)")
_WAVELENGTH = re.compile(
    r"(?:wave\s*length|lambda)(?:_?1)?[^0-9\n]{0,30}([0-9]+[.,][0-9]+)\s*(nm|pm)?\b",
    re.IGNORECASE,
)
_SECOND_WAVELENGTH = re.compile(
    r"(?:k-?alpha2(?:\s*wave\s*length)?|(?:wave\s*length|lambda)_?2)[^0-9\n]{0,12}"
    r"([0-9]+[.,][0-9]+)\s*(nm|pm)?\b",
    re.IGNORECASE,
)
_RATIO = re.compile(r"k-?alpha2/k-?alpha1 ratio\s*[=:]\s*([0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)", re.I)
_STEP_TIME = re.compile(
    r"(?:time\s*per\s*step|step\s*time|count(?:ing)?[ _]?time)[^0-9\n]{0,12}"
    r"([0-9]+(?:[.,][0-9]+)?(?:e[+-]?[0-9]+)?)\s*(ms|min|h)?\b",
    re.IGNORECASE,
)
_SECONDS = {"ms": 1e-3, "min": 60.0, "h": 3600.0}
_ANGSTROMS = {"nm": 10.0, "pm": 0.01}
_OTHER_AXIS = re.compile(
    r"q|s|d|d[ _-]?spacing|e|energy|time|t|theta|omega|phi|chi|temp\w*|kev|.*\brad",
    re.IGNORECASE,
)
_STARTED = re.compile(
    r"(?:scan time|start(?:ed|[ _]?time)|measurement date(?:/time)?|date(?:[ _/]?time)?)"
    r"\s*[=:,]\s*\"?([^\"\n]+)",
    re.IGNORECASE,
)
_KELVIN = re.compile(r"temp(?:erature)?\s*\(K\)\s*[=:,]\s*([0-9]+(?:\.[0-9]+)?)", re.IGNORECASE)
_ANODE = re.compile(r"anode[^A-Za-z\n]{0,6}([A-Z][a-z])", re.IGNORECASE)


def _is_row(line: str) -> bool:
    """Return whether a line is numbers; a value that is none is refused later, with its place."""
    text = line.strip()
    if not text or text[0] not in "+-.,0123456789":
        return False
    words = [word for word in _SEPARATORS.split(text) if word]
    return len(words) > 1 and all(_TOKEN.fullmatch(word) for word in words)


def matches(data: bytes) -> bool:
    """Return whether the bytes are text with at least three rows of two or more numbers."""
    if not is_text(data):
        return False
    try:
        text, _ = decode(data[:200_000])
    except ValueError:
        return False
    rows = 0
    for line in text.splitlines():
        rows = rows + 1 if _is_row(line) else rows
        if rows >= 3:
            return True
    return False


def read(data: bytes, source: str) -> tuple[Measurement, ...]:
    """Read two or three columns: angle, intensity and, in xye, its standard uncertainty.

    Args:
        data: The file.
        source: The file's name, for messages.

    Returns:
        A diffractogram of each block of rows. A wavelength, anode or time per step named in the
        heading is used; copper Kα is assumed, and flagged, otherwise.

    Raises:
        MeasurementFileError: If a row is damaged, or the first column is no scattering angle.
    """
    text, encoding = decode(data)
    lines = text.splitlines()
    blocks = _blocks(lines, source)
    return tuple(
        _scan(lines[:end], first, heading, source, encoding, f"scan {number}")
        for number, (first, end, heading) in enumerate(blocks, 1)
    )


def _blocks(lines: list[str], source: str) -> list[tuple[int, int, str]]:
    """Find where scans begin: a comment among the rows parts one from the next.

    Returns:
        First line of each, the line after its last, and its heading with what stands before all.

    Raises:
        MeasurementFileError: If comments leave blocks of no more than two rows.
    """
    first = next(i for i, line in enumerate(lines) if _is_row(line))
    common = "\n".join(lines[:first])
    found, remarks = [(first, len(lines), common)], list[str]()
    for number, line in enumerate(lines[first:], first):
        if _COMMENT.match(line):
            remarks.append(line)
        elif line.strip() and remarks:
            begun, _, heading = found[-1]
            found[-1] = (begun, number - len(remarks), heading)
            found.append((number, len(lines), "\n".join([common, *remarks])))
            remarks = []
    for begun, end, _ in found[:-1]:
        if sum(bool(line.strip()) for line in lines[begun:end]) < 3:
            raise MeasurementFileError(
                f"{source}: a comment after line {end} parts the rows, with fewer than three "
                "before it; delete comments that stand among the rows"
            )
    return found


def _scan(
    lines: list[str], first: int, heading: str, source: str, encoding: str, part: str
) -> Measurement:
    table, damage = _table(lines, first, source)
    _check_axis(heading, source)
    angles = table[:, 0]
    good = angles > 0.0
    if not (np.diff(angles) > 0).all() and (np.diff(angles) < 0).all():
        table, angles, good = table[::-1], angles[::-1], good[::-1]
    if not (np.diff(angles) > 0).all():
        row = int(np.argmin(np.diff(angles) > 0)) + first + 2
        raise MeasurementFileError(f"{source}: the first column does not increase at line {row}")
    if angles[-1] > 180.0 or good.sum() < 2:
        raise MeasurementFileError(
            f"{source}: the first column runs from {angles[0]:g} to {angles[-1]:g}, "
            "which is no scattering angle in degrees"
        )
    radiation, flags = _radiation(heading)
    flags += damage
    if not good.all():
        dropped = int((~good).sum())
        flags.append(QualityFlag(code="dropped", message=f"{dropped} points at or below 0°"))
    unit, intensity, more = _intensity(table[good], heading)
    step_time = _STEP_TIME.search(heading)
    facts = {"file": source, "format": NAME, "encoding": encoding, "part": part}
    facts["axis"] = TWO_THETA
    started = _STARTED.search(heading)
    moment = moment_of(started[1]) if started else None
    if moment:
        facts["started" if moment.utc else "started_local"] = moment.text
    kelvin = _KELVIN.search(heading)
    if kelvin:
        facts["temperature_k"] = kelvin[1]
    scan = Diffractogram(
        two_theta_deg=angles[good],
        counts=intensity,
        intensity_unit=unit,
        counting_time_s=_in_seconds(step_time) or None if step_time else None,
        radiation=radiation,
        flags=(*flags, *more),
        measured_at=moment.utc if moment else None,
        provenance=facts,
    )
    return cast("Measurement", scan)


def _table(
    lines: list[str], first: int, source: str
) -> tuple[NDArray[np.float64], list[QualityFlag]]:
    body = [(i, line) for i, line in enumerate(lines[first:], first + 1) if line.strip()]
    plain = [line for _, line in body if not _COMMENT.match(line)]
    _check_separators(plain, source)
    comma = _decimal_comma(plain)
    rows: dict[int, list[float]] = {}
    for number, line in body:
        if _COMMENT.match(line):
            continue
        fields = _fields(line, comma=comma)
        try:
            row = [float(field) for field in fields]
        except ValueError:
            raise MeasurementFileError(
                f"{source}: line {number} is no row of numbers: {line.strip()[:60]!r}"
            ) from None
        if len(fields) < 2:
            raise MeasurementFileError(f"{source}: line {number} has one column")
        _check_finite(row, fields, f"{source}: line {number}")
        rows[number] = row
    flags = _damaged_uncertainties(rows)
    columns = 3 if not flags and all(len(row) >= 3 for row in rows.values()) else 2
    return np.array([row[:columns] for row in rows.values()]), flags


def _damaged_uncertainties(rows: dict[int, list[float]]) -> list[QualityFlag]:
    """Say which lines spoil a column of uncertainties, which then is not used.

    Args:
        rows: Numbers of each line.

    Returns:
        A flag, if most lines have a positive third number and some have not.
    """
    bad = [
        number
        for number, row in rows.items()
        if len(row) < 3 or not (math.isfinite(row[2]) and row[2] > 0.0)
    ]
    if not 0 < len(bad) <= len(rows) // 2:
        return []
    row = rows[bad[0]]
    what = f"{row[2]:g}" if len(row) > 2 else "missing"
    more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
    message = (
        f"uncertainties ignored: that of line {bad[0]} is {what}{more}; those of counts are assumed"
    )
    return [QualityFlag(code="uncertainty_ignored", message=message)]


def _check_finite(row: list[float], fields: list[str], place: str) -> None:
    """Refuse an angle or intensity that is no number; an uncertainty may be none.

    Raises:
        MeasurementFileError: With the place and what to do.
    """
    for what, value, text in zip(("angle", "intensity"), row, fields, strict=False):
        if not math.isfinite(value):
            raise MeasurementFileError(
                f"{place}: the {what} is {text}, which is no measured value; delete the line (the "
                "gap is interpolated), or export the scan again"
            )


def _check_separators(lines: list[str], source: str) -> None:
    """Refuse commas of which nobody can tell what they separate.

    Raises:
        MeasurementFileError: If they may be thousands, or decimal signs as well as separators.
    """
    sample = lines[:2000]
    between = [line for line in sample if re.search(r"\d,\d", line)]
    if not between:
        return
    points = any("." in line for line in sample)
    others = all(re.search(r"[;\t]|\d\s+[+-]?\d", line) for line in between)
    if points and others:
        raise MeasurementFileError(
            f"{source}: there are points and commas in the numbers of {between[0].strip()[:40]!r}; "
            "if the commas part thousands, export without them"
        )
    counts = {line.count(",") for line in sample}
    if (
        not points
        and not others
        and counts <= {3, 5}
        and all(re.fullmatch(r"[-+\d,]+", line.strip()) for line in sample)
    ):
        raise MeasurementFileError(
            f"{source}: the commas of {between[0].strip()[:40]!r} may be decimal signs, separators "
            "or both; export with semicolons or tabs between columns"
        )


def _decimal_comma(lines: list[str]) -> bool:
    """Return whether commas are decimal signs: another separator is there, and no point is."""
    sample = lines[:2000]
    if not any("," in line for line in sample) or any("." in line for line in sample):
        return False
    return all(re.search(r"[;\t]|\S\s+\S", line) for line in sample)


def _fields(line: str, *, comma: bool) -> list[str]:
    line = line.strip().rstrip(";,")
    if comma:
        return line.replace(",", ".").replace(";", " ").split()
    return line.replace(";", " ").replace(",", " ").split()


def _number(text: str) -> float:
    return float(text.replace(",", "."))


def _in_angstrom(found: re.Match[str]) -> float:
    return _number(found[1]) * _ANGSTROMS.get((found[2] or "").lower(), 1.0)


def _in_seconds(found: re.Match[str]) -> float:
    return _number(found[1]) * _SECONDS.get((found[2] or "").lower(), 1.0)


def _check_axis(heading: str, source: str) -> None:
    """Refuse a table whose own heading says that its first column is no 2θ in degrees.

    Raises:
        MeasurementFileError: With the heading.
    """
    last = next((line for line in reversed(heading.splitlines()) if line.strip()), "")
    columns = re.split(r"[,;\t]|\s{2,}", last.strip().lstrip("#;!%*'\" "))
    if len(columns) < 2:
        columns = last.strip().lstrip("#;!%*'\" ").split()
    if len(columns) >= 2 and _OTHER_AXIS.fullmatch(re.sub(r"\s*[(\[].*", _unit_kept, columns[0])):
        raise MeasurementFileError(
            f"{source}: the first column is called {columns[0]!r}, which is no 2θ in degrees; "
            "convert it, or export the scan against 2θ"
        )


def _unit_kept(found: re.Match[str]) -> str:
    return " rad" if "rad" in found[0].lower() else ""


def _radiation(heading: str) -> tuple[Radiation, list[QualityFlag]]:
    second = _SECOND_WAVELENGTH.search(heading)
    stated = next(
        (
            one
            for one in _WAVELENGTH.finditer(heading)
            if second is None or not second.start() <= one.start() < second.end()
        ),
        None,
    )
    if stated:
        wavelength = _in_angstrom(stated)
        if second and wavelength < _in_angstrom(second) < 1.02 * wavelength:
            named = _ANODE.search(heading)
            two = _in_angstrom(second)
            anode = named[1].capitalize() if named else None
            ratio = _RATIO.search(heading)
            share = {"k_alpha2_ratio": _number(ratio[1])} if ratio else {}
            return Radiation(k_alpha1_a=wavelength, k_alpha2_a=two, anode=anode, **share), []
        for anode, (one, two) in K_ALPHA_A.items():
            if abs(wavelength - one) < 1e-3:
                return Radiation(k_alpha1_a=one, k_alpha2_a=two, anode=anode), []
        mono = Radiation(k_alpha1_a=wavelength, k_alpha2_a=None, k_alpha2_ratio=0.0, anode=None)
        return mono, []
    named = _ANODE.search(heading)
    if named and named[1].capitalize() in K_ALPHA_A:
        anode = named[1].capitalize()
        one, two = K_ALPHA_A[anode]
        return Radiation(k_alpha1_a=one, k_alpha2_a=two, anode=anode), []
    flag = QualityFlag(
        code="wavelength_assumed", message="the file states no wavelength; copper Kα was assumed"
    )
    return Radiation(), [flag]


def _is_no_uncertainty(intensity: NDArray[np.float64], third: NDArray[np.float64]) -> bool:
    """Return whether a column cannot be the uncertainty of counts: of 20 it would be a fifth."""
    whole = bool((intensity == np.round(intensity)).all())
    return (
        whole
        and float(np.median(intensity)) >= 20.0
        and bool(np.median(third / np.maximum(intensity, 1.0)) > 0.5)
    )


def _intensity(
    table: NDArray[np.float64], heading: str
) -> tuple[IntensityUnit, NDArray[np.float64], list[QualityFlag]]:
    """Return unit and values; with uncertainties, values are rescaled to equivalent counts."""
    intensity = table[:, 1]
    rate = re.search(r"\bcps\b|counts?\s*/\s*s|counts per second", heading, re.IGNORECASE)
    if rate and table.shape[1] == 2:
        return "counts_per_second", intensity, []
    if table.shape[1] == 3 and _is_no_uncertainty(intensity, table[:, 2]):
        message = (
            "the third column is as large as the intensities; it was not taken for uncertainty"
        )
        flag = QualityFlag(code="third_column_ignored", message=message)
        unit, values, more = _intensity(table[:, :2], heading)
        return unit, values, [*more, flag]
    if table.shape[1] == 3 and (table[:, 2] > 0).all() and (intensity > 0).any():
        scale = float(np.median((intensity / table[:, 2] ** 2)[intensity > 0]))
        if abs(scale - 1.0) < 0.02:
            return "counts", intensity, []
        if scale > 0:
            flag = QualityFlag(
                code="rescaled",
                message=f"intensities times {scale:.4g}, so that their stated uncertainties are "
                "those of counts",
            )
            return "counts", intensity * scale, [flag]
    whole = bool((intensity == np.round(intensity)).all()) and bool((intensity >= 0).all())
    return ("counts" if whole and intensity.max() > 20 else "arbitrary"), intensity, []
