"""What simulated SCPI instruments share: how they do a line, their settings and their errors.

A command error ends the line, an execution error does not (IEEE 488.2-1992, 6.1 and 11).
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from labenv_instruments.twins._scpi_language import (
    TEXTS,
    Entry,
    ScpiError,
    as_number,
    compiled,
    resolved,
    short_form,
    shown,
)
from labenv_instruments.wire_twin import WireTwin

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

QUEUE_LENGTH: Final = 10
PRESENT_EVENT_BITS: Final = 0b1011_1101  # of the event enable register: bits 1 and 6 are not kept
_POWER_ON, _COMMAND, _EXECUTION, _DEVICE, _QUERY, _COMPLETE = 128, 32, 16, 8, 4, 1
_UNITS: Final = re.compile(r"""((?:[^;"']|"[^"]*"|'[^']*')+)""")


class ScpiTwin(WireTwin):
    """A simulated SCPI instrument; a subclass says its headers.

    Attributes:
        maker_and_model: The first two fields of its identification.
        values: Its settings by name.
        takes_s: Lab seconds that the line at hand takes; a handler adds to it.
    """

    maker_and_model: str
    firmware = "A01"

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - those of WireTwin
        super().__init__(*args, **kwargs)
        self.values: dict[str, Any] = {}
        self.takes_s = 0.0
        self._defaults: dict[str, Any] = {}
        self._entries: list[tuple[re.Pattern[str], Entry]] = []
        self._known: dict[str, Entry | None] = {}
        self._errors: deque[int] = deque()
        self._events, self._enabled, self._service = _POWER_ON, 0, 0
        self._common()
        self.headers()
        self.values.update(self._defaults)

    # ------------------------------------------------------------------------- what a twin adds

    def headers(self) -> None:
        """Say what the instrument understands, with `number`, `switch`, `choice` and `header`."""
        raise NotImplementedError

    def reset(self) -> None:
        """Do what ``*RST`` does beside the settings."""

    def setting(self, name: str) -> Any:  # noqa: ANN401 - a number, a switch or a word
        """Return what the instrument says a setting is.

        Args:
            name: In `values`.

        Returns:
            Its value.
        """
        return self.values[name]

    # ------------------------------------------------------------------------- headers

    def header(
        self,
        pattern: str,
        *,
        do: Callable[[str], None] | None = None,
        ask: Callable[[str], str] | None = None,
    ) -> None:
        """Understand a header.

        Args:
            pattern: Such as ``"[SOURce:]CURRent[:LEVel]"``: capitals are the short form, what is
                in brackets may be left out.
            do: For the command.
            ask: For the query.
        """
        self._entries.append((compiled(pattern), Entry(do, ask)))

    def number(self, pattern: str, name: str, default: float, low: float, high: float) -> None:
        """Understand a setting that is a number.

        Args:
            pattern: Of its header.
            name: In `values`.
            default: After ``*RST``.
            low: Smallest; below it, error -222.
            high: Largest.
        """

        def parse(text: str) -> float:
            word = text.upper()
            named = {"MIN": low, "MINIMUM": low, "MAX": high, "MAXIMUM": high}
            value = {**named, "DEF": default, "DEFAULT": default}.get(word)
            value = as_number(text) if value is None else value
            if not low <= value <= high:
                raise ScpiError(-222)
            return value

        def ask(text: str) -> str:
            return shown(parse(text) if text else self.setting(name))

        self._setting(pattern, name, default, parse, ask)

    def switch(self, pattern: str, name: str, default: bool) -> None:
        """Understand a setting that is on or off.

        Args:
            pattern: Of its header.
            name: In `values`.
            default: After ``*RST``.
        """
        words = {"1": True, "ON": True, "0": False, "OFF": False}

        def parse(text: str) -> bool:
            if text.upper() not in words:
                raise ScpiError(-224)
            return words[text.upper()]

        self._setting(pattern, name, default, parse, lambda _: str(int(self.setting(name))))

    def choice(self, pattern: str, name: str, default: str, words: str) -> None:
        """Understand a setting that is one of some words.

        Args:
            pattern: Of its header.
            name: In `values`; holds the short form.
            default: After ``*RST``.
            words: Such as ``"VOLTage CURRent"``.
        """
        known = {word: (compiled(word), short_form(word)) for word in words.split()}

        def parse(text: str) -> str:
            bare = text.strip("\"'").upper()
            for pattern_, short in known.values():
                if pattern_.fullmatch(bare):
                    return short
            raise ScpiError(-224)

        self._setting(pattern, name, default, parse, lambda _: str(self.setting(name)))

    def _setting(
        self,
        pattern: str,
        name: str,
        default: Any,  # noqa: ANN401 - a number, a switch or a word
        parse: Callable[[str], Any],
        ask: Callable[[str], str],
    ) -> None:
        def do(text: str) -> None:
            if not text:
                raise ScpiError(-109)
            self.values[name] = parse(text)

        self._defaults[name] = default
        self.header(pattern, do=do, ask=ask)

    # ------------------------------------------------------------------------- lines

    async def receive(self, reader: asyncio.StreamReader) -> bytes:
        """Read a line.

        Args:
            reader: What comes in.

        Returns:
            The line with its end.
        """
        return await reader.readuntil(b"\n")

    async def answer(self, request: bytes) -> bytes | None:
        """Do what a line says, take the time it takes, and answer its queries.

        Args:
            request: The line.

        Returns:
            The answers in one line; None if there are none.
        """
        self.takes_s = 0.0
        answers = self.execute(request.decode("ascii", "replace").strip())
        if self.takes_s > 0.0:
            await self.clock.sleep_until_s(self.clock.now_s + self.takes_s)
            self.advance(self.clock.now_s)
        return None if answers is None else answers.encode("ascii") + b"\n"

    def execute(self, line: str) -> str | None:
        """Do what a line says.

        Args:
            line: Without its end.

        Returns:
            The answers of its queries, joined by semicolons; None if it asks nothing.
        """
        answers: list[str] = []
        path = ""
        for unit in _UNITS.findall(line):
            header, _, parameters = unit.strip().partition(" ")
            if not header:
                continue
            full, path = resolved(header.upper(), path)
            try:
                found = self._do(full, parameters.strip())
            except ScpiError as error:
                self.report(error.code)
                if -200 < error.code <= -100:
                    break
            else:
                answers += [] if found is None else [found]
        return ";".join(answers) if answers else None

    def report(self, code: int) -> None:
        """Put an error in the queue, whose last place says that others did not fit.

        Args:
            code: Its number.
        """
        kind = {1: _COMMAND, 2: _EXECUTION, 3: _DEVICE, 4: _QUERY}.get(-code // 100, _DEVICE)
        self._events |= kind
        if len(self._errors) >= QUEUE_LENGTH:
            self._errors[-1] = -350
        else:
            self._errors.append(code)

    def _do(self, header: str, parameters: str) -> str | None:
        asks = header.endswith("?")
        entry = self._find(header.removesuffix("?"))
        handler = None if entry is None else entry.ask if asks else entry.do
        if handler is None:
            raise ScpiError(-113)
        return handler(parameters)

    def _find(self, header: str) -> Entry | None:
        if header not in self._known:
            if len(self._known) > 512:  # of a peer that sends noise
                self._known.clear()
            found = (entry for pattern, entry in self._entries if pattern.fullmatch(header))
            self._known[header] = next(found, None)
        return self._known[header]

    # ------------------------------------------------------------------------- IEEE 488.2

    def _common(self) -> None:
        serial = f"twin-{self.station}"
        self.header("*IDN", ask=lambda _: f"{self.maker_and_model},{serial},{self.firmware}")
        self.header("*RST", do=lambda _: self._reset())
        self.header("*CLS", do=lambda _: self._clear())
        self.header("*OPC", do=lambda _: self._complete(), ask=lambda _: "1")
        self.header("*WAI", do=lambda _: None)
        self.header("*ESR", ask=lambda _: self._take_events())
        self.header("*ESE", do=self._enable, ask=lambda _: str(self._enabled))
        self.header("*SRE", do=self._enable_service, ask=lambda _: str(self._service))
        self.header("*STB", ask=lambda _: str(self._status_byte()))
        self.header("*TST", ask=lambda _: "0")
        next_error = Entry(ask=lambda _: self._next_error())
        for pattern in ("SYSTem:ERRor[:NEXT]", "STATus:QUEue[:NEXT]"):
            self._entries.append((compiled(pattern), next_error))
        self.header("STATus:QUEue:CLEar", do=lambda _: self._errors.clear())
        self.header("SYSTem:CLEar", do=lambda _: self._errors.clear())
        self.header("STATus:PRESet", do=lambda _: None)

    def _reset(self) -> None:
        self.values.update(self._defaults)
        self.reset()

    def _clear(self) -> None:
        self._errors.clear()
        self._events = 0

    def _complete(self) -> None:
        self._events |= _COMPLETE

    def _take_events(self) -> str:
        events, self._events = self._events, 0
        return str(events)

    def _enable(self, text: str) -> None:
        self._enabled = _register(text) & PRESENT_EVENT_BITS

    def _enable_service(self, text: str) -> None:
        self._service = _register(text)

    def _status_byte(self) -> int:
        return (4 if self._errors else 0) | (32 if self._events & self._enabled else 0)

    def _next_error(self) -> str:
        if not self._errors:
            return '0,"No error"'
        code = self._errors.popleft()
        return f'{code},"{TEXTS[code]}"'


def _register(text: str) -> int:
    value = as_number(text)
    if not 0 <= value <= 255:
        raise ScpiError(-222)
    return int(value)


__all__ = ["QUEUE_LENGTH", "ScpiTwin"]
