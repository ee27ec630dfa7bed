"""The discrete-event engine: samples queue, operations start and end, instant by instant.

An operation is carried out when it starts, because a twin needs no time to compute, and its result
is believed when it ends: until then nothing outside can see it, and a cancellation throws it away.
An instant is complete when everything that ends at it has ended and everything that can start at
it has started; calls from outside happen between instants only. So the times are those of the
plans and the queues alone, and the results those of the plans alone.

Queues are first come, first served; of samples that come at the same instant, the one submitted
first.
"""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING

from labenv.lab.experiment import OperationResult
from labenv.lab.interlocks import DRIVER_OF
from labenv.lab.running import Running, left_behind
from labenv.lab.stations import Station, StationStatus, build_on_demand, finish_now
from labenv.lab.streams import stream
from labenv.lab.timing import REPAIR_S, cold_again_s, operation_cost, operation_time
from labenv_instruments.instrument import InstrumentRequest
from labenv_schemas.errors import BoundaryError, ProposalError
from labenv_schemas.proposal import Heat

if TYPE_CHECKING:
    from labenv.lab.experiment import Experiment, Failure
    from labenv.lab.recorder import Recorder
    from labenv.lab.sample import World
    from labenv.lab.wire_bench import WireBench
    from labenv_schemas.outcome import Outcome, OutcomeStatus

_STATUS_OF: dict[Failure, OutcomeStatus] = {
    "machine": "failed_machine",
    "chemistry": "failed_chemistry",
    "refused": "invalid",
}


