"""What all writers say alike: numbers, times, light and the grid of angles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labenv_schemas.errors import ConfigError
from labenv_schemas.measurement import Diffractogram

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def check_scan(scan: object) -> None:
    """Refuse what is no diffractogram, before any file is opened.

    Args:
        scan: What is to be written.

    Raises:
        ConfigError: If it is something else.
    """
    if not isinstance(scan, Diffractogram):
        kind = getattr(scan, "kind", type(scan).__name__)
        raise ConfigError(f"only diffractograms can be written, and this is a {kind}")


def number(value: float) -> str:
    """Return a number with as many digits as it has, and no more.

    Args:
        value: Finite.

    Returns:
        Such as "12" or "0.41458".
    """
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def started(scan: Diffractogram) -> str | None:
    """Return when a scan began, with its zone if that is known.

    Args:
        scan: The scan.

    Returns:
        ISO 8601.
    """
    facts = scan.provenance
    if scan.measured_at is not None:
        return facts.get("started") or scan.measured_at.isoformat()
    return facts.get("started_local")


def is_stated(scan: Diffractogram) -> bool:
    """Return whether the wavelength is known, not assumed.

    Args:
        scan: The scan.

    Returns:
        False if a reader had to assume it.
    """
    return all(flag.code != "wavelength_assumed" for flag in scan.flags)


def equal_steps(angles: NDArray[np.float64]) -> bool:
    """Return whether the first angle, the last and their number give all the others back.

    Args:
        angles: 2θ, degrees, shape (n,).

    Returns:
        Whether they do, to 1e-7°.
    """
    return bool(np.abs(angles - np.linspace(angles[0], angles[-1], angles.size)).max() < 1e-7)


def put(path: str | Path, text: str) -> None:
    """Write a text file whole.

    Args:
        path: Where to.
        text: What.

    Raises:
        ConfigError: If it cannot be written.
    """
    from pathlib import Path

    try:
        Path(path).write_text(text, encoding="utf-8", newline="\n")
    except OSError as cause:
        raise ConfigError(f"{path}: cannot be written, {cause.strerror or cause}") from cause
