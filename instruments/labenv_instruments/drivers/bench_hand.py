"""Mixing, pressing and grinding by whatever carries the samples: a robot or a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labenv_instruments.drivers.ball_mill import BallMill
from labenv_instruments.drivers.pellet_press import PelletPress
from labenv_instruments.hand import DEFAULT_PORT, Hand
from labenv_instruments.wire.driver import WireDriver
from labenv_schemas.proposal import Press

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv_instruments.instrument import InstrumentRequest
    from labenv_schemas.measurement import MeasurementBase
    from labenv_schemas.proposal import Operation


class BenchHand(WireDriver):
    """What is done at the bench; see `labenv_instruments.hand` for the protocol."""

    kind = "bench_hand"
    role = "ball_mill"
    operations = frozenset({"mix", "press", "regrind"})
    default_port = DEFAULT_PORT
    shared = True

    _hand: Hand | None = None

    @property
    def channel_units(self) -> Mapping[str, str]:
        """Nothing is measured."""
        return _NOTHING

    @classmethod
    def check(cls, operation: Operation) -> None:
        """Refuse what a mill or a press of a bench does not do.

        Args:
            operation: What is asked for.
        """
        (PelletPress if isinstance(operation, Press) else BallMill).check(operation)

    async def open_device(self) -> tuple[str, str, bool]:
        """Ask the hand what it is.

        Returns:
            Model, serial number, whether simulated.
        """
        found = await self._client().hello()
        return str(found["model"]), str(found["serial"]), bool(found["simulated"])

    async def carry_out(self, request: InstrumentRequest) -> tuple[MeasurementBase, ...]:
        """Let the hand do it, and the time pass that it takes.

        Args:
            request: What to do.

        Returns:
            Nothing.
        """
        operation = request.operation.model_dump(mode="json", exclude_none=True)
        await self._client().perform(self._station, request.sample_id, operation)
        await self.wait(request.duration_s)
        return ()

    async def make_safe(self) -> None:
        """Nothing that a hand does goes on by itself."""

    async def release(self) -> None:
        """Let the connection go."""
        if self._hand is not None:
            await self._hand.close()

    def _client(self) -> Hand:
        if self._hand is None:
            self._hand = Hand(self.address, timeout_s=self.timeout_s)
        return self._hand


_NOTHING: dict[str, str] = {}

__all__ = ["BenchHand"]
