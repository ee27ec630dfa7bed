"""Zip containers and XML inside measurement files, opened without trusting what they announce."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from io import BytesIO
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np

from labenv_schemas.decoding import decode
from labenv_schemas.errors import MeasurementFileError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from xml.etree.ElementTree import Element

    from numpy.typing import NDArray

ZIP_MARK = b"PK\x03\x04"
MAX_MEMBER_BYTES = 100_000_000  # of one scan; the longest real ones hold a hundredth of that
MAX_TOTAL_BYTES = 400_000_000
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError)


def member_names(data: bytes) -> tuple[str, ...]:
    """Return the names in a zip container, or none if it cannot be opened.

    Args:
        data: The file.

    Returns:
        The names, in the order of the container's directory.
    """
    if not data.startswith(ZIP_MARK):
        return ()
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            return tuple(archive.namelist())
    except (*_DAMAGED, ValueError, UnicodeDecodeError):
        return ()


def read_members(data: bytes, names: Sequence[str], source: str) -> dict[str, bytes]:
    """Unpack some members, up to a limit.

    Args:
        data: The file.
        names: Names of the members wanted.
        source: The file's name, for messages.

    Returns:
        Name to bytes.

    Raises:
        MeasurementFileError: If a member is missing, damaged, or unpacks to more than a scan holds.
    """
    found: dict[str, bytes] = {}
    left = MAX_TOTAL_BYTES
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            for name in names:
                limit = min(MAX_MEMBER_BYTES, left)
                with archive.open(name) as member:  # the size that it announces may be a lie
                    content = member.read(limit + 1)
                if len(content) > limit:
                    raise MeasurementFileError(
                        f"{source}: {name} unpacks to more than {limit // 1_000_000} MB, which is "
                        "no scan; it was not read"
                    )
                left -= len(content)
                found[name] = content
    except KeyError as cause:
        raise MeasurementFileError(
            f"{source}: the container lacks {cause.args[0]}; export or copy the file again"
        ) from cause
    except MeasurementFileError:
        raise
    except (*_DAMAGED, ValueError) as cause:
        raise MeasurementFileError(
            f"{source}: the zip container is damaged ({cause}); copy the file again from the "
            "instrument"
        ) from cause
    return found


def parse_xml(data: bytes, source: str) -> tuple[Element, str]:
    """Parse XML in any encoding, without entities of its own, and drop its namespaces.

    Args:
        data: The document.
        source: What to call it in messages.

    Returns:
        The root, whose tags bear no namespace, and the name of the encoding.

    Raises:
        MeasurementFileError: If it is damaged, or declares entities.
    """
    try:
        text, encoding = decode(data)
    except ValueError as cause:
        raise MeasurementFileError(f"{source}: cannot be decoded, {cause}") from cause
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise MeasurementFileError(
            f"{source}: XML with its own entities is refused; export it without a DOCTYPE"
        )
    text = re.sub(r"^\ufeff?\s*<\?xml[^>]*\?>", "", text)
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as cause:
        raise MeasurementFileError(
            f"{source}: damaged XML, {cause}; the file may be cut off, copy it again"
        ) from cause
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    return root, encoding


def numbers_in(element: Element, source: str) -> NDArray[np.float64]:
    """Return the numbers that are the text of an element.

    Args:
        element: The element.
        source: The file's name, for messages.

    Returns:
        Shape (n,), finite.

    Raises:
        MeasurementFileError: If one of them is not finite, or no number; it is named by its place.
    """
    words = (element.text or "").split()
    values = np.array([number_or_nan(word) for word in words], dtype=np.float64)
    if not np.isfinite(values).all():
        bad = int(np.argmin(np.isfinite(values)))
        raise MeasurementFileError(
            f"{source}: value {bad + 1} of <{element.tag}> is {words[bad][:40]!r}, not a number; "
            "write there what its neighbours suggest, or export the scan again"
        )
    return values


def number_or_nan(word: str | None) -> float:
    """Return a number, or nan for anything that is none.

    Args:
        word: Text, with a decimal point or a decimal comma.

    Returns:
        The number.
    """
    try:
        return float((word or "").strip().replace(",", ".").replace("_", "x"))
    except ValueError:
        return float("nan")


def number_or_none(word: str | None) -> float | None:
    """Return a finite number, or none for anything else.

    Args:
        word: Text, with a decimal point or a decimal comma.

    Returns:
        The number.
    """
    value = number_or_nan(word)
    return value if np.isfinite(value) else None


def required_number(word: str | None, what: str, source: str) -> float:
    """Return a finite number that must be there.

    Args:
        word: Text of the number.
        what: What it says.
        source: The file's name.

    Returns:
        The number.

    Raises:
        MeasurementFileError: If it is missing or no finite number.
    """
    value = number_or_none(word)
    if value is None:
        said = "is missing" if word is None else f"is {word.strip()[:40]!r}, not a number"
        raise MeasurementFileError(f"{source}: {what} {said}; export the scan again")
    return value


def unpack(data: bytes, layout: str, at: int, what: str, source: str) -> tuple[float, ...]:
    """Return the numbers at a place of a binary file.

    Args:
        data: The file.
        layout: As of `struct`, numbers only.
        at: Offset in bytes.
        what: What they are, for messages.
        source: The file's name, for messages.

    Returns:
        The numbers.

    Raises:
        MeasurementFileError: If the file ends before.
    """
    size = struct.calcsize(layout)
    if at < 0 or at + size > len(data):
        raise MeasurementFileError(
            f"{source}: the file ends at byte {len(data)}, inside {what}, which needs {size} bytes "
            f"from byte {at}; it is cut off, copy it again"
        )
    return struct.unpack_from(layout, data, at)


def fixed_text(data: bytes, at: int, size: int) -> str:
    """Return a text that fills a field of fixed width.

    Args:
        data: The file.
        at: Offset in bytes.
        size: Width in bytes.

    Returns:
        The text up to the first zero byte.
    """
    field = data[at : at + size].partition(b"\x00")[0]
    try:
        return field.decode("utf-8").strip()
    except UnicodeDecodeError:
        return field.decode("cp1252", errors="replace").strip()


def leading_float32(data: bytes, at: int, count: int, stride: int) -> NDArray[np.float64]:
    """Return the number that leads each of a row of records; the caller has checked the size.

    Args:
        data: The file.
        at: Where the first record begins.
        count: How many records there are.
        stride: Bytes of a record.

    Returns:
        Shape (count,).
    """
    records = np.frombuffer(data, dtype=np.uint8, count=count * stride, offset=at)
    leading = np.ascontiguousarray(records.reshape(count, stride)[:, :4])
    return leading.view("<f4").reshape(-1).astype(np.float64)
