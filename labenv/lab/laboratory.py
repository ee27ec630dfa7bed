"""The laboratory: proposals in, outcomes out, several at a time, on a clock of its own.

    lab = Lab(LabConfig(furnaces=2), seed=1)
    tickets = [lab.submit(plan) for plan in plans]          # returns at once
    for outcome in lab.collect("next"): ...                 # the clock runs until one is done

What experiment number i gives depends on the seed, on i and on its plan, and on nothing else; when
it gives it depends on the queues. With a journal every event is written down before it is
believed, and `resume` brings a new lab to where a killed one was.
"""

from __future__ import annotations

import asyncio
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Literal

from labenv.lab.bench import load_bench
from labenv.lab.conditions import draw_conditions
from labenv.lab.executor import Executor
from labenv.lab.experiment import Experiment, Ticket
from labenv.lab.interlocks import vetted_operations
from labenv.lab.recorder import Recorder
from labenv.lab.sample import BenchSample, World
from labenv.lab.stations import Station, StationStatus, build_stations
from labenv_instruments.clock import VirtualClock
from labenv_schemas.errors import ConfigError, ProposalError, StoreError
from labenv_schemas.proposal import Proposal, parse_proposal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Iterable

    from labenv.lab.journal import Journal, JournalEvent
    from labenv.lab.wire_bench import WireBench
    from labenv_instruments.clock import Clock
    from labenv_schemas.campaign import LabConfig
    from labenv_schemas.outcome import Outcome

_GLANCE_S, _LOOK_S = 0.1, 1.0  # of wall time: how long a wait for devices is deaf, and blind


