"""What differs between a Eurotherm 2416, 3216 and EPC3016: places and meanings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum, auto
from typing import TYPE_CHECKING, ClassVar, Final

from labenv_instruments.drivers._eurotherm_link import IEEE
from labenv_instruments.drivers._eurotherm_program import (
    Setting,
    fit,
    table_entries,
    triples,
    typed_table,
)
from labenv_schemas.errors import InstrumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from labenv_instruments.drivers._eurotherm_link import ModbusLink
    from labenv_instruments.drivers._eurotherm_program import Program

_PROGRAM = 8328  # programme 1 of a 2400 and an EPC3000; 8 registers a segment from 8336 on


class State(Enum):
    """What a programmer does."""

    RESET = auto()
    RUN = auto()
    HOLD = auto()
    HOLDBACK = auto()
    COMPLETE = auto()


ENDED: Final = frozenset({State.RESET, State.COMPLETE})


class ControllerModel(ABC):
    """One model.

    Attributes:
        name: As in the address option.
        states: What register 23 means.
        run: Register and value that start the programme.
        reset: Register and value that give it up.
        mark: A register that of the three models only this one has.
        segment: Register of the running segment's number.
        left: Register of the programme's time left; None if there is none.
        watchdogs: Registers of network watchdog time-outs.
        buttons: Registers that must be 0 before a programme can be started.
    """

    name: ClassVar[str]
    states: ClassVar[Mapping[int, State]]
    run: ClassVar[tuple[int, int]]
    reset: ClassVar[tuple[int, int]]
    mark: ClassVar[int]
    segment: ClassVar[int]
    left: ClassVar[int | None] = None
    watchdogs: ClassVar[tuple[int, ...]] = ()
    buttons: ClassVar[tuple[int, ...]] = ()

    def __init__(self) -> None:
        self.capacity = self.most_segments

    most_segments: ClassVar[int]

    def state(self, word: int) -> State:
        """Return what a value of register 23 means.

        Args:
            word: The value.

        Returns:
            The state.

        Raises:
            InstrumentError: If the model has no such state.
        """
        found = self.states.get(word)
        if found is None:
            raise InstrumentError(
                f"register 23 of the Eurotherm {self.name} reads {word}, which is none of its "
                f"program states {sorted(self.states)}"
            )
        return found

    @abstractmethod
    async def learn(self, link: ModbusLink) -> None:
        """Ask how long a programme may be.

        Args:
            link: To the controller.

        Raises:
            InstrumentError: If it is another model after all.
        """

    async def identity(self, link: ModbusLink) -> tuple[str, str]:
        """Return what the controller says of its kind, and its serial number.

        Args:
            link: To the controller.
        """
        version, kind = await link.word(107), await link.word(122)
        customer = await link.word(629)
        return f"Eurotherm {self.name} ({kind:04X}h, V{version:04X}h)", f"id {customer}"

    @abstractmethod
    def check(self, program: Program) -> None:
        """Refuse a programme that does not fit.

        Args:
            program: The programme.
        """

    @abstractmethod
    def settings(self, program: Program, holdback_k: float) -> Iterator[Setting]:
        """Return what the programme is written as.

        Args:
            program: The programme.
            holdback_k: The setpoint waits while the temperature is so far below it.
        """


class _Typed(ControllerModel):
    """Models with typed segments, whose end counts as one."""

    states: ClassVar[Mapping[int, State]] = {
        1: State.RESET,
        2: State.RUN,
        4: State.HOLD,
        8: State.HOLDBACK,
        16: State.COMPLETE,
    }
    segment = 56
    left = 58

    def check(self, program: Program) -> None:
        """Refuse a programme that does not fit."""
        fit(table_entries(program), self.capacity, self.name)

    def settings(self, program: Program, holdback_k: float) -> Iterator[Setting]:
        """Return what the programme is written as."""
        yield Setting(22, "word", 1)
        yield from typed_table(program, self._place, holdback_k, _PROGRAM)

    @staticmethod
    def _place(number: int) -> int:
        return _PROGRAM + 8 * number


class Model2416(_Typed):
    """Eurotherm 2416, Series 2000 Communications Handbook HA026230.

    The meaning of the digits of register 122 (2400 series, 1/16 DIN: 246xh) is from memory of that
    handbook and was not checked against a copy.
    """

    name = "2416"
    run = (23, 2)
    reset = (23, 1)
    mark = 211
    most_segments = 16

    async def learn(self, link: ModbusLink) -> None:
        """Ask for the number of segments, and whether the case is that of a 2416.

        Args:
            link: To the controller.

        Raises:
            InstrumentError: If it is not.
        """
        kind = await link.word(122)
        if kind & 0xFFF0 != 0x2460:
            raise InstrumentError(
                f"{link} is a Eurotherm of the 2400 series but no 2416: register 122 reads "
                f"{kind:04X}h, not 246xh"
            )
        self.capacity = min(max(await link.word(211), 1), self.most_segments)


class Model3216(ControllerModel):
    """Eurotherm 3216 and 3216P, Engineering Handbook HA028651 and alab_control's register list."""

    name = "3216"
    states: ClassVar[Mapping[int, State]] = {
        0: State.RESET,
        1: State.RUN,
        2: State.HOLD,
        3: State.COMPLETE,
    }
    run = (23, 1)
    reset = (23, 0)
    mark = 1282
    segment = 330
    most_segments = 8
    _FIFTH_SEGMENT = 1292

    async def learn(self, link: ModbusLink) -> None:
        """Ask whether there are four segments or eight."""
        self.capacity = 8 if await link.has(self._FIFTH_SEGMENT) else 4

    def check(self, program: Program) -> None:
        """Refuse a programme that does not fit."""
        fit(len(program.stages), self.capacity, self.name)

    def settings(self, program: Program, holdback_k: float) -> Iterator[Setting]:
        """Return what the programme is written as; its holdback is left as it was configured."""
        return triples(program.stages, self.capacity)


