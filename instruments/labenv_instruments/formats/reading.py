"""Find the reader that a file's content asks for, and read it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Protocol, cast

from pydantic import ValidationError

from labenv_schemas.base import describe
from labenv_schemas.errors import LabEnvError, MeasurementFileError

if TYPE_CHECKING:
    from labenv_schemas.measurement import Measurement

_MAX_BYTES = 500_000_000
_NOT_FORMATS = {"reading"}

_KNOWN_UNREAD = (
    (b"RAW", "a Bruker RAW file; export it as XY or XRDML"),
    (b"PK\x03\x04", "a zip container (BRML, RASX and the like); export the scan as XY or XRDML"),
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

    def read(self, data: bytes, source: str) -> Measurement:
        """Read the bytes; `source` names the file in messages."""
        ...


def format_ids() -> tuple[str, ...]:
    """Return the ids of the formats that can be read, in the order in which they are tried."""
    found = {module.name for module in iter_modules([str(Path(__file__).parent)])} - _NOT_FORMATS
    # plain columns match almost anything that is text, so they come last
    return tuple(sorted(found, key=lambda name: (name == "text_columns", name)))


def read_measurement(path: str | Path) -> Measurement:
    """Read a measurement file of any known format.

    Args:
        path: The file; its name and ending do not matter.

    Returns:
        The measurement, with file name, format and encoding in its provenance.

    Raises:
        MeasurementFileError: If the file cannot be opened, is empty, is of an unknown format, or is
            damaged; the message names the file, the place and what to do.
        LabEnvError: Whatever a reader raises on purpose, unchanged.
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
            try:
                return reader.read(data, str(place))
            except LabEnvError:
                raise
            except ValueError as cause:
                why = describe(cause) if isinstance(cause, ValidationError) else cause
                message = f"{place}: read as {reader.NAME}, but {why}"
                raise MeasurementFileError(message) from cause
    for start, what in _KNOWN_UNREAD:
        if data.startswith(start):
            raise MeasurementFileError(f"{place}: this is {what}")
    raise MeasurementFileError(f"{place}: not recognised; readable are {', '.join(format_ids())}")
