"""A firing as the setpoint programme of a Eurotherm controller, parameter by parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from labenv_schemas.errors import ProposalError
from labenv_schemas.proposal import ROOM_TEMPERATURE_K

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from labenv_schemas.proposal import Heat

KELVIN: Final = 273.15
_END, _RAMP_RATE, _DWELL = 0, 1, 3
_PER_MINUTE, _RESET_AT_END = 1, 1
_HOLDBACK_NONE, _HOLDBACK_LOW = 0, 1
_OVERSHOOT_S = 30.0  # after a corner


class Stage(NamedTuple):
    """Go to a temperature at a rate and stay.

    Attributes:
        target_c: degC.
        rate_k_per_min: K/min.
        hold_s: s.
    """

    target_c: float
    rate_k_per_min: float
    hold_s: float


class Setting(NamedTuple):
    """What a parameter is to hold; of a float or a time the full value is meant.

    Attributes:
        address: Of the parameter.
        kind: How it is written in words.
        value: What it is to be; s for a time.
    """

    address: int
    kind: Literal["word", "float", "time"]
    value: float


@dataclass(frozen=True, slots=True)
class Program:
    """A firing's stages, the controlled cooling among them.

    Attributes:
        stages: In order.
        cools: Whether the last of them is the controlled cooling to room temperature.
    """

    stages: tuple[Stage, ...]
    cools: bool

    @property
    def peak_c(self) -> float:
        """Highest target, degC."""
        return max(stage.target_c for stage in self.stages)

    @property
    def peak_hold_s(self) -> float:
        """How long it stays at the highest target, s."""
        return sum(s.hold_s for s in self.stages if s.target_c >= self.peak_c - 1e-6)

    def expected_s(self, start_c: float) -> float:
        """Return how long it takes from a temperature, s."""
        total_s, at_c = 0.0, start_c
        for stage in self.stages:
            way_k = abs(stage.target_c - at_c)
            total_s += 60.0 * way_k / stage.rate_k_per_min + stage.hold_s
            at_c = stage.target_c
        return total_s

    def marks_s(self, start_c: float) -> tuple[float, ...]:
        """Return when to look besides: at the end of every ramp and where it overshoots.

        Args:
            start_c: Temperature at the start, degC.
        """
        total_s, at_c, marks = 0.0, start_c, list[float]()
        for stage in self.stages:
            total_s += 60.0 * abs(stage.target_c - at_c) / stage.rate_k_per_min
            marks += [total_s, total_s + _OVERSHOOT_S]
            total_s, at_c = total_s + stage.hold_s, stage.target_c
        return tuple(marks)


def program_of(heat: Heat) -> Program:
    """Return a firing's programme; a furnace or quench cooling is not part of it."""
    stages = [
        Stage(segment.target_k - KELVIN, 60.0 * segment.rate_k_per_s, segment.hold_s)
        for segment in heat.segments
    ]
    rate = heat.cooling_rate_k_per_s
    if rate is not None:
        stages.append(Stage(ROOM_TEMPERATURE_K - KELVIN, 60.0 * rate, 0.0))
    return Program(tuple(stages), rate is not None)


def table_entries(program: Program) -> int:
    """Return how many typed segments a programme takes, the end among them."""
    return 1 + sum(2 if stage.hold_s else 1 for stage in program.stages)


def fit(needed: int, capacity: int, model: str) -> None:
    """Refuse a programme that is longer than the programmer.

    Args:
        needed: Segments that it takes.
        capacity: Segments that there are.
        model: Of the controller, for the message.

    Raises:
        ProposalError: If it is too long.
    """
    if needed > capacity:
        raise ProposalError(
            f"the programme takes {needed} segments of the furnace's controller, which has "
            f"{capacity} (Eurotherm {model}); leave out segments, holds or the controlled cooling"
        )


def typed_table(
    program: Program, place: Callable[[int], int], holdback_k: float, base: int
) -> Iterator[Setting]:
    """Return the settings of a programme whose segments have types (2400, EPC3000).

    The type comes first, since it says whether the third parameter is a rate or a time.

    Args:
        program: The programme.
        place: Returns the address of a segment's type.
        holdback_k: The setpoint waits while the temperature is so far below it; 0 never waits.
        base: Address of the programme's own parameters.

    Yields:
        The settings, in the order in which they must be written.

    Source:
        HA026230, programmer address map; EPC3000 addresses as in alab_control's list.
    """
    yield Setting(base, "word", _HOLDBACK_LOW if holdback_k else _HOLDBACK_NONE)
    if holdback_k:
        yield Setting(base + 1, "float", holdback_k)
    yield Setting(base + 2, "word", _PER_MINUTE)
    yield Setting(base + 3, "word", _PER_MINUTE)
    yield Setting(base + 4, "word", 1)
    number = 0
    for stage in program.stages:
        number += 1
        at = place(number)
        yield Setting(at, "word", _RAMP_RATE)
        yield Setting(at + 1, "float", stage.target_c)
        yield Setting(at + 2, "float", stage.rate_k_per_min)
        if stage.hold_s:
            number += 1
            at = place(number)
            yield Setting(at, "word", _DWELL)
            yield Setting(at + 2, "time", stage.hold_s)
    end = place(number + 1)
    yield Setting(end, "word", _END)
    yield Setting(end + 3, "word", _RESET_AT_END)


def triples(stages: Sequence[Stage], capacity: int) -> Iterator[Setting]:
    """Return the settings of a 3200's segments: dwell, setpoint, ramp; none is left over.

    Args:
        stages: The programme.
        capacity: Segments that the programmer has.

    Yields:
        The settings.

    Source:
        Registers 1280 and on, 531 and 328: a public 3200 driver and alab_control's 3216P list.
    """
    yield Setting(531, "word", 0)  # K/min
    yield Setting(328, "word", 3)  # resets itself at the end
    for number in range(capacity):
        stage = stages[number] if number < len(stages) else Stage(stages[-1].target_c, 0.0, 0.0)
        at = 1280 + 3 * number
        yield Setting(at, "time", stage.hold_s)
        yield Setting(at + 1, "float", stage.target_c)
        yield Setting(at + 2, "float", stage.rate_k_per_min)


__all__ = [
    "KELVIN",
    "Program",
    "Setting",
    "Stage",
    "fit",
    "program_of",
    "table_entries",
    "triples",
    "typed_table",
]