class ModelEPC3016(_Typed):
    """Eurotherm EPC3016, addresses as in alab_control's list made from the vendor's tool.

    That the full values stand at 32768 + 2 * address, as in older series, was not checked against
    the EPC3000's own manual.
    """

    name = "EPC3016"
    run = (10573, 1)
    reset = (10575, 1)
    mark = 10589
    most_segments = 25
    watchdogs = (1169, 1233)
    buttons = (10575, 10574, 10573)  # reset, hold, run
    _FAR, _FAR_FROM = 9768, 17

    async def learn(self, link: ModbusLink) -> None:
        """Ask for the number of segments of a programme."""
        self.capacity = min(max(await link.word(10589), 1), self.most_segments)

    async def identity(self, link: ModbusLink) -> tuple[str, str]:
        """Return what the controller says of its kind, and its serial number."""
        version = await link.word(107) if await link.has(107) else 0
        number = await link.words(IEEE + 2 * 1026, 2)
        return f"Eurotherm {self.name} (V{version:04X}h)", str(number[0] << 16 | number[1])

    def settings(self, program: Program, holdback_k: float) -> Iterator[Setting]:
        """Return what the programme is written as; its end is one of its own parameters."""
        yield from super().settings(program, holdback_k)
        yield Setting(_PROGRAM + 6, "word", 1)  # resets itself

    @staticmethod
    def _place(number: int) -> int:
        if number < ModelEPC3016._FAR_FROM:
            return _PROGRAM + 8 * number
        return ModelEPC3016._FAR + 8 * (number - ModelEPC3016._FAR_FROM)


MODELS: Final[dict[str, type[ControllerModel]]] = {
    model.name: model for model in (Model2416, Model3216, ModelEPC3016)
}


async def told_apart(link: ModbusLink) -> str | None:
    """Return which of the models has the registers that the controller has; None if none does.

    Args:
        link: To the controller.
    """
    for model in (ModelEPC3016, Model2416, Model3216):
        if await link.has(model.mark):
            return model.name
    return None


__all__ = ["ENDED", "MODELS", "ControllerModel", "State", "told_apart"]
