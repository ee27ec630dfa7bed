"""The automation protocol of a Malvern Panalytical Aeris: ``@WORD@NAME=value@END`` over TCP.

A reply has the same form. What is wrong is told in words: ``fatal`` stands in the reply then. A
sample is known by its id from ``ADD`` to ``REMOVE``; it lies at a location ``0,n``, from which the
device's own arm takes it to the goniometer and back.

Source:
    The maker's manual of the protocol is not public. Requests, and the words ``READY``, ``SYSTEM``,
    ``STATE`` and ``fatal`` in replies, are those of the public A-Lab driver, which was used on a
    device; that a reply echoes its command and id was seen in public software for the same maker's
    spectrometers, so an echo is checked where there is one and not missed where there is none.
    Whether ``REMOVE`` ends the scan of a sample that is being measured is assumed and was not tried
    on a device: no public driver has a command that stops a scan.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from labenv_schemas.errors import InstrumentError

if TYPE_CHECKING:
    import asyncio

    from labenv_instruments.wire.connection import Connection

END: Final = b"@END"
SYSTEM: Final = "@STATUS_REQUEST@SYSTEM@END"
UNIT: Final = "@STATUS_REQUEST@UNIT=xrd@END"
LOCATION: Final = "@STATUS_REQUEST@LOCATION=0,{location}@END"
ADD: Final = "@SAMPLE@ADD@APPLICATION={application}@SAMPLE_ID={sample_id}@AT=0,{location}@END"
MEASURE: Final = "@SAMPLE@MEASURE@SAMPLE_ID={sample_id}@APPLICATION={application}@END"
REMOVE: Final = "@SAMPLE@REMOVE@SAMPLE_ID@AT=0,{location}@END"
_VERBS = ("ADD", "MEASURE", "REMOVE")
_WHOLE = re.compile(r"@[\x20-\x7e\r\n]*@END")


class AerisClient:
    """A diffractometer that is told one thing at a time.

    Args:
        connection: To the device.
        name: What to call it in messages.
    """

    def __init__(self, connection: Connection, name: str) -> None:
        self.connection = connection
        self.name = name

    async def system(self) -> dict[str, str]:
        """Return what the device says of itself; ``SYSTEM`` is ``remote`` or ``local``."""
        return await self._status(SYSTEM, "SYSTEM")

    async def is_ready(self) -> bool:
        """Return whether the diffractometer is at rest."""
        fields = await self._status(UNIT, "READY", {"yes", "no"})
        return fields["READY"] == "yes"

    async def is_occupied(self, location: str) -> bool:
        """Return whether something lies at a location."""
        request = LOCATION.format(location=location)
        fields = await self._status(request, "STATE", {"free", "occupied"})
        if fields.get("LOCATION", f"0,{location}") != f"0,{location}":
            raise self._wrong(request, f"LOCATION={fields['LOCATION']}")
        return fields["STATE"] == "occupied"

    async def add(self, sample_id: str, location: str, application: str) -> None:
        """Tell the device which sample lies at a location."""
        request = ADD.format(application=application, sample_id=sample_id, location=location)
        await self._told(request, "ADD", sample_id)

    async def measure(self, sample_id: str, application: str) -> None:
        """Have a sample measured by an application, which is a programme of the device."""
        request = MEASURE.format(sample_id=sample_id, application=application)
        await self._told(request, "MEASURE", sample_id)

    async def remove(self, location: str) -> None:
        """Have the device forget the sample of a location."""
        await self._told(REMOVE.format(location=location), "REMOVE", None)

    async def _status(
        self, request: str, name: str, known: set[str] | None = None
    ) -> dict[str, str]:
        try:
            words, fields = await self._ask(request)
        except InstrumentError as cause:
            if self.connection.is_open:
                raise
            words, fields = await self._again(request, cause)
        value = fields.get(name)
        if words[:1] == ["SAMPLE"] or value is None or (known is not None and value not in known):
            raise self._wrong(request, f"{name}={value}")
        return fields

    async def _again(
        self, request: str, cause: InstrumentError
    ) -> tuple[list[str], dict[str, str]]:
        # It moves nothing when it is asked again, and a scan may take hours.
        try:
            return await self._ask(request)
        except InstrumentError as second:
            raise second from cause

    async def _told(self, request: str, verb: str, sample_id: str | None) -> None:
        words, fields = await self._ask(request)
        spoken = [word for word in words if word.startswith(_VERBS)]
        about = fields.get("SAMPLE_ID")
        if words[:1] == ["STATUS"] or (spoken and not spoken[0].startswith(verb)):
            raise self._wrong(request, "@".join(words))
        if sample_id is not None and about is not None and about != sample_id:
            raise self._wrong(request, f"SAMPLE_ID={about}")

    async def _ask(self, request: str) -> tuple[list[str], dict[str, str]]:
        data = await self.connection.exchange(request.encode("ascii"), _until_end)
        text = data.decode("ascii", "replace")
        if not _WHOLE.fullmatch(text):
            raise self._wrong(request, text)
        parts = [part.strip() for part in text.split("@")[1:-1]]
        fields = dict(part.split("=", 1) for part in parts if "=" in part)
        if "fatal" in text.lower():
            why = fields.get("MESSAGE", text)
            raise InstrumentError(f"{self.name} refused {request!r}: {why}", retryable=True)
        return [part for part in parts if "=" not in part], fields

    def _wrong(self, request: str, what: str) -> InstrumentError:
        self.connection.drop()
        return InstrumentError(
            f"{self.name} answered {request!r} with {what!r}, which is no answer to it",
            retryable=True,
        )


async def _until_end(reader: asyncio.StreamReader) -> bytes:
    return (await reader.readuntil(END)).strip()


__all__ = ["AerisClient"]
