"""Find the reader that a file's content asks for, and read it."""

from __future__ import annotations

import struct
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from pydantic import ValidationError

from labenv_schemas.base import describe
from labenv_schemas.errors import LabEnvError, MeasurementFileError
from labenv_schemas.measurement import Diffractogram, QualityFlag, Spectrum

if TYPE_CHECKING:
    from labenv_schemas.measurement import Measurement

_OPEN_ENDED = frozenset({"bruker_uxd", "text_columns"})  # formats that do not say how much follows
_MAX_BYTES = 500_000_000
_NOT_FORMATS = {"containers", "inspection", "reading", "scans", "times"}
_BROADEST_LAST = ("pdcif", "text_columns")  # plain columns match almost anything that is text

_KNOWN_UNREAD = (
    (b"RAW", "a Bruker RAW file of an unknown version; export it as XY or XRDML"),
    (
        b"PK\x03\x04",
        "a zip container that is cut off, damaged, or neither BRML nor RASX; copy the file again "
        "from the instrument, or export the scan as XY or XRDML",
    ),
    (b"%PDF", "a PDF document"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\xd0\xcf\x11\xe0", "an old Microsoft Office file; export the columns as CSV"),
)


class Format(Protocol):
    """What a format module offers."""

    NAME: str

    def matches(self, data: bytes) -> bool:
        """Whether the bytes look like this format."""
        ...

    def read(self, data: bytes, source: str) -> tuple[Measurement, ...]:
        """Read every scan in the bytes, in order; `source` names the file in messages."""
        ...


class Recognised(NamedTuple):
    """A file and the format that its content is of.

    Attributes:
        format_id: Name of the module that reads it.
        reader: That module.
        data: The file.
        source: The file's name.
    """

    format_id: str
    reader: Format
    data: bytes
    source: str


def format_ids() -> tuple[str, ...]:
    """Return the ids of the formats that can be read, in the order in which they are tried."""
    folder = str(Path(__file__).parent)
    modules = {module.name for module in iter_modules([folder]) if not module.ispkg}
    found = modules - _NOT_FORMATS
    return tuple(sorted(found - set(_BROADEST_LAST))) + tuple(
        name for name in _BROADEST_LAST if name in found
    )


def recognise(path: str | Path) -> Recognised:
    """Load a file and find its format by its content.

    Args:
        path: The file; its name and ending do not matter.

    Returns:
        The file's bytes and its reader.

    Raises:
        MeasurementFileError: If the file cannot be opened, is empty, or is of an unknown format.
    """
    place = Path(path)
    try:
        with place.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)  # a pipe or a device does not tell its size
        if len(data) > _MAX_BYTES:
            raise MeasurementFileError(f"{place}: larger than {_MAX_BYTES // 1_000_000} MB")
    except OSError as cause:
        raise MeasurementFileError(f"{place}: {cause.strerror or cause}") from cause
    if not data.strip():
        raise MeasurementFileError(f"{place}: the file is empty")
    for name in format_ids():
        reader = cast("Format", import_module(f"{__package__}.{name}"))
        if reader.matches(data):
            return Recognised(name, reader, data, str(place))
    for start, what in _KNOWN_UNREAD:
        if data.startswith(start):
            raise MeasurementFileError(f"{place}: this is {what}")
    raise MeasurementFileError(f"{place}: not recognised; readable are {', '.join(format_ids())}")


def read_all(file: Recognised) -> tuple[Measurement, ...]:
    """Read what was recognised.

    Args:
        file: The file.

    Returns:
        Every scan, in order.

    Raises:
        MeasurementFileError: If the file is damaged.
        LabEnvError: Whatever a reader raises on purpose, unchanged.
    """
    try:
        found = file.reader.read(file.data, file.source)
    except LabEnvError:
        raise
    except (ValueError, ArithmeticError, LookupError, struct.error) as cause:
        why = describe(cause) if isinstance(cause, ValidationError) else cause
        message = f"{file.source}: read as {file.reader.NAME}, but {why}"
        raise MeasurementFileError(message) from cause
    if not found:
        raise MeasurementFileError(f"{file.source}: the {file.reader.NAME} file holds no scan")
    if file.format_id in _OPEN_ENDED and not _ends_a_line(file.data):
        message = "the last line has no end, as in a file that was cut; look at its last number"
        flag = QualityFlag(code="last_line_open", message=message)
        last = found[-1].model_copy(update={"flags": (*found[-1].flags, flag)})
        found = (*found[:-1], last)
    return found


def _ends_a_line(data: bytes) -> bool:
    return data.rstrip(b" \t\x00").endswith((b"\n", b"\r"))


def read_measurements(path: str | Path) -> tuple[Measurement, ...]:
    """Read every scan, range or channel of a measurement file of any known format.

    Args:
        path: The file; its name and ending do not matter.

    Returns:
        The measurements in the order of the file, with file name, format, encoding and part in
        their provenance.

    Raises:
        MeasurementFileError: If the file cannot be opened, is empty, is of an unknown format, or is
            damaged; the message names the file, the place and what to do.
        LabEnvError: Whatever a reader raises on purpose, unchanged.
    """
    return read_all(recognise(path))


def read_measurement(path: str | Path) -> Measurement:
    """Read one measurement from a file of any known format.

    Args:
        path: The file; its name and ending do not matter.

    Returns:
        The measurement, with file name, format and encoding in its provenance. Of several scans it
        is the first that was completed, and a flag says how many there are.

    Raises:
        MeasurementFileError: If the file cannot be opened, is empty, is of an unknown format, or is
            damaged; the message names the file, the place and what to do.
        LabEnvError: Whatever a reader raises on purpose, unchanged.
    """
    found = read_measurements(path)
    if len(found) == 1:
        return found[0]
    first = next((one for one in found if not _has(one, "scan_incomplete")), found[0])
    kind = "several_scans" if isinstance(first, (Diffractogram, Spectrum)) else "other_channels"
    names = [one.provenance.get("part", "?") for one in found]
    listed = ", ".join(names if len(names) <= 6 else [*names[:5], f"... {names[-1]}"])
    message = (
        f"the file holds {len(found)} measurements: {listed}. This is "
        f"{first.provenance.get('part', 'the first')}; read_measurements gives all"
    )
    flags = (*first.flags, QualityFlag(code=kind, message=message))
    return first.model_copy(update={"flags": flags})


def _has(measurement: Measurement, code: str) -> bool:
    return any(flag.code == code for flag in measurement.flags)
