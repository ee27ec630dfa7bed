"""Routed experts on the wire: base64 of int32 numbers in C order, without shape or start.

A reply to a request from row `start` holds a row for each of the positions ``start`` to
``prompt + output - 2``: the token sampled last was never fed to the model. The reader has to know
the numbers of layers and of experts a token, and the start it asked for.

Source:
    SGLang 0.5.23, ``srt/state_capturer/routed_experts.py``.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

import numpy as np

from labenv.inference.errors import ReplayError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def encode_rows(rows: NDArray[np.integer]) -> str:
    """Return rows as the protocol sends them.

    Args:
        rows: Ids of experts, shape (N, layers, experts a token).

    Returns:
        Base64; empty without rows.
    """
    return base64.b64encode(np.ascontiguousarray(rows, "<i4").data).decode("ascii")


def decode_rows(text: str, layers: int, top_k: int) -> NDArray[np.int32]:
    """Return rows that the protocol sent.

    Args:
        text: Base64.
        layers: Number of hidden layers, dense ones among them.
        top_k: Experts a token.

    Returns:
        Ids of experts, shape (N, layers, top_k).

    Raises:
        ReplayError: If the text is no base64, or its size is not that of whole rows.
    """
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ReplayError(f"routed_experts is no base64: {error}") from None
    row_bytes = 4 * layers * top_k
    if len(data) % row_bytes:
        raise ReplayError(
            f"routed_experts has {len(data)} bytes, which are no whole rows of {layers} layers "
            f"with {top_k} experts each ({row_bytes} bytes); the model is another one"
        )
    return np.frombuffer(data, "<i4").reshape(-1, layers, top_k).astype(np.int32, copy=False)


__all__ = ["decode_rows", "encode_rows"]
