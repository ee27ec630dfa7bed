"""Leases: who leads a campaign, and how a dead leader is recognised.

A leader that was killed cannot give its lease back. Its campaign is free when the lease expires,
or at once where the kernel can vouch that the process is gone: on the same Linux boot and in the
same process namespace, by process id and start time, so that a reused id does not deceive.
"""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select, update

from labenv.store.models import LeaseRow
from labenv.store.names import campaign_name, campaign_number
from labenv.store.opening import require_campaign
from labenv.store.records import Lease
from labenv_schemas.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from labenv.store.database import Database


def acquire(database: Database, campaign_id: str, owner: str, ttl_s: float) -> Lease:
    """Take a lease.

    Args:
        database: Where.
        campaign_id: Which campaign.
        owner: Who, in words for people.
        ttl_s: How long it holds without renewal, s.

    Returns:
        The lease.

    Raises:
        ConfigError: If the time is not positive or absurdly long.
        StoreError: If another process leads the campaign.
    """
    if not 0.0 < ttl_s <= 30 * 86_400:
        raise ConfigError(f"a lease of {ttl_s!r} s makes no sense; give 1 s to 30 days")
    number = campaign_number(campaign_id)
    token = secrets.token_hex(16)

    def work(connection: Connection) -> Lease:
        require_campaign(connection, number)
        held = connection.execute(select(LeaseRow).where(LeaseRow.campaign_id == number)).first()
        now = utc_now()
        if held is not None and held.token != token and is_live(held, now):
            raise StoreError(
                f"campaign {campaign_id} is being run by {held.owner!r} (process {held.pid} on "
                f"{held.host}); wait for it or stop it. If it is dead, its lease ends at "
                f"{held.expires_at:%Y-%m-%d %H:%M:%S} UTC",
                retryable=True,
            )
        row = {
            "campaign_id": number,
            "token": token,
            "owner": owner,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "process": _process_identity(os.getpid()) or "",
            "acquired_at": now,
            "expires_at": now + timedelta(seconds=ttl_s),
            "ttl_s": ttl_s,
        }
        connection.execute(delete(LeaseRow).where(LeaseRow.campaign_id == number))
        connection.execute(insert(LeaseRow), row)
        return to_lease(row)

    return database.write(f"taking the lead of {campaign_id}", work)


def renew(database: Database, lease: Lease) -> Lease:
    """Prolong a lease.

    Args:
        database: Where.
        lease: The lease.

    Returns:
        The lease with its new end.

    Raises:
        StoreError: If it has been lost.
    """
    number = campaign_number(lease.campaign_id)

    def work(connection: Connection) -> Lease:
        until = utc_now() + timedelta(seconds=lease.ttl_s)
        changed = connection.execute(
            update(LeaseRow)
            .where(LeaseRow.campaign_id == number, LeaseRow.token == lease.token)
            .values(expires_at=until)
        )
        if changed.rowcount != 1:
            raise StoreError(
                f"the lead of campaign {lease.campaign_id} has been lost: another process took it "
                "after it expired, or it was given back; stop writing to the campaign"
            )
        return replace(lease, expires_at=until)

    return database.write(f"keeping the lead of {lease.campaign_id}", work)


def release(database: Database, lease: Lease) -> None:
    """Give a lease back. See `Store.release`."""
    number = campaign_number(lease.campaign_id)

    def work(connection: Connection) -> None:
        connection.execute(
            delete(LeaseRow).where(LeaseRow.campaign_id == number, LeaseRow.token == lease.token)
        )

    database.write(f"giving back the lead of {lease.campaign_id}", work)


def utc_now() -> datetime:
    """Return the wall clock's time, UTC, by which leases expire."""
    return datetime.now(UTC)


def is_live(row: Any, now: datetime) -> bool:  # noqa: ANN401 - a row of any query
    """Tell whether a lease still binds.

    Args:
        row: Columns `expires_at` and `process` of a lease.
        now: UTC.

    Returns:
        False once it has expired or its process is known to be gone.
    """
    return row.expires_at > now and not _is_known_dead(row.process)


def to_lease(row: dict[str, Any]) -> Lease:
    """Return a lease from the columns of its row."""
    return Lease(
        campaign_id=campaign_name(row["campaign_id"]),
        owner=row["owner"],
        host=row["host"],
        pid=row["pid"],
        token=row["token"],
        acquired_at=row["acquired_at"],
        expires_at=row["expires_at"],
        ttl_s=row["ttl_s"],
    )


def _is_known_dead(process: str) -> bool:
    # Only the kernel that started the process can vouch for its end.
    namespace, _, rest = process.rpartition("|")
    pid, _, _started = rest.partition("@")
    if not namespace or not pid.isdigit() or namespace != _namespace():
        return False
    return _process_identity(int(pid)) != process


def _namespace() -> str:
    """Return the boot and process namespace of this kernel, empty where there is no such thing."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}|{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def _process_identity(pid: int) -> str | None:
    """Return what no other process on earth is called, or None if it is gone or unknowable."""
    namespace = _namespace()
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # proc(5): the name may hold blanks and brackets; field 3 is the state, field 22 the start time.
    fields = status.rpartition(")")[2].split()
    if not namespace or len(fields) < 20 or fields[0] in {"Z", "X"}:
        return None
    return f"{namespace}|{pid}@{fields[19]}"
