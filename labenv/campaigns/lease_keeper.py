"""Holds the lead of a campaign while it runs, so that no second process runs it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

from labenv_schemas.errors import LabEnvError, StoreError

if TYPE_CHECKING:
    from labenv.store import Lease, Store

LEASE_TTL_S = 60.0


class LeaseKeeper:
    """Takes a lease on entry, renews it in a thread of its own, gives it back on exit.

    Args:
        store: Where the campaign is kept.
        campaign_id: Which campaign.
        ttl_s: How long the lease outlives its last renewal, s.
    """

    def __init__(self, store: Store, campaign_id: str, ttl_s: float = LEASE_TTL_S) -> None:
        self._store = store
        self._campaign_id = campaign_id
        self._ttl_s = ttl_s
        self._lease: Lease | None = None
        self._stop = threading.Event()
        self._lost: LabEnvError | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Take the lease.

        Returns:
            The keeper.

        Raises:
            StoreError: If another process leads the campaign.
        """
        self._lease = self._store.lease(self._campaign_id, "labenv run", self._ttl_s)
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give the lease back."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        if self._lease is not None:
            self._store.release(self._lease)

    def check(self) -> None:
        """Make sure that the campaign is still ours.

        Raises:
            StoreError: If another process has taken it over.
        """
        if self._lost is not None:
            raise StoreError(
                f"campaign {self._campaign_id} has been taken over by another process: {self._lost}"
            )

    def _renew(self) -> None:
        while not self._stop.wait(self._ttl_s / 3):
            try:
                if self._lease is not None:
                    self._lease = self._store.renew(self._lease)
            except StoreError as error:
                if not error.retryable:
                    self._lost = error
                    return
