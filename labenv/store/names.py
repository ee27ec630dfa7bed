"""Names of campaigns and episodes: a letter and the row's number, so that they sort by age."""

from __future__ import annotations

import re

from labenv_schemas.errors import StoreError

_CAMPAIGN = re.compile(r"c(\d{5,})")
_EPISODE = re.compile(r"e(\d{5,})")
_SHORT = re.compile(r"c?([1-9]\d{0,8})")


def campaign_name(number: int) -> str:
    """Return the id of a campaign, such as ``c00003``."""
    return f"c{number:05d}"


def episode_name(number: int) -> str:
    """Return the id of an episode, such as ``e00007``."""
    return f"e{number:05d}"


def campaign_number(campaign_id: str) -> int:
    """Read a campaign's full id.

    Args:
        campaign_id: As `campaign_name` writes it.

    Returns:
        The row's number.

    Raises:
        StoreError: If it is no such id.
    """
    match = _CAMPAIGN.fullmatch(campaign_id)
    if match is None:
        raise StoreError(f"{campaign_id!r} is not a campaign's id; they look like 'c00003'")
    return int(match.group(1))


def episode_number(episode_id: str) -> int:
    """Read an episode's id.

    Args:
        episode_id: As `episode_name` writes it.

    Returns:
        The row's number.

    Raises:
        StoreError: If it is no such id.
    """
    match = _EPISODE.fullmatch(episode_id)
    if match is None:
        raise StoreError(f"{episode_id!r} is not an episode's id; they look like 'e00007'")
    return int(match.group(1))


def short_number(text: str) -> int | None:
    """Return the number meant by ``c3`` or ``3``, or None if the text is no such number."""
    match = _SHORT.fullmatch(text)
    return None if match is None else int(match.group(1))
