"""The potentials behind the energies: imported, loaded and run only when asked.

CHGNet is Deng et al. 2023, Nature Machine Intelligence 5, 1031; its r2SCAN model is fine-tuned on
r2SCAN calculations of the Materials Project and ships in the package.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from abc import ABC, abstractmethod
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from labenv.physics.potential.results import SinglePoint
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from pymatgen.core.structure import Structure

BATCH = 16
_EV_PER_A3_PER_GPA = 1.0 / 160.21766208


class Backend(ABC):
    """One potential: an id, an ASE calculator, and energies of many structures at once.

    A backend pickles as its settings; its model is loaded again where it is used.
    """

    @property
    @abstractmethod
    def model_id(self) -> str:
        """Name and version; energies of two ids never share a hull."""

    @abstractmethod
    def calculator(self) -> Any:  # noqa: ANN401 - ASE publishes no types
        """Return an ASE calculator with energy, forces and stress."""

    def quiet(self) -> contextlib.AbstractContextManager[None]:
        """Return what a calculation is to run within; a torch backend runs on one thread."""
        return contextlib.nullcontext()

    def predict(self, structures: Sequence[Structure]) -> list[SinglePoint]:
        """Return energies and forces of structures that `sanity.fault_of` finds no fault in.

        Args:
            structures: Any number.

        Returns:
            One result each, in order.
        """
        return [self._predict_one(structure) for structure in structures]

    def _predict_one(self, structure: Structure) -> SinglePoint:
        from pymatgen.io.ase import AseAtomsAdaptor

        atoms: Any = AseAtomsAdaptor.get_atoms(structure)
        atoms.calc = self.calculator()
        forces = np.asarray(atoms.get_forces(), dtype=np.float64)
        energy = float(atoms.get_potential_energy()) / len(structure)
        return _point(energy, forces)


class ChgnetBackend(Backend):
    """CHGNet with its r2SCAN weights, on one thread of the processor."""

    def __init__(self) -> None:
        self._loaded: tuple[Any, Any] | None = None

    @property
    def model_id(self) -> str:
        """Name and version of package and weights."""
        return f"chgnet-{chgnet_version()}-r2scan"

    def calculator(self) -> Any:  # noqa: ANN401 - ASE publishes no types
        """Return the calculator; isolated atoms raise in it.

        Returns:
            The one calculator of this backend.
        """
        return self._load()[1]

    def quiet(self) -> contextlib.AbstractContextManager[None]:
        """Return a block in which torch runs on one thread."""
        return one_thread()

    def predict(self, structures: Sequence[Structure]) -> list[SinglePoint]:
        """Return energies and forces, several structures in one pass of the network.

        Args:
            structures: Any number.

        Returns:
            One result each, in order.
        """
        model = self._load()[0]
        with one_thread():
            found: Any = model.predict_structure(list(structures), task="ef", batch_size=BATCH)
        found = [found] if isinstance(found, dict) else found
        return [_point(float(one["e"]), np.asarray(one["f"], dtype=np.float64)) for one in found]

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            chgnet_version()
            from chgnet.model.dynamics import CHGNetCalculator
            from chgnet.model.model import CHGNet

            with contextlib.redirect_stdout(io.StringIO()):  # both print on loading
                model = CHGNet.load(model_name="r2scan", use_device="cpu", verbose=False)
                calculator = CHGNetCalculator(
                    model,
                    use_device="cpu",
                    on_isolated_atoms="error",
                    stress_weight=_EV_PER_A3_PER_GPA,
                )
            self._loaded = (model, calculator)
        return self._loaded

    def __getstate__(self) -> dict[str, Any]:
        return {"_loaded": None}


def chgnet_version() -> str:
    """Return the version of the chgnet that is installed, without importing it.

    Returns:
        The version.

    Raises:
        ConfigError: If it is not installed.
    """
    try:
        return version("chgnet")
    except PackageNotFoundError as cause:
        raise ConfigError(
            "energies of new structures need the potential chgnet, which is not installed; "
            'run pip install "labenv[mlip]" (Python 3.11 or 3.12)'
        ) from cause


@contextlib.contextmanager
def one_thread() -> Generator[None]:
    """Run torch on one thread inside the block: small cells are slower on two."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with warnings.catch_warnings():
            # chgnet 0.4.2 turns volumes into plain numbers in a way that torch 2.13 warns of once.
            warnings.filterwarnings("ignore", "Converting a tensor with requires_grad", UserWarning)
            yield
    finally:
        torch.set_num_threads(before)


def _point(energy_ev_per_atom: float, forces: np.ndarray[Any, np.dtype[np.float64]]) -> SinglePoint:
    largest = float(np.max(np.linalg.norm(forces, axis=1))) if forces.size else 0.0
    if not (np.isfinite(energy_ev_per_atom) and np.isfinite(largest)):
        return SinglePoint(None, None, "the potential gave a number that is not finite")
    return SinglePoint(energy_ev_per_atom, largest)
