"""A made-up campaign to draw."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from labenv.campaigns.fitted_scan import FittedScan, PhaseLines
from labenv.campaigns.summary import CampaignSummary, ExperimentRow, StationUse
from labenv_schemas import PhaseAnalysis, PhaseFraction

HOUR_S = 3600.0


def row(index: int, value: float | None, status: str = "ok", **changes: object) -> ExperimentRow:
    settings: dict[str, object] = {
        "index": index,
        "experiment_id": f"c00001-{index:04d}",
        "status": status,
        "plan": f"plan <{index}> & more",
        "value": value,
        "reward": None if value is None else value / 2,
        "success": value is not None and value >= 0.97,
        "submitted_s": 0.0,
        "finished_s": (index + 1) * 10 * HOUR_S,
        "cost": 100.0,
        "message": "" if status == "ok" else "the furnace broke",
    }
    return ExperimentRow(**{**settings, **changes})  # type: ignore[arg-type]


def use(index: int, station: str, start_h: float, end_h: float, status: str = "ok") -> StationUse:
    return StationUse(
        station, index, "heat", start_h * HOUR_S, end_h * HOUR_S, (start_h - 1) * HOUR_S, status
    )


def campaign(
    *rows: ExperimentRow, uses: tuple[StationUse, ...] = (), name: str = "Test <campaign>"
) -> CampaignSummary:
    return CampaignSummary(
        campaign_id="c00001",
        name=name,
        description="What it is for.",
        status="finished",
        task="batio3-synthesis",
        target="BaTiO3",
        goal_fraction=0.97,
        policy="sobol",
        seed=3,
        parallelism=2,
        begun_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        provenance={"lab fingerprint": "abc"},
        rows=rows,
        uses=uses,
    )


def scan() -> FittedScan:
    angle = np.arange(10.0, 70.0, 0.05)
    background = np.full_like(angle, 50.0)
    fitted = background + 1000.0 * np.exp(-(((angle - 31.5) / 0.1) ** 2))
    analysis = PhaseAnalysis(
        status="ok",
        phases=(
            PhaseFraction(name="BaTiO3-tetragonal", formula="BaTiO3", weight_fraction=0.98,
                          uncertainty=0.004),
            PhaseFraction(name="Ba2TiO4", formula="Ba2TiO4", weight_fraction=0.02,
                          uncertainty=0.003),
        ),
        goodness_of_fit=1.1,
        r_wp=0.07,
    )  # fmt: skip
    lines = (PhaseLines("BaTiO3-tetragonal", "BaTiO3", np.array([22.0, 31.5, 200.0])),)
    observed = np.random.default_rng(0).poisson(fitted).astype(float)
    return FittedScan(angle, observed, fitted, background, "counts", analysis, analysis, lines)
