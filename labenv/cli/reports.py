"""Where a report goes, and writing it there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from labenv.cli.output import DEFAULT_STORE
from labenv.cli.stores import sqlite_path
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from labenv.store import Store


def report_path(wanted: Path | None, store_url: str, campaign_id: str) -> Path:
    """Return where a campaign's report goes.

    Args:
        wanted: File or folder that the user named, if any.
        store_url: The store; reports lie beside it by default.
        campaign_id: Names the file unless the user did; of another store than ``labenv.sqlite``,
            with the store's name before it.

    Returns:
        The path.
    """
    name = f"{_prefix(store_url)}{campaign_id}.html"
    if wanted is None:
        store = sqlite_path(store_url)
        folder = Path(DEFAULT_STORE).parent if store is None else store.parent
        return folder / name
    return wanted / name if wanted.is_dir() else wanted


def _prefix(store_url: str) -> str:
    """Return what tells a store's reports from those of others in their folder."""
    from labenv.store.address import read_address

    address = read_address(store_url)
    name = Path(address.database or "").name
    if address.get_backend_name() == "sqlite" and name == Path(DEFAULT_STORE).name:
        return ""
    return re.sub(r"[^\w.-]+", "_", f"{name}-")


def check_report_path(wanted: Path | None) -> None:
    """Make sure before a campaign that its report can be written after it.

    Args:
        wanted: File or folder that the user named, if any.

    Raises:
        ConfigError: If the folder is not there and cannot be made, or is no folder.
    """
    if wanted is None or wanted.is_dir():
        return
    try:
        wanted.parent.mkdir(parents=True, exist_ok=True)
        existed = wanted.exists()
        wanted.open("ab").close()
        if not existed:
            wanted.unlink()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(
            f"no report can be written to {wanted}: {reason}; name another place with --report"
        ) from None


def save_report(store: Store, campaign_id: str, path: Path) -> Path:
    """Write the report of a campaign.

    Args:
        store: Where the campaign is kept.
        campaign_id: The campaign.
        path: Where the report goes.

    Returns:
        The path.
    """
    from labenv.campaigns.best_scan import best_scan
    from labenv.campaigns.retrospect import comparisons, summarise
    from labenv.web.report import render_report, write_report

    summary = summarise(store, campaign_id)
    scan = best_scan(store, summary)
    write_report(path, render_report(summary, scan, comparisons(store, campaign_id)))
    return path
