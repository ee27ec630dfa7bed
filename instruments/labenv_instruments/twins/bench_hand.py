"""A twin of the bench's hand: it holds the samples of a simulated laboratory and all its twins."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from labenv_instruments.clock import VirtualClock
from labenv_instruments.faults import Fault, parse_kind
from labenv_instruments.wire_twin import WireTwin
from labenv_schemas.errors import InstrumentError, LabEnvError
from labenv_schemas.proposal import Mix, Operation, Press, Regrind

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

    from labenv_instruments.sample_view import SampleView

    NewSample = Callable[[str, int], SampleView]
    NewWorld = Callable[[Mapping[str, Any]], NewSample]

_READER: TypeAdapter[Any] = TypeAdapter(Operation)


class BenchHandTwin(WireTwin):
    """The hand of a bench of twins.

    Samples are made when they are first carried, by what `new_world` returns.

    Attributes:
        twins: The bench's other twins, by station.
        new_world: Begins a series of samples from the content of ``begin``; None where samples are
            put into twins by other means.
    """

    driver = "bench_hand"

    twins: dict[str, WireTwin]
    new_world: NewWorld | None = None

    def __init__(self, station: str = "", **options: Any) -> None:  # noqa: ANN401 - those of every twin
        super().__init__(station, **options)
        self.twins = {}
        self._begun: dict[str, Any] | None = None
        self._new_sample: NewSample | None = None
        self._samples: dict[str, SampleView] = {}
        self._stopped = False

    @property
    def safe(self) -> bool:
        """A hand is safe; whether its bench is, each twin says."""
        return True

    async def receive(self, reader: asyncio.StreamReader) -> bytes:
        """Read one line.

        Args:
            reader: What comes in.

        Returns:
            The line.
        """
        return await reader.readuntil(b"\n")

    async def answer(self, request: bytes) -> bytes | None:
        """Do what is asked.

        Args:
            request: One line of JSON.

        Returns:
            One line of JSON.
        """
        number: Any = None
        try:
            content = json.loads(request)
            number = content.pop("id")
            reply = {"ok": True, **_work(str(content.pop("do")))(self, content)}
        except LabEnvError as error:
            reply = {"ok": False, "message": str(error)}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reply = {"ok": False, "message": f"no request: {type(error).__name__}: {error}"}
        return json.dumps({"id": number, **reply}).encode() + b"\n"

    def put(self, sample: SampleView) -> None:
        """Put one sample at every station, until samples of a series are carried.

        Args:
            sample: Which; it can be at several places at once, as none can.
        """
        self._samples[sample.sample_id] = sample
        for twin in self.twins.values():
            twin.load(sample, {})

    # ------------------------------------------------------------------------- what it does

    def _hello(self, _: dict[str, Any]) -> dict[str, Any]:
        return {
            "model": "labenv twin bench",
            "serial": f"twin-{self.station}",
            "simulated": True,
            "begun": self._begun is not None,
        }

    def _begin(self, content: dict[str, Any]) -> dict[str, Any]:
        resume = content.pop("resume", False)
        self._stopped = False
        if resume and content == self._begun:
            return {}
        if resume and self._begun is not None:
            raise InstrumentError("this bench holds another series of samples; it cannot go on")
        for twin in self.twins.values():
            twin.unload()
        self._samples.clear()
        self._begun = content
        if self.new_world is not None:
            self._new_sample = self.new_world(content)
        return {}

    def _load(self, content: dict[str, Any]) -> dict[str, Any]:
        if self._stopped:
            raise InstrumentError("the operator has stopped the bench; nothing is carried")
        name = str(content["sample"])
        twin = self._twin(content)
        twin.load(self._sample(name, int(content["index"])), content.get("settings") or {})
        return {}

    def _unload(self, content: dict[str, Any]) -> dict[str, Any]:
        twin, name = self._twin(content), str(content["sample"])
        if twin.sample is not None and twin.sample.sample_id != name:
            raise InstrumentError(f"{twin.station} holds {twin.sample.sample_id}, not {name}")
        twin.unload()
        return {"lost": getattr(self._samples.get(name), "lost", None)}

    def _perform(self, content: dict[str, Any]) -> dict[str, Any]:
        operation, sample = _READER.validate_python(content["operation"]), None
        sample = self._samples.get(str(content["sample"]))
        if sample is None:
            raise InstrumentError(f"there is no sample {content['sample']} on this bench")
        match operation:
            case Mix():
                sample.mix(operation)
            case Press():
                sample.press(operation)
            case Regrind():
                sample.regrind(operation)
            case _:
                raise InstrumentError(f"a hand does not {operation.op}")
        return {}

    def _stop(self, _: dict[str, Any]) -> dict[str, Any]:
        self._stopped = True
        return {}

    def _advance(self, content: dict[str, Any]) -> dict[str, Any]:
        clock = self._twin(content).clock
        if not isinstance(clock, VirtualClock):
            raise InstrumentError("the time of this bench is the wall's; it cannot be advanced")
        clock.set_s(clock.now_s + max(0.0, float(content["lab_s"])))
        return {"now_s": clock.now_s}

    def _fault(self, content: dict[str, Any]) -> dict[str, Any]:
        twin = self._twin(content)
        if content["kind"] == "none":
            twin.faults.clear()
            return {}
        kind = parse_kind(str(content["kind"]))
        after, lasts = int(content.get("after_requests", 0)), int(content.get("lasts_requests", 1))
        twin.let_fail(Fault(kind, after, lasts, float(content.get("delay_s", 3.0))))
        return {}

    def _state(self, _: dict[str, Any]) -> dict[str, Any]:
        stations = {
            name: {
                **twin.state(),
                "safe": twin.safe,
                "sample": None if twin.sample is None else twin.sample.sample_id,
                "lab_s": twin.clock.now_s,
            }
            for name, twin in self.twins.items()
        }
        return {"stations": stations, "stopped": self._stopped}

    def _twin(self, content: dict[str, Any]) -> WireTwin:
        name = str(content["station"])
        if name not in self.twins:
            raise InstrumentError(f"this bench has no {name}; it has {', '.join(self.twins)}")
        return self.twins[name]

    def _sample(self, name: str, index: int) -> SampleView:
        if name not in self._samples:
            if self._new_sample is None:
                raise InstrumentError("no series of samples has begun on this bench")
            self._samples[name] = self._new_sample(name, index)
        return self._samples[name]


_WORK: dict[str, Callable[[BenchHandTwin, dict[str, Any]], dict[str, Any]]] = {
    name: getattr(BenchHandTwin, f"_{name}")
    for name in (
        "hello", "begin", "load", "unload", "perform", "stop", "advance", "fault", "state",
    )
}  # fmt: skip


def _work(do: str) -> Callable[[BenchHandTwin, dict[str, Any]], dict[str, Any]]:
    if do not in _WORK:
        raise InstrumentError(f"a hand does {', '.join(_WORK)}, not {do!r}")
    return _WORK[do]


__all__ = ["BenchHandTwin"]
