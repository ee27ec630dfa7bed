"""A campaign file that asks for more than diffraction, from the plan to the tables."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

FILE = """
name: more than diffraction
task: batio3-synthesis
recipes:
  - name: every measurement
    citation: made up for a test
    published: {statement: nothing, phases: {BaTiO3: null}}
    proposal:
      operations:
        - op: dose
          precursors:
            - {substance: BaCO3, amount: 5 mmol}
            - {substance: TiO2 (anatase), amount: 5 mmol}
        - {op: press, pressure: 100 MPa}
        - {op: heat, segments: [{target: 1000 degC, hold: 2 h}]}
        - {op: weigh}
        - {measure: density}
        - {measure: eds}
        - {measure: resistance}
        - {op: measure}
"""


def test_a_plan_may_ask_for_every_measurement(labenv: Any) -> None:
    Path("more.yaml").write_text(FILE, encoding="utf-8")
    (ran,) = labenv("run", "more.yaml", "-q", "--format", "json").json["rows"]
    found = {number["quantity"] for number in ran["numbers"]}
    assert {"mass_change", "density", "eds_mass_fraction_Ba"} <= found
    shown = labenv("show", ran["experiment_id"]).out
    assert "found: mass change -0." in shown
    assert "no superconducting transition" in shown
    assert "eds mass fraction Ba" in Path("labenv-results/c00001.html").read_text(encoding="utf-8")
    assert labenv("export", "c1", "--out", "more.csv").code == 0
    with Path("more.csv").open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert float(row["mass_change.kg/kg"]) < -0.05
    assert row["density_status"] == "ok"
