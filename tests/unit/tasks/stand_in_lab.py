"""A lab without physics for testing sessions: each plan gives what the test says."""

from dataclasses import dataclass, field

from labenv_schemas import Outcome


@dataclass(frozen=True)
class StandInTicket:
    experiment_id: str
    index: int
    submitted_s: float


@dataclass
class StandInLab:
    """`gives` maps the index of a submission to fields of its outcome, `takes_s` to its time."""

    gives: dict = field(default_factory=dict)
    takes_s: dict = field(default_factory=dict)
    now_s: float = 0.0
    closed: bool = False
    count: int = 0
    _flight: list = field(default_factory=list)

    def submit(self, proposal, *, experiment_id=None):
        ticket = StandInTicket(experiment_id or f"x{self.count}", self.count, self.now_s)
        self._flight.append((self.now_s + self.takes_s.get(self.count, 3600.0), ticket))
        self.count += 1
        return ticket

    def collect(self, wait="next"):
        if wait == "next" and self._flight:
            self.now_s = max(self.now_s, min(self._flight, key=lambda item: item[0])[0])
        elif wait == "all" and self._flight:
            self.now_s = max(self.now_s, max(self._flight, key=lambda item: item[0])[0])
        ready = sorted(
            (item for item in self._flight if item[0] <= self.now_s),
            key=lambda item: (item[0], item[1].index),
        )
        self._flight = [item for item in self._flight if item[0] > self.now_s]
        return [
            Outcome(
                experiment_id=ticket.experiment_id,
                submitted_s=ticket.submitted_s,
                finished_s=finished,
                **{"status": "ok", "cost": 100.0, **self.gives.get(ticket.index, {})},
            )
            for finished, ticket in ready
        ]

    @property
    def pending(self):
        return tuple(ticket for _, ticket in self._flight)

    def close(self):
        self.closed = True
