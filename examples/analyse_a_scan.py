"""Fire a sample too briefly, scan it, and find out from the diffractogram what it became."""

from labenv import Diffractogram, Lab, LabConfig, parse_proposal
from labenv.analysis import fit_phases

proposal = parse_proposal({
    "operations": [
        {
            "op": "dose",
            "precursors": [
                {"substance": "BaCO3", "amount": "12.5 mmol"},
                {"substance": "TiO2 (rutile)", "amount": "12.5 mmol"},
            ],
        },
        {"op": "mix", "duration": "2 h"},
        {"op": "heat", "segments": [{"target": "900 degC", "hold": "30 min"}]},
        {"op": "measure", "scan_time": "20 min"},
    ]
})
lab = Lab(LabConfig(), seed=3)
outcome = lab.run(proposal)
lab.close()
scan = next(item for item in outcome.measurements if isinstance(item, Diffractogram))

# A formula stands for all its polymorphs: TiO2 tries anatase, rutile and brookite.
fit = fit_phases(scan, ["BaTiO3", "Ba2TiO4", "BaCO3", "TiO2"])
for phase in fit.analysis.phases:
    print(f"{phase.name:20} {phase.weight_fraction:.3f} ± {phase.uncertainty:.3f}")
print(f"{fit.analysis.status}, R_wp {fit.analysis.r_wp:.3f}")
