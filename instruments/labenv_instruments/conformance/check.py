"""What a check is, and what comes of it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Course = Callable[[Any], Awaitable[str]]  # of a `Bench`, which imports this module


class Verdict(StrEnum):
    """What came of a check."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Check:
    """One property of a device and its driver.

    Attributes:
        name: What it is called, one word or two joined by an underscore.
        says: What holds if it passes, one sentence.
        course: Finds out; returns what was found, or raises `CheckFailed` or `CheckSkipped`.
        actuates: Whether it moves the device, and so needs leave.
    """

    name: str
    says: str
    course: Course
    actuates: bool = False


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What came of one check.

    Attributes:
        name: Of the check.
        says: What the check is about, one sentence.
        actuates: Whether it moves the device.
        verdict: Passed, failed or skipped.
        found: What was found, or why it was skipped, one sentence.
        took_s: How long it took, s of wall time.
    """

    name: str
    says: str
    actuates: bool
    verdict: Verdict
    found: str
    took_s: float


class CheckFailed(Exception):  # noqa: N818 - it names a verdict, and never leaves the suite
    """The property does not hold; the message says what was seen and what should have been."""


class DeviceUnreachableError(CheckFailed):
    """Nothing could be found out: no device of this driver answers."""


class CheckSkipped(Exception):  # noqa: N818 - as above
    """The property cannot be looked at here; the message says why."""


def check(*, actuates: bool = False) -> Callable[[Course], Check]:
    """Make a check of a function: its name is the check's, its first line says what it is about.

    Args:
        actuates: Whether it moves the device.

    Returns:
        The decorator.
    """

    def made(course: Course) -> Check:
        says = (inspect.getdoc(course) or "").partition("\n")[0]
        return Check(getattr(course, "__name__", "check"), says, course, actuates)

    return made


def require(condition: bool, found: str) -> None:
    """Fail a check unless something holds.

    Args:
        condition: What must hold.
        found: What is the case if it does not.

    Raises:
        CheckFailed: If it does not hold.
    """
    if not condition:
        raise CheckFailed(found)


__all__ = [
    "Check",
    "CheckFailed",
    "CheckResult",
    "CheckSkipped",
    "DeviceUnreachableError",
    "Verdict",
    "check",
    "require",
]
