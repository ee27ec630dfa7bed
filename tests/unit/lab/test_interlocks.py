"""The interlocks refuse what they must, say what to write, and let ordinary work pass."""

from __future__ import annotations

import numpy as np
import pytest

from labenv.lab.bench import load_bench
from labenv.lab.interlocks import check_proposal, firing_refusals, vetted_operations
from labenv_schemas import parse_proposal
from labenv_schemas.errors import ProposalError

BENCH = load_bench()
EQUAL = (("BaCO3", "1.97 g"), ("TiO2 (rutile)", "0.8 g"))
TITANIA_RICH = (("BaCO3", "1.0 g"), ("TiO2 (rutile)", "0.8 g"))
BARIUM_RICH = (("BaCO3", "1.97 g"), ("TiO2 (rutile)", "0.4 g"))


def with_doses(*doses, **operation):
    precursors = [{"substance": name, "mass": mass} for name, mass in doses]
    operations = [{"op": "dose", "precursors": precursors}]
    return parse_proposal({"operations": [*operations, *([operation] if operation else [])]})


def heat(target="1100 degC", rate="5 K/min", **more):
    return {"op": "heat", "segments": [{"target": target, "rate": rate, "hold": "1 h"}], **more}


REFUSED = [
    # what is asked for, what the message must say of the fault and of the remedy
    (with_doses(("BaSO4", "1 g")), "not on the shelf", "'BaCO3'"),
    (with_doses(("TiO2", "1 g")), "may be any of", "'TiO2 (rutile)', 'TiO2 (anatase)'"),
    (with_doses(("BaTiO3", "1 g")), "not on the shelf", "'TiO2 (anatase)'"),
    (with_doses(("BaCO3", "1 mg"), ("anatase", "1 g")), "1 mg of BaCO3", "smallest dose of 2 mg"),
    (with_doses(("BaCO3", "15 g")), "15 g", "multiply all doses by 0.78"),
    (with_doses(("BaCO3", "20 mg"), ("anatase", "20 mg")), "40 mg", "at least 100 mg"),
    (with_doses(*EQUAL, op="mix", duration="5 days"), "at most 72 h", "split"),
    (with_doses(*EQUAL, op="mix", method="mortar", duration="5 h"), "at most 4 h", "split"),
    (with_doses(*EQUAL, op="regrind", duration="5 h"), "mortar runs at most 4 h", "split"),
    (with_doses(*EQUAL, op="press", pressure="1 GPa"), "1e+03 MPa", "'100 MPa'"),
    (with_doses(*EQUAL, **heat("1600 degC")), "1600 degC", "the furnace goes to 1500 degC"),
    (with_doses(*EQUAL, **heat("280 K")), "7 degC", "does not cool below 25 degC"),
    (with_doses(*EQUAL, **heat(rate="50 K/min")), "50 K/min", "0.1 to 20 K/min"),
    (with_doses(*EQUAL, **heat(rate="0.01 K/min")), "0.01 K/min", "0.1 to 20 K/min"),
    (
        with_doses(*EQUAL, op="heat", segments=[
            {"target": "1000 degC"}, {"target": "500 degC", "rate": "15 K/min"}]),
        "segment 2 cools at 15 K/min", "to 10 K/min",
    ),
    (
        with_doses(*EQUAL, op="heat", segments=[{"target": "900 degC", "hold": "30 days"}]),
        "days", "shorten the holds",
    ),
    (with_doses(*EQUAL, **heat(atmosphere={"o2": "1 atm", "co2": "0.5 atm"})), "1.5 atm", "lower"),
    (with_doses(*EQUAL, **heat("1450 degC", atmosphere="vacuum")), "1400 degC", "'argon'"),
    (
        with_doses(*EQUAL, **heat(atmosphere="vacuum", cooling="quench")),
        "cannot be taken hot out of a vacuum", "cooling 'furnace'",
    ),
    (
        with_doses(*EQUAL, **heat(cooling={"rate": "50 K/min"})),
        "cooling at 50 K/min", "0.1 to 10 K/min, so write such a rate, or 'furnace'",
    ),
    (with_doses(*EQUAL, **heat(cooling={"rate": "0.05 K/min"})), "cooling at 0.05 K/min", "0.1"),
    (with_doses(*TITANIA_RICH, **heat("1350 degC")), "0.34 Ba, 0.66 Ti", "below 1322 degC"),
    (with_doses(*BARIUM_RICH, **heat("1200 degC")), "aluminates", "'magnesia' or 'platinum'"),
    (with_doses(*BARIUM_RICH, **heat("1250 degC", crucible="zirconia")), "BaZrO3", "'magnesia'"),
    (
        with_doses(*EQUAL, **heat("1300 degC", crucible="platinum", atmosphere="nitrogen")),
        "platinum", "'air' or 'oxygen'",
    ),
    (with_doses(*EQUAL, op="measure", two_theta_min_deg=10, two_theta_max_deg=150), "150", "140"),
    (with_doses(*EQUAL, op="measure", scan_time="10 s"), "at least 40 s", "more time"),
    (with_doses(*EQUAL, op="measure", scan_time="2 days"), "at most 24 h", "h"),
    (
        with_doses(*EQUAL, op="measure", two_theta_min_deg=5, two_theta_max_deg=140,
                   step_deg=0.005, scan_time="10 h"),
        "27001 points", "step wider",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("proposal", "fault", "remedy"), REFUSED)
def test_what_cannot_be_done_is_refused_with_a_remedy(proposal, fault, remedy):
    with pytest.raises(ProposalError) as caught:
        check_proposal(proposal, BENCH)
    message = str(caught.value)
    assert fault in message
    assert remedy in message
    assert message.startswith(f"operations[{len(proposal.operations) - 1}] (")


@pytest.mark.parametrize(
    "proposal",
    [
        with_doses(*EQUAL, **heat("1400 degC")),
        with_doses(*EQUAL, **heat("1500 degC", crucible="platinum", atmosphere="oxygen")),
        with_doses(*TITANIA_RICH, **heat("1300 degC")),
        with_doses(*BARIUM_RICH, **heat("1300 degC", crucible="magnesia")),
        with_doses(*BARIUM_RICH, **heat("1100 degC")),
        with_doses(("BaCO3", "1 g"), **heat("1000 degC")),
        with_doses(*EQUAL, **heat("1100 degC", atmosphere="vacuum")),
        with_doses(*EQUAL, **heat("1100 degC", atmosphere={"o2": "0.2 atm", "co2": "0.5 atm"})),
        with_doses(*EQUAL, op="measure"),
        with_doses(("barium  carbonate", "1 g"), ("P25", "0.4 g")),
    ],
)
def test_ordinary_work_passes(proposal):
    check_proposal(proposal, BENCH)


def test_doses_are_turned_into_masses_and_joined():
    proposal = parse_proposal({
        "operations": [
            {
                "op": "dose",
                "precursors": [
                    {"substance": "witherite", "amount": "0.01 mol"},
                    {"substance": "BaCO3", "mass": "1 g"},
                    {"substance": "anatase", "amount": "10 mmol"},
                ],
            }
        ]
    })
    (dose,) = vetted_operations(proposal, BENCH)
    masses = {p.substance: p.mass_kg for p in dose.precursors}
    assert masses["BaCO3"] == pytest.approx(1e-3 + 0.19734e-2, rel=1e-4)
    assert masses["TiO2 (anatase)"] == pytest.approx(0.79866e-3, rel=1e-4)


def test_an_amount_is_held_to_the_balance_too():
    proposal = parse_proposal({
        "operations": [{"op": "dose", "precursors": [{"substance": "BaO", "amount": "1 mol"}]}]
    })
    with pytest.raises(ProposalError, match="153 g but the vial holds 12 g"):
        check_proposal(proposal, BENCH)


@pytest.mark.parametrize("crucible", ["alumina", "zirconia", "magnesia", "platinum"])
def test_many_firings_are_refused_as_one_is(crucible):
    rng = np.random.default_rng(0)
    mass = np.zeros((60, 5))
    mass[:, 0], mass[:, 2] = rng.uniform(0.5e-3, 2e-3, 60), rng.uniform(0.3e-3, 1e-3, 60)
    peak = rng.uniform(1300.0, 1770.0, 60)
    gas = rng.choice(["air", "argon"], 60)
    oxygen = np.where(gas == "air", 2e4, 0.5)
    told = firing_refusals(BENCH, mass, peak, crucible, oxygen)
    assert any(told)
    assert not all(told)
    for row, refusal in enumerate(told):
        doses = [
            ("BaCO3", f"{float(mass[row, 0])!r} kg"),
            ("rutile", f"{float(mass[row, 2])!r} kg"),
        ]
        firing = heat(f"{float(peak[row])!r} K", atmosphere=str(gas[row]), crucible=crucible)
        if refusal is None:
            check_proposal(with_doses(*doses, **firing), BENCH)
            continue
        with pytest.raises(ProposalError) as caught:
            check_proposal(with_doses(*doses, **firing), BENCH)
        assert (
            str(caught.value).split("(here")[0]
            == f"operations[1] (heat): {refusal}".split("(here")[0]
        )
