"""Ids of requests, none of which is the beginning of another.

SGLang aborts every request whose id begins with the one that is given, so ``a1`` would take ``a10``
with it. Random ids of one length cannot.
"""

from __future__ import annotations

import uuid


def new_request_id() -> str:
    """Return a new id of 32 hexadecimal digits."""
    return uuid.uuid4().hex


__all__ = ["new_request_id"]