class Executor:
    """Moves experiments through stations.

    Args:
        world: What their samples share.
        stations: The stations.
        recorder: Where everything is written down.
        machine_failure_rate: Chance that an operation fails for the machine.
        wires: The devices, where the stations are on wires.
    """

    def __init__(
        self,
        world: World,
        stations: list[Station],
        recorder: Recorder,
        machine_failure_rate: float = 0.0,
        *,
        wires: WireBench | None = None,
    ) -> None:
        self.ready: list[Outcome] = []
        self._world = world
        self._stations = stations
        self._recorder = recorder
        self._failure_rate = machine_failure_rate
        self._experiments: dict[int, Experiment] = {}
        self._queues: dict[str, list[tuple[float, int]]] = {s.kind: [] for s in stations}
        # (lab time, experiment and operation that ends; -1 where only a station becomes free)
        self._events: list[tuple[float, int, int]] = []
        self._wires = wires
        self._running: dict[int, Running] = {}

    @property
    def running(self) -> tuple[Running, ...]:
        """What real devices are at now, and will end in their own time."""
        return tuple(self._running.values())

    @property
    def next_s(self) -> float | None:
        """Lab clock of the next instant at which something happens, s; None if nothing will."""
        return self._events[0][0] if self._events else None

    def statuses(self, now_s: float) -> tuple[StationStatus, ...]:
        """Return a snapshot of every station.

        Args:
            now_s: Lab clock, s.

        Returns:
            One a station.
        """
        found: list[StationStatus] = []
        for station in self._stations:
            inside = None if station.occupant is None else self._experiments[station.occupant]
            found.append(
                StationStatus(
                    name=station.name,
                    kind=station.kind,
                    busy_until_s=station.free_s if now_s < station.free_s < math.inf else None,
                    queue_length=len(self._queues[station.kind]),
                    experiment_id=None if inside is None else inside.ticket.experiment_id,
                    operation=None if inside is None else inside.position,
                    shows=station.shows,
                )
            )
        return tuple(found)

    def admit(self, experiment: Experiment, now_s: float) -> None:
        """Take a new experiment in and start what can start.

        Args:
            experiment: Its operations are vetted.
            now_s: Lab clock, s.
        """
        self._experiments[experiment.ticket.index] = experiment
        for operation in experiment.operations:
            kind = DRIVER_OF[type(operation)]
            if kind not in self._queues:
                stamps = self._recorder.keeps_record
                self._stations.append(build_on_demand(kind, stamps=stamps))
                self._queues[kind] = []
        self._arrive(experiment, now_s)
        self._dispatch(now_s)

    def advance_instant(self) -> float:
        """Complete the next instant.

        Returns:
            Its lab clock, s.
        """
        now_s = self._events[0][0]
        ends: list[tuple[int, int]] = []
        while self._events and self._events[0][0] == now_s:
            ends.append(heapq.heappop(self._events)[1:])
        for index, position in sorted(ends):
            experiment = self._experiments.get(index)
            if experiment is not None and experiment.runs(position):
                self._end(experiment, now_s)
        self._dispatch(now_s)
        return now_s

    def settle(self, now_s: float) -> None:
        """Believe what devices have ended by now, and start what can start.

        Args:
            now_s: Lab clock, s.
        """
        ended = [number for number, running in self._running.items() if running.done()]
        for number in ended:
            running = self._running.pop(number)
            experiment, station = running.experiment, self._stations[number]
            operation = experiment.operations[experiment.position]
            cost = operation_cost(operation, self._world.bench.shelf)
            experiment.result = running.ended(station, cost, now_s, now_s)
            station.free_s = experiment.result.free_s
            if station.free_s > now_s:
                heapq.heappush(self._events, (station.free_s, -1, -1))
            self._end(experiment, now_s)
        if ended:
            self._dispatch(now_s)

    def cancel(self, experiment: Experiment, now_s: float) -> None:
        """Give an experiment up, wherever it is.

        Args:
            experiment: Which; nothing happens if it has an outcome.
            now_s: Lab clock, s.
        """
        if experiment.done:
            return
        name = experiment.ticket.experiment_id
        self._recorder.record("cancelled", name, now_s)
        if experiment.station is None:
            queue = self._queues[DRIVER_OF[type(experiment.operations[experiment.position])]]
            queue.remove((experiment.queued_s, experiment.ticket.index))
            heapq.heapify(queue)
        else:
            self._abort(experiment, self._stations[experiment.station], now_s)
        self._conclude(experiment, "cancelled", "the experiment was given up", now_s)
        self._dispatch(now_s)

    def close(self) -> None:
        """Make every instrument safe and forget what was in flight; twice is fine."""
        for running in self._running.values():
            running.cancel()
        self._running.clear()
        if self._wires is not None:
            self._wires.close()
        for station in self._stations:
            if self._wires is None:
                finish_now(station.instrument.close())
            station.occupant = None
        for queue in self._queues.values():
            queue.clear()
        self._events.clear()
        self.ready.clear()

    # ------------------------------------------------------------------------ the life of a sample

    def _arrive(self, experiment: Experiment, now_s: float) -> None:
        experiment.queued_s, experiment.started_s, experiment.station = now_s, None, None
        kind = DRIVER_OF[type(experiment.operations[experiment.position])]
        heapq.heappush(self._queues[kind], (now_s, experiment.ticket.index))

    def _dispatch(self, now_s: float) -> None:
        for number, station in enumerate(self._stations):
            queue = self._queues[station.kind]
            if queue and station.occupant is None and station.free_s <= now_s:
                index = self._next_for(station, queue)
                if index is not None:
                    self._start(self._experiments[index], number, now_s)

    def _next_for(self, station: Station, queue: list[tuple[float, int]]) -> int | None:
        """Take the first experiment from a queue that a station may work on.

        Returns:
            Its index, or None.
        """
        for entry in sorted(queue):
            experiment = self._experiments[entry[1]]
            if station.accepts(experiment.operations[experiment.position]):
                queue.remove(entry)
                heapq.heapify(queue)
                return entry[1]
        return None

    def _start(self, experiment: Experiment, number: int, now_s: float) -> None:
        station, ticket, position = self._stations[number], experiment.ticket, experiment.position
        experiment.started_s, experiment.station = now_s, number
        self._recorder.record(
            "operation_started",
            ticket.experiment_id,
            now_s,
            lambda: {
                "op": experiment.operations[position].op,
                "station": station.name,
                "queued_s": experiment.queued_s,
            },
            position,
        )
        result = self._recorder.recorded_result(experiment, now_s)
        if result is None and self._wires is not None:
            result = self._begin_on_wire(experiment, number, now_s, self._wires)
            if result is None:
                return
        if result is None:
            result = self._carry_out(experiment, station, now_s)
        experiment.result = result
        station.occupant, station.free_s = ticket.index, result.free_s
        heapq.heappush(self._events, (result.finished_s, ticket.index, position))
        if result.free_s > result.finished_s:
            heapq.heappush(self._events, (result.free_s, -1, -1))

    def _begin_on_wire(
        self, experiment: Experiment, number: int, now_s: float, wires: WireBench
    ) -> OperationResult | None:
        """Let a device begin an operation, and end it at once in virtual time.

        Returns:
            The result; None if the device is at it.
        """
        station, position = self._stations[number], experiment.position
        operation, name = experiment.operations[position], experiment.ticket.experiment_id
        cost = operation_cost(operation, self._world.bench.shelf)
        if self._recorder.left_unfinished(name, position):
            return OperationResult(
                now_s, now_s, cost, failure="machine", message=left_behind(station, operation)
            )
        time = operation_time(operation)
        finished_s = now_s + time.duration_s
        expected_s = None if wires.live else finished_s
        sample = experiment.sample
        request = InstrumentRequest(operation, sample.sample_id, time.duration_s, expected_s)
        running = Running(experiment, wires.portal.submit(station.perform(request, sample)))
        if wires.live:
            station.occupant, station.free_s = experiment.ticket.index, math.inf
            self._running[number] = running
            return None
        running.wait()
        return running.ended(station, cost, finished_s, now_s + time.occupied_s)

    def _carry_out(self, experiment: Experiment, station: Station, now_s: float) -> OperationResult:
        operation, sample = experiment.operations[experiment.position], experiment.sample
        time = operation_time(operation)
        finished_s, free_s = now_s + time.duration_s, now_s + time.occupied_s
        cost = operation_cost(operation, self._world.bench.shelf)
        failed = self._machine_failure(experiment, station, now_s, finished_s)
        if failed is not None:
            return OperationResult(
                failed, failed + REPAIR_S, cost, failure="machine", message=_broke(station)
            )
        sample.catch_up(experiment.operations[: experiment.position])
        request = InstrumentRequest(operation, sample.sample_id, time.duration_s, finished_s)
        try:
            measurements = finish_now(station.perform(request, sample))
        except BoundaryError as error:
            return OperationResult(
                finished_s, free_s + REPAIR_S, cost, failure="machine", message=str(error)
            )
        except ProposalError as error:  # past the interlocks, but no device should do it
            return OperationResult(finished_s, free_s, cost, failure="refused", message=str(error))
        if sample.lost is not None:
            return OperationResult(
                finished_s, free_s, cost, measurements, failure="chemistry", message=sample.lost
            )
        return OperationResult(finished_s, free_s, cost, measurements)

    def _machine_failure(
        self, experiment: Experiment, station: Station, now_s: float, finished_s: float
    ) -> float | None:
        """Return the lab clock at which the machine fails, if it does."""
        if self._failure_rate <= 0.0:
            return None
        index, position = experiment.ticket.index, experiment.position
        chance, share = stream(self._world.seed, "machine", index, position).random(2)
        return now_s + share * (finished_s - now_s) if chance < self._failure_rate else None

    def _end(self, experiment: Experiment, now_s: float) -> None:
        result = experiment.result
        if result is None or experiment.station is None:
            return
        station = self._stations[experiment.station]
        station.occupant = None
        record = experiment.note(station.name, "failed" if result.failure else "ok", now_s)
        experiment.measurements.extend(result.measurements)
        self._recorder.operation_finished(experiment, record, result)
        if result.failure is not None:
            status = _STATUS_OF[result.failure]
            self._conclude(experiment, status, result.message, now_s)
        elif experiment.position + 1 == len(experiment.operations):
            self._conclude(experiment, "ok", None, now_s)
        else:
            experiment.position += 1
            experiment.result = None
            self._arrive(experiment, now_s)

    def _abort(self, experiment: Experiment, station: Station, now_s: float) -> None:
        self._abort_device(experiment, station)
        operation = experiment.operations[experiment.position]
        started_s = now_s if experiment.started_s is None else experiment.started_s
        experiment.note(station.name, "cancelled", now_s)
        station.occupant, station.free_s = None, now_s
        if isinstance(operation, Heat):
            station.free_s += cold_again_s(operation, now_s - started_s)
            heapq.heappush(self._events, (station.free_s, -1, -1))

    def _abort_device(self, experiment: Experiment, station: Station) -> None:
        if self._wires is None:
            finish_now(station.instrument.abort())
            return
        running = self._running.pop(experiment.station or 0, None)
        if running is not None:
            running.cancel()

    def _conclude(
        self, experiment: Experiment, status: OutcomeStatus, message: str | None, now_s: float
    ) -> None:
        experiment.done, experiment.station, experiment.started_s = True, None, None
        name = experiment.ticket.experiment_id
        moment = self._recorder.record(
            "outcome", name, now_s, lambda: {"status": status, "message": message}
        )
        self.ready.append(experiment.outcome(status, message, now_s, moment))

    def refuse(self, experiment: Experiment, message: str, now_s: float) -> None:
        """Give an experiment that was not admitted its outcome `invalid`.

        Args:
            experiment: Which.
            message: What to change.
            now_s: Lab clock, s.
        """
        self._experiments[experiment.ticket.index] = experiment
        name = experiment.ticket.experiment_id
        self._recorder.record("interlock_refused", name, now_s, lambda: {"message": message})
        self._conclude(experiment, "invalid", message, now_s)


def _broke(station: Station) -> str:
    return (
        f"{station.name} ({station.kind}) broke down during the operation and the sample was lost; "
        f"this says nothing about the plan, which may be proposed again"
    )


__all__ = ["Executor"]
