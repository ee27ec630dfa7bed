"""A Lake Shore 336 temperature controller over Ethernet (port 7777) or VISA.

By itself it measures nothing that is planned: the transport drivers lead a sample's temperature
through it, and a person reads it. Its own work is to show what it reads and to switch heaters off.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, ClassVar

from labenv_instruments.drivers._lakeshore_client import (
    LakeShore336Client,
    Settling,
    parsed_loop,
    parsed_range,
    positive,
)
from labenv_instruments.wire.driver import WireDriver
from labenv_instruments.wire.scpi import open_session
from labenv_schemas.errors import ConfigError, InstrumentError, ProposalError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv_instruments.instrument import InstrumentRequest
    from labenv_instruments.limits import DeviceLimits
    from labenv_schemas.measurement import MeasurementBase
    from labenv_schemas.proposal import Operation

LOWEST_K, HIGHEST_K = 0.3, 500.0  # of the sensors it takes, below their own limits
SLOWEST_K_PER_MIN, FASTEST_K_PER_MIN = 1e-3, 100.0


class LakeShore336(WireDriver):
    """The controller."""

    kind = "lakeshore_336"
    role = "thermometer"
    operations: ClassVar[frozenset[str]] = frozenset()
    default_port = 7777
    option_help: ClassVar[Mapping[str, str]] = {
        "input": "input to read, A to D; A by default",
        "output": "output to heat with, 1 to 4; 1 by default",
        "heater_range": "1 low, 2 medium, 3 high; 3 by default",
        "ramp_k_per_min": "rate of the set point, K/min; 5 by default",
        "tolerance_k": "how near the sensor must come to the set point, K; 0.1 by default",
    }

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - as the base
        super().__init__(*args, **options)
        try:
            loop = parsed_loop(self.option("input", "A"), self.option("output", "1"))
            self.heater_range = parsed_range(self.option("heater_range", "3"))
            self.ramp_k_per_min = positive(self.option("ramp_k_per_min", "5"), "ramp_k_per_min")
            tolerance_k = positive(self.option("tolerance_k", "0.1"), "tolerance_k")
        except ValueError as cause:
            raise ConfigError(f"address {self.address}: {cause}") from None
        self.settling = Settling(tolerance_k=tolerance_k)
        session = open_session(
            self.address, self.port, f"lakeshore_336 at {self.address}", self.timeout_s
        )
        self.client = LakeShore336Client(session, *loop)

    @property
    def channel_units(self) -> Mapping[str, str]:
        """Nothing: it measures nothing that is planned."""
        return {}

    @classmethod
    def check(cls, operation: Operation) -> None:
        """Refuse nothing; a controller is asked for no operation.

        Args:
            operation: Any.
        """

    async def open_device(self) -> tuple[str, str, bool]:
        """Connect and see what answers.

        Returns:
            Model, serial number, and whether it says that it is simulated.
        """
        return await self.client.open()

    async def carry_out(self, request: InstrumentRequest) -> tuple[MeasurementBase, ...]:
        """Refuse: there is nothing that it carries out.

        Args:
            request: Any.

        Raises:
            InstrumentError: Always.
        """
        raise InstrumentError(f"a temperature controller does no '{request.operation.op}'")

    async def make_safe(self) -> None:
        """Switch all heaters off and see that they are."""
        await self.client.heaters_off()

    async def release(self) -> None:
        """Let the connection go."""
        await self.client.session.close()

    async def readings(self) -> dict[str, str]:
        """Return temperature, set point and heater.

        Returns:
            Each with its unit.
        """
        look = await self.client.look()
        percent, number = await self.client.session.numbers(
            f"HTR? {self.client.output};RANGE? {self.client.output}", 2
        )
        return {
            f"temperature {self.client.input_name}": f"{look.temperature_k:.4g} K",
            "set point": f"{look.setpoint_k:.4g} K" + (", ramping" if look.ramping else ""),
            "heater": f"{percent:.1f} % of range {int(number)}",
        }

    async def hold(self, target_k: float) -> float:
        """Bring the sensor to a temperature and wait until it stays there; the heater stays on.

        Args:
            target_k: The temperature, K.

        Returns:
            The reading there, K.

        Raises:
            ProposalError: If the temperature lies beyond the controller's or the lab's limits.
            BaseException: A failure or cancellation, once the heaters are off.
        """
        low_k = self.limits.min_temperature_k or LOWEST_K
        high_k = self.limits.max_temperature_k or HIGHEST_K
        if not low_k <= target_k <= high_k:
            raise ProposalError(
                f"{self.kind} goes from {low_k:g} K to {high_k:g} K here, not to {target_k:g} K"
            )
        self._safe = False
        rate = limited_ramp(self.ramp_k_per_min, self.limits)
        try:
            await self.client.go_to(target_k, rate, self.heater_range)
            return await self.client.settle(target_k, self.settling, self.wait)
        except BaseException:
            with contextlib.suppress(InstrumentError):  # the first failure is the one to report
                await self._safely()
            raise

    async def close(self) -> None:
        """Switch the heaters off if `hold` left one on, and let the controller go."""
        if not self._safe:
            with contextlib.suppress(InstrumentError):
                await self._safely()
        await super().close()


def limited_ramp(ramp_k_per_min: float, limits: DeviceLimits) -> float:
    """Return the rate to use: the one set, or the lab's limit if that is lower.

    Args:
        ramp_k_per_min: The rate set, K/min.
        limits: Of the lab.

    Returns:
        The rate, K/min, within what the controller takes.
    """
    fastest = FASTEST_K_PER_MIN
    if limits.max_ramp_k_per_s is not None:
        fastest = min(fastest, 60.0 * limits.max_ramp_k_per_s)
    return max(min(ramp_k_per_min, fastest), SLOWEST_K_PER_MIN)
