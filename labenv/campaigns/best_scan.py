"""The best sample's diffractogram with its fit, computed again from what the store holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labenv.campaigns.fitted_scan import FittedScan
    from labenv.campaigns.summary import CampaignSummary
    from labenv.store import Store


def best_scan(store: Store, summary: CampaignSummary) -> FittedScan | None:
    """Return the fitted scan of a campaign's best experiment."""
    return None
