"""Further potentials, whose disagreement tells how far the first may be trusted.

They are no dependency of labenv: their energies are computed once, in an environment of their own
(``pip install sevenn==0.13.0`` or ``diep==2.0.0``), by the precompute module.

DIEP is trained on MatPES r2SCAN (Kaplan et al. 2025, arXiv 2503.04070). SevenNet-MF is trained on
several levels of theory at once, of which R2SCAN is asked (Kim et al. 2025, Journal of the American
Chemical Society).
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from labenv.physics.potential.backends import Backend, ChgnetBackend, one_thread
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    import contextlib


class CalculatorBackend(Backend):
    """A potential known by its ASE calculator.

    Args:
        name: A key of `RECIPES`.

    Raises:
        ConfigError: If its package is not installed.
    """

    def __init__(self, name: str) -> None:
        package, _, _, _, suffix = RECIPES[name]
        try:
            self._model_id = f"{name}-{version(package)}-{suffix}"
        except PackageNotFoundError as cause:
            raise ConfigError(
                f"{name} needs the package {package}; pip install {package}"
            ) from cause
        self._name = name
        self._calculator: Any = None

    @property
    def model_id(self) -> str:
        """Name and version."""
        return self._model_id

    def calculator(self) -> Any:  # noqa: ANN401 - ASE publishes no types
        """Return the calculator, loaded once.

        Returns:
            The calculator of the package.
        """
        if self._calculator is None:
            _, module, maker, options, _ = RECIPES[self._name]
            self._calculator = getattr(import_module(module), maker)(**options)
        return self._calculator

    def quiet(self) -> contextlib.AbstractContextManager[None]:
        """Return a block in which torch runs on one thread."""
        return one_thread()


# name: package, module, what makes the calculator, its arguments, level of theory
RECIPES: dict[str, tuple[str, str, str, dict[str, Any], str]] = {
    "diep": ("diep", "diep.pretrained", "make_calculator", {}, "matpes-r2scan"),
    "7net-mf-0": (
        "sevenn",
        "sevenn.calculator",
        "SevenNetCalculator",
        {"model": "7net-mf-0", "modal": "R2SCAN", "device": "cpu"},
        "r2scan",
    ),
}


def make_backend(name: str) -> Backend:
    """Return a potential by name.

    Args:
        name: ``chgnet``, ``diep`` or ``7net-mf-0``.

    Returns:
        The potential, not loaded yet.

    Raises:
        ConfigError: If there is no such potential or it is not installed.
    """
    if name == "chgnet":
        return ChgnetBackend()
    if name not in RECIPES:
        raise ConfigError(f"no potential {name!r}; there are chgnet, {', '.join(RECIPES)}")
    return CalculatorBackend(name)
