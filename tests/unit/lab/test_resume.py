"""A lab that is killed after any event and resumed has the same future as one that never was."""

from __future__ import annotations

import pytest

from labenv.lab import JsonlJournal, Lab, MemoryJournal
from labenv.lab.audit import true_mass_fractions
from labenv_schemas import LabConfig
from labenv_schemas.errors import ConfigError, StoreError

CONFIG = LabConfig(furnaces=1, machine_failure_rate=0.05)


class Killed(BaseException):
    """The process is gone."""


class Mortal(MemoryJournal):
    """A journal whose process dies when it has taken so many events."""

    def __init__(self, events=(), lives=10**9):
        super().__init__(events)
        self.lives = lives

    def append(self, event):
        if self.lives == 0:
            raise Killed
        self.lives -= 1
        super().append(event)


@pytest.fixture
def plans(plan):
    return [
        plan(target=f"{t} degC", hold=f"{h} h", cooling=cooling)
        for t, h, cooling in [
            (900, 8, "furnace"), (1000, 1, "quench"), (1700, 1, "furnace"), (1100, 3, "furnace"),
            (1050, 0, "quench"), (800, 2, "furnace"),
        ]
    ]  # fmt: skip


def campaign(lab, plans, outcomes, parallelism=2):
    """Run plans with so many in flight, given what an earlier life of the process has collected."""
    submitted = len(outcomes) + len(lab.pending)
    while True:
        while submitted < len(plans) and submitted - len(outcomes) < parallelism:
            lab.submit(plans[submitted], experiment_id=f"e{submitted}")
            submitted += 1
        if submitted == len(outcomes):
            return
        for outcome in lab.collect("next"):
            outcomes[outcome.experiment_id] = outcome


def timeless(outcomes):
    """Return outcomes without the wall clock's times."""
    return {
        name: outcome.model_copy(
            update={
                "recorded_at": None,
                "measurements": tuple(
                    m.model_copy(update={"measured_at": None}) for m in outcome.measurements
                ),
            }
        )
        for name, outcome in outcomes.items()
    }


def bare(events):
    return [(e.sequence, e.kind, e.experiment_id, e.lab_time_s) for e in events]


def test_a_kill_after_any_event_changes_nothing(plans):
    journal, whole = Mortal(), {}
    campaign(Lab(CONFIG, seed=11, journal=journal), plans, whole)
    events = journal.events()
    assert {o.status for o in whole.values()} >= {"ok", "invalid"}
    for lives in range(1, len(events)):
        first, outcomes = Mortal(lives=lives), {}
        with pytest.raises(Killed):
            campaign(Lab(CONFIG, seed=11, journal=first), plans, outcomes)
        assert bare(first.events()) == bare(events[:lives])
        second = MemoryJournal(first.events())
        lab = Lab(CONFIG, seed=11, journal=second)
        lab.resume(second.events(), collected=set(outcomes))
        campaign(lab, plans, outcomes)
        assert timeless(outcomes) == timeless(whole), f"killed after event {lives}"
        assert sorted(bare(second.events())[lives:]) == sorted(bare(events)[lives:])


def test_what_was_not_collected_is_handed_out_again(plans):
    journal, whole = MemoryJournal(), {}
    campaign(Lab(CONFIG, seed=11, journal=journal), plans, whole)
    lab = Lab(CONFIG, seed=11, journal=MemoryJournal(journal.events()))
    lab.resume(journal.events())
    again = {o.experiment_id: o for o in lab.collect("none")}
    assert again == whole  # wall-clock times included: they were read from the record
    assert lab.pending == ()
    assert lab.now_s == max(e.lab_time_s for e in journal.events())


def test_recorded_operations_are_not_carried_out_again(plans, monkeypatch):
    journal, whole = MemoryJournal(), {}
    campaign(Lab(CONFIG, seed=11, journal=journal), plans, whole)

    def never(*_):
        raise AssertionError("an operation was carried out again")

    monkeypatch.setattr("labenv.lab.stations.Station.perform", never)
    lab = Lab(CONFIG, seed=11, journal=journal)
    lab.resume(journal.events())
    assert len(lab.collect("none")) == len(whole)


def test_the_truth_of_resumed_experiments_is_the_same(plans):
    journal, whole = MemoryJournal(), {}
    lab = Lab(CONFIG, seed=11, journal=journal)
    campaign(lab, plans, whole)
    resumed = Lab(CONFIG, seed=11, journal=journal)
    resumed.resume(journal.events())
    for name in whole:
        assert true_mass_fractions(resumed, name) == true_mass_fractions(lab, name)


def test_a_cancellation_is_repeated(plan):
    journal = MemoryJournal()
    lab = Lab(CONFIG, seed=1, journal=journal)
    tickets = [lab.submit(plan(hold=f"{h} h")) for h in (8, 1, 2)]
    lab.collect("next")
    lab.cancel(tickets[2])
    rest = lab.collect("all")
    events = journal.events()
    for cut in range(1, len(events) + 1):
        again = Lab(CONFIG, seed=1, journal=MemoryJournal(events[:cut]))
        again.resume(events[:cut])
        if any(e.kind == "cancelled" for e in events[:cut]):
            outcomes = {o.experiment_id: o for o in again.collect("all")}
            for outcome in rest:
                assert timeless({"": outcomes[outcome.experiment_id]}) == timeless({"": outcome})


def test_a_file_resumes_a_lab(tmp_path, plans):
    journal, whole = JsonlJournal(tmp_path / "journal.jsonl"), {}
    campaign(Lab(CONFIG, seed=11, journal=journal), plans, whole)
    journal.close()
    torn = journal.path.read_bytes()[:-200]
    journal.path.write_bytes(torn)
    lab = Lab(CONFIG, seed=11, journal=journal)
    lab.resume(journal.events())
    again = {}
    campaign(lab, plans, again)
    assert timeless(again) == timeless(whole)
    assert [e.sequence for e in journal.events()] == list(range(len(list(journal.events()))))
    journal.close()


def test_a_journal_of_another_lab_is_refused(plans):
    journal = MemoryJournal()
    campaign(Lab(CONFIG, seed=11, journal=journal), plans, {})
    other = Lab(LabConfig(furnaces=4), seed=11, journal=MemoryJournal(journal.events()))
    with pytest.raises(ConfigError, match="another configuration"):
        other.resume(journal.events())


def test_a_journal_with_a_hole_is_refused(plans):
    journal = MemoryJournal()
    campaign(Lab(CONFIG, seed=11, journal=journal), plans, {})
    events = journal.events()
    with pytest.raises(StoreError, match="at place 3"):
        Lab(CONFIG, seed=11).resume(events[:3] + events[4:])


def test_only_a_new_lab_is_resumed(plan):
    lab = Lab(CONFIG, seed=1)
    lab.submit(plan())
    with pytest.raises(ConfigError, match="new lab"):
        lab.resume([])