class Lab:
    """Stations, a clock and samples.

    Not safe to share between threads. It pickles at any time, with what is in flight.

    Args:
        config: What the lab has.
        seed: Of the episode; decides its hidden conditions and every random number.
        journal: Where every event goes; None keeps no record, and then neither measurements nor
            outcomes carry the wall clock's time, so that equal seeds give equal outcomes.
        clock: Lab time; virtual by default, and with stations on wires what the lab file says.

    Attributes:
        on_wait: Called about once a second while devices on wires are waited for.

    Raises:
        UnknownPluginError: If the chemical system is not known.
        ConfigError: If the lab file names what is no station.
        InstrumentError: If a device that it names does not answer.
    """

    def __init__(
        self,
        config: LabConfig,
        *,
        seed: int,
        journal: Journal | None = None,
        clock: Clock | None = None,
    ) -> None:
        bench = load_bench(config.system)
        conditions = draw_conditions(bench.system, bench.shelf, [seed], randomise=config.randomise)
        self.config = config
        self._world = World(bench, conditions, seed)
        self._clock: Clock = VirtualClock() if clock is None else clock
        self._recorder = Recorder(journal)
        self._wires = _connected(config, stamps=journal is not None)
        if self._wires is None:
            stations = build_stations(config.furnaces, stamps=journal is not None)
        else:
            stations = list[Station](self._wires.stations)
            self._clock = clock or self._wires.clock
        self._executor = Executor(
            self._world, stations, self._recorder, config.machine_failure_rate, wires=self._wires
        )
        self.on_wait: Callable[[], None] | None = None
        self._experiments: dict[str, Experiment] = {}
        self._uncollected: dict[str, Ticket] = {}
        self._closed = False

    @property
    def seed(self) -> int:
        """The episode's seed."""
        return self._world.seed

    @property
    def standard_brightness(self) -> float:
        """Brightness of the diffractometer over its nominal one, as found on a standard."""
        return float(self._world.conditions.standard[0])

    @property
    def now_s(self) -> float:
        """Lab clock, s."""
        return self._clock.now_s

    @property
    def pending(self) -> tuple[Ticket, ...]:
        """Tickets whose outcome has not been collected, in order of submission."""
        return tuple(self._uncollected.values())

    @property
    def stations(self) -> tuple[StationStatus, ...]:
        """A snapshot of every station."""
        return self._executor.statuses(self.now_s)

    def submit(self, proposal: Proposal, *, experiment_id: str | None = None) -> Ticket:
        """Hand a plan in.

        Args:
            proposal: The plan. What the lab refuses gives an outcome `invalid`, not an exception.
            experiment_id: Name of the experiment; made from its number if not given.

        Returns:
            A claim on the outcome.

        Raises:
            ConfigError: If the lab is closed or has an experiment of that name.
            ProposalError: If it is no `Proposal`; plain data are read by `parse_proposal`.
            InstrumentError: If nobody carries samples between devices any more.
        """
        if not isinstance(proposal, Proposal):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ProposalError(
                f"a lab takes a Proposal, not a {type(proposal).__name__}; read plain data with "
                "labenv.parse_proposal"
            )
        if self._wires is not None:
            self._wires.check_there()
        self._catch_up(self.now_s)
        return self._submit(proposal, experiment_id, self.now_s)

    def collect(self, wait: Literal["none", "next", "all"] = "next") -> list[Outcome]:
        """Return outcomes that were not collected before.

        Args:
            wait: ``"none"`` takes what is there. ``"next"`` lets the clock run until something is;
                all that end at the same instant come together. ``"all"`` lets it run until nothing
                is in flight.

        Returns:
            Outcomes in order of lab time, ties in order of submission; empty if nothing is in
            flight.
        """
        executor = self._executor
        self._catch_up(self.now_s)
        while wait == "all" or (wait == "next" and not executor.ready):
            if len(executor.ready) == len(self._uncollected):
                break
            instant_s = executor.next_s
            if executor.running:
                self._wait_for_devices(instant_s)
                continue
            if instant_s is None:
                break
            self._wait_until_s(instant_s)
            executor.advance_instant()
        return self._hand_out()

    def run(self, proposal: Proposal) -> Outcome:
        """Hand a plan in and wait for its outcome; outcomes of others stay to be collected.

        Args:
            proposal: The plan.

        Returns:
            Its outcome.
        """
        ticket = self.submit(proposal)
        others: list[Outcome] = []
        while True:
            for outcome in self.collect("next"):
                if outcome.experiment_id == ticket.experiment_id:
                    self._put_back(others)
                    return outcome
                others.append(outcome)

    def cancel(self, ticket: Ticket) -> None:
        """Give an experiment up; nothing happens if it has already ended.

        Args:
            ticket: Which.

        Raises:
            ConfigError: If the lab has no such experiment.
        """
        experiment = self._experiments.get(ticket.experiment_id)
        if experiment is None:
            raise ConfigError(f"this lab has no experiment {ticket.experiment_id!r}")
        self._catch_up(self.now_s)
        self._executor.cancel(experiment, self.now_s)

    def resume(self, events: Iterable[JournalEvent], *, collected: Collection[str] = ()) -> None:
        """Bring this new lab to where the lab that wrote a journal was.

        Operations with a recorded result are not carried out again; they end at the lab time at
        which they ended. Outcomes that were reached can be collected again.

        Args:
            events: The journal, which this lab goes on writing.
            collected: Names of experiments whose outcome the caller already has.

        Raises:
            ConfigError: If the lab is not new, or is not configured as the one that wrote it.
            StoreError: If the journal is broken.
        """
        if self._experiments or self._closed:
            raise ConfigError("only a new lab can be resumed")
        past = self._recorder.load(events)
        if past and self._wires is not None:
            self._wires.begin(self.seed, resume=True)
        for event in past:
            if event.kind in {"submitted", "cancelled"}:
                self._catch_up(event.lab_time_s)
                self._clock.set_s(event.lab_time_s)
                self._repeat(event)
        if past:
            last_s = max(event.lab_time_s for event in past)
            self._catch_up(last_s)
            self._clock.set_s(last_s)
        had = set(collected)
        self._executor.ready = [o for o in self._executor.ready if o.experiment_id not in had]
        for name in had:
            self._uncollected.pop(name, None)

    def close(self) -> None:
        """Stop everything and leave every instrument safe; twice is fine.

        What was in flight gets no outcome, and nothing is written down: a resumed lab goes on with
        it.
        """
        self._closed = True
        self._executor.close()
        self._uncollected.clear()

    # ------------------------------------------------------------------------------------ inside

    def _submit(self, proposal: Proposal, experiment_id: str | None, now_s: float) -> Ticket:
        index = len(self._experiments)
        name = f"experiment-{index:04d}" if experiment_id is None else experiment_id
        if self._closed:
            raise ConfigError("the lab is closed")
        if name in self._experiments:
            raise ConfigError(f"this lab already has an experiment {name!r}")
        ticket = Ticket(name, index, now_s)
        experiment = Experiment(ticket, BenchSample(self._world, f"{name}-sample", index))
        self._experiments[name] = experiment
        self._uncollected[name] = ticket
        self._recorder.record("submitted", name, now_s, lambda: _submission(index, proposal))
        try:
            device_check = None if self._wires is None else self._wires.check
            experiment.operations = vetted_operations(proposal, self._world.bench, device_check)
            if self._wires is not None:
                self._wires.begin(self.seed, resume=False)
        except ProposalError as error:
            self._executor.refuse(experiment, str(error), now_s)
        else:
            self._executor.admit(experiment, now_s)
        return ticket

    def _repeat(self, event: JournalEvent) -> None:
        if event.kind == "cancelled":
            self._executor.cancel(self._experiments[event.experiment_id], event.lab_time_s)
            return
        try:
            proposal = parse_proposal(event.data["proposal"])
        except (KeyError, ProposalError) as error:
            raise StoreError(f"journal event {event.sequence} holds no plan: {error}") from None
        ticket = self._submit(proposal, event.experiment_id, event.lab_time_s)
        if ticket.index != event.data["index"]:
            raise StoreError(f"journal event {event.sequence}: a submission before it is missing")

    def _wait_for_devices(self, instant_s: float | None) -> None:
        """Wait until a device is ready, or an instant has come, and take in what there is."""
        looking_s = 0.0
        while not any(running.done() for running in self._executor.running):
            if instant_s is not None and self.now_s >= instant_s:
                break
            futures.wait(
                [running.future for running in self._executor.running],
                _GLANCE_S,
                futures.FIRST_COMPLETED,
            )
            looking_s += _GLANCE_S
            if self.on_wait is not None and looking_s >= _LOOK_S:
                looking_s = 0.0
                if self._wires is not None:
                    self._wires.look()
                self.on_wait()
        self._catch_up(self.now_s)

    def _catch_up(self, now_s: float) -> None:
        executor = self._executor
        executor.settle(now_s)
        while executor.next_s is not None and executor.next_s <= now_s:
            executor.advance_instant()

    def _wait_until_s(self, lab_time_s: float) -> None:
        if isinstance(self._clock, VirtualClock):
            self._clock.set_s(lab_time_s)
        else:
            _await(self._clock.sleep_until_s(lab_time_s))

    def _hand_out(self) -> list[Outcome]:
        taken, self._executor.ready = self._executor.ready, []
        if len(taken) > 1:
            index = {o.experiment_id: self._uncollected[o.experiment_id].index for o in taken}
            taken.sort(key=lambda o: (o.finished_s, index[o.experiment_id]))
        for outcome in taken:
            del self._uncollected[outcome.experiment_id]
        return taken

    def _put_back(self, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            ticket = self._experiments[outcome.experiment_id].ticket
            self._uncollected[ticket.experiment_id] = ticket
        self._uncollected = dict(sorted(self._uncollected.items(), key=lambda item: item[1].index))
        self._executor.ready = [*outcomes, *self._executor.ready]


def _connected(config: LabConfig, *, stamps: bool) -> WireBench | None:
    """Return the connected devices of a lab file that names some."""
    if not config.stations:
        return None
    from labenv.lab.wire_bench import WireBench

    return WireBench(config, stamps=stamps)


def _await(waiting: Coroutine[Any, Any, None]) -> None:
    """Wait for a clock, also where an event loop already runs, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(waiting)
        return
    with ThreadPoolExecutor(1) as other:
        other.submit(asyncio.run, waiting).result()


def _submission(index: int, proposal: Proposal) -> dict[str, Any]:
    return {"index": index, "proposal": proposal.model_dump(mode="json", exclude_none=True)}


__all__ = ["Lab", "StationStatus", "Ticket"]
