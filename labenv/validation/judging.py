"""All checks of the catalogue, judged."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from labenv.validation.checks import judge

if TYPE_CHECKING:
    from labenv.validation.checks import Check, Judged


def all_checks() -> tuple[Check, ...]:
    """Return the checks of all subjects, by file name.

    Returns:
        The checks.
    """
    from labenv.validation import catalogue

    names = sorted(module.name for module in iter_modules(catalogue.__path__))
    modules = [import_module(f"{catalogue.__name__}.{name}") for name in names]
    return tuple(check for module in modules for check in module.CHECKS)


def judge_all() -> tuple[Judged, ...]:
    """Compute our values of all checks.

    Returns:
        One verdict a check.
    """
    return tuple(judge(check) for check in all_checks())


__all__ = ["all_checks", "judge_all"]
