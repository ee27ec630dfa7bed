"""The hidden samples of a bench of twins: what stands behind a simulated laboratory's wires."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labenv.lab.bench import load_bench
from labenv.lab.conditions import draw_conditions
from labenv.lab.sample import BenchSample, World
from labenv_instruments.trusted import trusted
from labenv_schemas.proposal import Dose, Heat, Measure, Mix, PrecursorDose, Regrind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from labenv_schemas.proposal import Press


class DosedSample(BenchSample):
    """A sample that is filled one portion at a time, as a real dosing unit does.

    The readings are those of one dose of all portions together, so that a laboratory over wires
    and one in process draw the same scatter.
    """

    def __init__(self, world: World, sample_id: str, experiment_index: int) -> None:
        super().__init__(world, sample_id, experiment_index)
        self._key = (world, sample_id, experiment_index)
        self._portions: dict[str, float] = {}

    def dispense(self, dose: Dose) -> dict[str, float]:
        """Add to the vial.

        Args:
            dose: The portions, by mass.

        Returns:
            The balance's reading of each, kg: of what was added now.
        """
        before = self._read() if self._portions else {}
        for portion in dose.precursors:
            mass_kg = self._portions.get(portion.substance, 0.0) + (portion.mass_kg or 0.0)
            self._portions[portion.substance] = mass_kg
        now = self._read()
        return {
            portion.substance: now[portion.substance] - before.get(portion.substance, 0.0)
            for portion in dose.precursors
        }

    def mix(self, mix: Mix) -> None:
        """Mix what was weighed in."""
        self._fill()
        super().mix(mix)

    def press(self, press: Press) -> None:
        """Press what was weighed in."""
        self._fill()
        super().press(press)

    def _matter(self) -> Any:  # noqa: ANN401 - as the base has it
        self._fill()
        return super()._matter()

    def _read(self) -> dict[str, float]:
        return BenchSample(*self._key).dispense(_whole(self._portions))

    def _fill(self) -> None:
        if self._portions and self.operations_done == 0:
            super().dispense(_whole(self._portions))


def new_world(content: Mapping[str, Any]) -> Callable[[str, int], DosedSample]:
    """Begin a series of samples.

    Args:
        content: Its ``seed``, material ``system`` and ``randomise``, whether its conditions
            are drawn.

    Returns:
        A function that makes the sample of a name and an experiment's index.
    """
    bench, seed = load_bench(str(content["system"])), int(content["seed"])
    randomise = bool(content.get("randomise", True))
    conditions = draw_conditions(bench.system, bench.shelf, [seed], randomise=randomise)
    world = World(bench, conditions, seed)
    return lambda name, index: DosedSample(world, name, index)


def warm_up(system: str) -> None:
    """Make a sample, fire it and look at it, so that nothing has to be compiled afterwards.

    A machine that runs it for the first time compiles for some twenty seconds, in which a twin
    would answer nothing.

    Args:
        system: Material system.
    """
    bench = load_bench(system)
    sample = new_world({"system": system, "seed": 0})("warm-up", 0)
    names = [one.name for one in bench.shelf.substances][:2]
    sample.dispense(_whole(dict.fromkeys(names, 1e-4)))
    sample.mix(Mix.model_validate({"duration": "10 min"}))
    sample.fire(Heat.model_validate({"segments": [{"target": "900 degC", "hold": "1 h"}]}))
    sample.regrind(Regrind())
    sample.fire(Heat.model_validate({"segments": [{"target": "900 degC", "hold": "1 h"}]}))
    sample.diffraction(Measure())


def _whole(portions: Mapping[str, float]) -> Dose:
    precursors = tuple(
        trusted(PrecursorDose, substance=name, mass_kg=mass_kg, amount_mol=None)
        for name, mass_kg in portions.items()
    )
    return trusted(Dose, op="dose", precursors=precursors)


__all__ = ["DosedSample", "new_world", "warm_up"]
