"""The true mass fractions of simulated samples, in a table that nothing else reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select

from labenv.store.models import Experiment, Truth
from labenv.store.resolve import find_campaign, find_experiment
from labenv_schemas.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from labenv.store.database import Database

_ROUNDING = 1e-9


def record_truth(
    database: Database, experiment_id: str, fractions: Mapping[str, float], campaign: str | None
) -> None:
    """Write down what a sample truly is; see `Store.record_truth`.

    Args:
        database: Where.
        experiment_id: As for `find_experiment`.
        fractions: Phase to mass fraction.
        campaign: Where to look; everywhere if None.

    Raises:
        StoreError: If a fraction is not between 0 and 1.
    """
    for phase, fraction in fractions.items():
        if not -_ROUNDING <= fraction <= 1.0 + _ROUNDING:  # false for NaN, too
            raise StoreError(
                f"truth of {experiment_id}: the mass fraction of {phase} is {fraction!r}; it lies "
                "between 0 and 1"
            )

    def work(connection: Connection) -> None:
        number = find_experiment(connection, experiment_id, campaign)
        connection.execute(delete(Truth).where(Truth.experiment_id == number))
        if fractions:
            rows = [
                {"experiment_id": number, "phase": phase, "fraction": float(fraction)}
                for phase, fraction in sorted(fractions.items())
            ]
            connection.execute(insert(Truth), rows)

    database.write(f"recording the truth of {experiment_id}", work)


def truth(database: Database, campaign: str) -> dict[str, dict[str, float]]:
    """Return what the samples of a campaign truly were. See `Store.truth`."""

    def work(connection: Connection) -> dict[str, dict[str, float]]:
        query = (
            select(Experiment.name, Truth.phase, Truth.fraction)
            .join(Truth, Truth.experiment_id == Experiment.id)
            .where(Experiment.campaign_id == find_campaign(connection, campaign))
            .order_by(Experiment.position, Truth.phase)
        )
        found: dict[str, dict[str, float]] = {}
        for row in connection.execute(query):
            found.setdefault(row.name, {})[row.phase] = row.fraction
        return found

    return database.read("reading the truth", work)
