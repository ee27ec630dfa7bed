"""A bench of twins in a thread of its own, for tests of laboratories on wires."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from labenv.lab.portal import Portal
from labenv.lab.twin_bench import TwinBench
from labenv_schemas.campaign import LabConfig

if TYPE_CHECKING:
    from collections.abc import Generator

STATIONS: dict[str, dict[str, Any]] = {
    "balance": {"address": "mt_sics+tcp://127.0.0.1"},
    "mixer": {"address": "bench_hand+tcp://127.0.0.1"},
    "press": {"address": "bench_hand+tcp://127.0.0.1", "role": "pellet_press"},
    "furnace-1": {"address": "eurotherm+tcp://127.0.0.1?model=3216"},
    "furnace-2": {"address": "eurotherm+tcp://127.0.0.1?model=EPC3016"},
    "diffractometer": {"address": "aeris+tcp://127.0.0.1"},
}


class Bench:
    """A running bench, and what a test does to it from outside."""

    def __init__(self, portal: Portal, twins: TwinBench, config: LabConfig) -> None:
        self.portal, self.twins, self.config = portal, twins, config

    def ask(self, **content: Any) -> dict[str, Any]:
        request = json.dumps({"id": 1, **content}).encode() + b"\n"
        return json.loads(self.portal.run(self.twins.hand.answer(request)) or b"")

    def states(self) -> dict[str, Any]:
        return self.ask(do="state")["stations"]

    def all_safe(self) -> bool:
        return all(state["safe"] for state in self.states().values())

    def fault(self, station: str, kind: str, after: int = 0, lasts: int = 1, delay_s: float = 1.0):
        return self.ask(
            do="fault", station=station, kind=kind, after_requests=after, lasts_requests=lasts,
            delay_s=delay_s,
        )  # fmt: skip


@contextmanager
def running_bench(
    *, timeout_s: float = 1.0, without: tuple[str, ...] = (), limits: Any = None, **settings: Any
) -> Generator[Bench]:
    stations = {
        name: {**station, "timeout_s": timeout_s, "limits": (limits or {}).get(name, {})}
        for name, station in STATIONS.items()
        if name not in without
    }
    given = {"clock": "virtual", "hand": "tcp://127.0.0.1", "stations": stations, **settings}
    portal = Portal()
    try:
        twins = TwinBench(LabConfig.model_validate(given), any_port=True)
        config = portal.run(twins.start())
        try:
            yield Bench(portal, twins, config)
        finally:
            portal.run(twins.close())
    finally:
        portal.close()
