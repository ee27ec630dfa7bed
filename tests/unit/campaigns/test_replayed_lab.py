"""A replayed lab answers the same calls with the same outcomes, one instant at a time."""

from __future__ import annotations

from labenv.campaigns.replayed_lab import ReplayedLab
from labenv.lab import Lab, MemoryJournal
from labenv_schemas import LabConfig, Outcome, Proposal, parse_proposal


def plan(temperature: str) -> Proposal:
    return parse_proposal({
        "operations": [
            {
                "op": "dose",
                "precursors": [
                    {"substance": "BaCO3", "amount": "10 mmol"},
                    {"substance": "TiO2 (anatase)", "amount": "10 mmol"},
                ],
            },
            {"op": "mix", "duration": "10 min"},
            {"op": "heat", "segments": [{"target": temperature, "hold": "1 h"}]},
            {"op": "measure"},
        ]
    })


GOOD, SLOW, REFUSED = plan("900 degC"), plan("1200 degC"), plan("2500 degC")


def live_through(lab: Lab | ReplayedLab) -> list[list[Outcome]]:
    """Have a plan refused at the very instant at which another's outcome was collected."""
    lab.submit(GOOD)
    lab.submit(SLOW)
    collected = [lab.collect("next")]
    lab.submit(REFUSED)
    collected.append(lab.collect("next"))
    collected.append(lab.collect("next"))
    return collected


def test_a_plan_refused_when_another_ended_is_handed_out_after_it_was_handed_in() -> None:
    journal = MemoryJournal()
    lived = live_through(Lab(LabConfig(), seed=3, journal=journal))
    assert [[o.status for o in outcomes] for outcomes in lived] == [["ok"], ["invalid"], ["ok"]]
    again = Lab(LabConfig(), seed=3, journal=MemoryJournal())
    replayed = ReplayedLab(again, list(journal.events()))
    assert live_through(replayed) == lived
    replayed.close()
