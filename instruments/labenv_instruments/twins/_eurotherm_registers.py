"""Register maps of three Eurotherm controllers, as a table that reads and writes words.

Every parameter has an address, and its full value stands in the IEEE region at 32768 + 2 * address
as two words: a float, milliseconds, or a word padded with 8000h. Function 6 is not allowed there,
and a float or a time is read and written whole.

Sources: Series 2000 Communications Handbook HA026230 (2400), 3116/3200 Engineering Handbook
HA028651 (3200), and the EPC3000 address list of a public furnace driver
(CederGroupHub/alab_control, `furnace_epc_3016/modbus_addr.csv`); scaling of the integer region is
chosen as those who drive such furnaces read it (tenths of a degree, tenths of a minute; seconds on
the EPC3016).
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from labenv_instruments.twins._modbus_frames import ILLEGAL_ADDRESS, ILLEGAL_VALUE, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

IEEE: Final = 32768
PADDING: Final = 0x8000
Kind = Literal["word", "float", "time", "long"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter.

    Attributes:
        kind: How it is written in words.
        read: Returns the value; s for a time.
        write: Takes a value, or raises `RefusedError`; None where it cannot be written.
        stored: Whether it lives in memory that wears out with writing.
        kind_now: Returns the kind where that depends on another parameter.
    """

    kind: Kind
    read: Callable[[], float]
    write: Callable[[float], None] | None = None
    stored: bool = False
    kind_now: Callable[[], Kind] | None = None

    @property
    def form(self) -> Kind:
        """How it is written in words at the moment."""
        return self.kind if self.kind_now is None else self.kind_now()


class Store(dict[int, float]):
    """Values that the device only keeps, by address."""

    def parameter(self, address: int, kind: Kind, value: float = 0.0) -> Parameter:
        """Return a parameter that keeps what is written to it.

        Args:
            address: Its address.
            kind: How it is written in words.
            value: What it holds at first.

        Returns:
            The parameter.
        """
        self[address] = value

        def keep(new: float) -> None:
            self[address] = new

        return Parameter(kind, lambda: self[address], keep, stored=True)


def fixed(value: float, kind: Kind = "word") -> Parameter:
    """Return a parameter that cannot be changed."""
    return Parameter(kind, lambda: value)


class RegisterBank:
    """Parameters by address, as words.

    Args:
        parameters: By address.
        time_unit_s: Of a time in the integer region, s.
        status: Returns the byte of function 7.

    Attributes:
        writes: How often each stored parameter was written.
    """

    def __init__(
        self,
        parameters: Mapping[int, Parameter],
        time_unit_s: float,
        status: Callable[[], int],
    ) -> None:
        self._parameters, self._time_unit_s = parameters, time_unit_s
        self.fast_status = status
        self.writes: Counter[int] = Counter()

    def read(self, address: int, count: int) -> list[int]:
        """Return words.

        Args:
            address: Of the first.
            count: How many.

        Returns:
            The words.

        Raises:
            RefusedError: If one of them is not there.
        """
        if address < IEEE:
            return [self._short(self._at(address + n)) for n in range(count)]
        if address % 2 or (count % 2 and count != 1):
            raise RefusedError(ILLEGAL_ADDRESS)
        words: list[int] = []
        for place in range((address - IEEE) // 2, (address - IEEE + count + 1) // 2):
            words += self._long(self._at(place))
        return words[:count]

    def write(self, address: int, words: list[int], *, single: bool) -> None:
        """Take words.

        Args:
            address: Of the first.
            words: The words.
            single: Whether with the function that writes one.

        Raises:
            RefusedError: If one of them is not there, cannot be written or has a wrong value.
        """
        if address < IEEE:
            for n, word in enumerate(words):
                self._put(address + n, self._from_short(self._at(address + n), word))
            return
        if single or address % 2:
            raise RefusedError(ILLEGAL_ADDRESS)
        place, rest = (address - IEEE) // 2, list(words)
        while rest:
            parameter = self._at(place)
            if parameter.form == "word":
                self._put(place, float(rest[0]))
            elif len(rest) < 2:
                raise RefusedError(ILLEGAL_VALUE)
            else:
                self._put(place, _from_long(parameter.form, rest[0], rest[1]))
            place, rest = place + 1, rest[2:]

    def _at(self, address: int) -> Parameter:
        found = self._parameters.get(address)
        if found is None:
            raise RefusedError(ILLEGAL_ADDRESS)
        return found

    def _put(self, address: int, value: float) -> None:
        parameter = self._at(address)
        if parameter.write is None:
            raise RefusedError(ILLEGAL_ADDRESS)
        if not math.isfinite(value):
            raise RefusedError(ILLEGAL_VALUE)
        parameter.write(value)
        if parameter.stored:
            self.writes[address] += 1

    def _short(self, parameter: Parameter) -> int:
        value = parameter.read()
        if parameter.form in {"word", "long"}:
            return int(value) & 0xFFFF
        scaled = value * 10.0 if parameter.form == "float" else value / self._time_unit_s
        return round(min(32767.0, max(-32768.0, scaled))) & 0xFFFF

    def _from_short(self, parameter: Parameter, word: int) -> float:
        if parameter.form in {"word", "long"}:
            return float(word)
        number = word - 0x10000 if word & 0x8000 else word
        return number / 10.0 if parameter.form == "float" else number * self._time_unit_s

    def _long(self, parameter: Parameter) -> list[int]:
        value = parameter.read()
        if parameter.form == "word":
            return [int(value) & 0xFFFF, PADDING]
        if parameter.form == "float":
            packed = struct.pack(">f", value)
        elif parameter.form == "long":
            packed = struct.pack(">i", int(value))
        else:
            packed = struct.pack(">i", round(min(2e6, max(0.0, value)) * 1000.0))
        return list(struct.unpack(">HH", packed))


def _from_long(kind: Kind, first: int, second: int) -> float:
    packed = struct.pack(">HH", first, second)
    if kind in {"time", "long"}:
        number = float(struct.unpack(">i", packed)[0])
        return number / 1000.0 if kind == "time" else number
    value = float(struct.unpack(">f", packed)[0])
    # The shortest decimal number with these bits is the one that was meant.
    return float(str(np.float32(value))) if math.isfinite(value) else value


__all__ = ["IEEE", "PADDING", "Kind", "Parameter", "RegisterBank", "Store", "fixed"]
