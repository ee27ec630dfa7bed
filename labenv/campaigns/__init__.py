"""Campaigns: a policy, a session and a store joined; resumable, replayable, summarised.

Every name is imported when it is first used: the runner brings the laboratory with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labenv.campaigns.config_file import load_campaign, parse_campaign, with_overrides
    from labenv.campaigns.progress import Progress
    from labenv.campaigns.retrospect import comparisons, summarise
    from labenv.campaigns.runner import CampaignRunner

__all__ = [
    "CampaignRunner",
    "Progress",
    "comparisons",
    "load_campaign",
    "parse_campaign",
    "summarise",
    "with_overrides",
]

_LATER = {
    "load_campaign": "labenv.campaigns.config_file",
    "parse_campaign": "labenv.campaigns.config_file",
    "with_overrides": "labenv.campaigns.config_file",
    "CampaignRunner": "labenv.campaigns.runner",
    "Progress": "labenv.campaigns.progress",
    "comparisons": "labenv.campaigns.retrospect",
    "summarise": "labenv.campaigns.retrospect",
}


def __getattr__(name: str) -> object:
    if name in _LATER:
        from importlib import import_module

        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
