"""The checks of a device as pytest's, for a laboratory's own build server.

::

    pytest --instrument furnace=eurotherm+tcp://10.0.0.5?model=3216
        --pyargs labenv_instruments.conformance

Without ``--instrument`` the plugin does nothing. Several devices may be named; each check of each
is a test of its own. ``--actuate`` and ``--limit NAME=VALUE`` mean what they mean to ``labenv
check-instrument``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labenv_instruments.conformance import Bench, Check


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options.

    Args:
        parser: Of pytest.
    """
    group = parser.getgroup("labenv instruments")
    group.addoption(
        "--instrument",
        action="append",
        default=[],
        metavar="NAME=ADDRESS",
        help="check the device at an address, such as furnace=eurotherm+tcp://host?model=3216",
    )
    group.addoption("--actuate", action="store_true", help="also move the devices, within limits")
    group.addoption(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="what devices may be asked for, such as max_temperature=200degC",
    )
    group.addoption(
        "--instrument-speed",
        type=float,
        default=1.0,
        metavar="N",
        help="lab seconds per wall second, of twins that run as fast",
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> _DeviceFile | None:
    """Collect the suite, where devices are named.

    Args:
        file_path: A file that pytest looks at.
        parent: Its folder.

    Returns:
        The checks of every device, in place of the suite's own `__init__.py`.
    """
    if not parent.config.getoption("--instrument"):
        return None
    if file_path != Path(__file__).parent / "conformance" / "suite.py":
        return None
    found: _DeviceFile = _DeviceFile.from_parent(parent, path=file_path)
    return found


class _DeviceFile(pytest.File):
    """The suite, once for every device."""

    def collect(self) -> Iterator[_CheckItem]:
        """Make a test of each check of each device.

        Yields:
            The tests.

        Raises:
            UsageError: If an option is wrong.
        """
        from labenv_instruments.conformance import CHECKS, Bench, parse_limits
        from labenv_schemas.errors import LabEnvError

        config = self.config
        for text in config.getoption("--instrument") or ():
            name, equals, address = text.partition("=")
            if not equals or "://" in name:
                raise pytest.UsageError(f"--instrument {text}: write NAME=ADDRESS")
            try:
                bench = Bench(
                    address,
                    limits=parse_limits(config.getoption("--limit") or ()),
                    actuate=bool(config.getoption("--actuate")),
                    speed=float(config.getoption("--instrument-speed") or 1.0),
                )
            except LabEnvError as error:
                raise pytest.UsageError(f"--instrument {text}: {error}") from None
            for check in CHECKS:
                yield _CheckItem.from_parent(
                    self, name=f"{name}::{check.name}", bench=bench, check=check
                )


class _CheckItem(pytest.Item):
    """One check of one device."""

    def __init__(self, *, bench: Bench, check: Check, **rest: object) -> None:
        super().__init__(**rest)  # type: ignore[arg-type]
        self._bench, self._check = bench, check

    def runtest(self) -> None:
        """Run the check.

        Raises:
            _FailedError: If the property does not hold.
        """
        from labenv_instruments.conformance import Verdict, run_check

        result = run_check(self._check, self._bench)
        if result.verdict is Verdict.SKIPPED:
            pytest.skip(result.found)
        if result.verdict is Verdict.FAILED:
            raise _FailedError(result.found)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> str:  # type: ignore[override]
        """Return what was found, without a traceback of the suite's own.

        Args:
            excinfo: What was raised.

        Returns:
            The finding.
        """
        if isinstance(excinfo.value, _FailedError):
            return f"{self._check.says}\n{excinfo.value}"
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the check is, for the report.

        Returns:
            File, line, name.
        """
        return self.path, None, self.name


class _FailedError(Exception):
    """A property does not hold."""
