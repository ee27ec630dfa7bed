"""Write an experiment down by hand and run it in the simulated laboratory."""

from labenv import Lab, LabConfig, make_task, parse_proposal
from labenv.tasks import Session

proposal = parse_proposal({
    "operations": [
        {
            "op": "dose",
            "precursors": [
                {"substance": "BaCO3", "amount": "12.5 mmol"},
                {"substance": "TiO2 (anatase)", "amount": "12.5 mmol"},
            ],
        },
        {"op": "mix", "method": "ball_mill", "duration": "6 h"},
        {
            "op": "heat",
            "segments": [{"target": "1100 degC", "rate": "5 K/min", "hold": "4 h"}],
            "atmosphere": "air",
        },
        {"op": "measure", "scan_time": "20 min"},
    ]
})

# The session reads the diffractogram and scores what it shows; the lab alone would only measure.
session = Session(make_task("batio3-synthesis"), Lab(LabConfig(), seed=7))
session.submit(proposal)
(result,) = session.collect()
session.close()

for operation in result.outcome.operations:
    hours = (operation.finished_s - operation.started_s) / 3600
    print(f"{operation.op:8} on {operation.station:15} took {hours:5.1f} h")
analysis = result.outcome.phase_analysis
assert analysis is not None
for phase in analysis.phases[:3]:
    print(f"{phase.name}: {phase.weight_fraction:.3f} ± {phase.uncertainty:.3f}")
print(f"score {result.score.value:.3f}: {result.score.reason}")
