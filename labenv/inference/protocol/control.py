"""Control calls: aborting, pausing, new weights, and what a server says of itself.

Source:
    SGLang 0.5.23, ``srt/managers/io_struct.py`` and ``srt/entrypoints/http_server.py``.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from labenv.inference.protocol.wire import WireModel

PauseMode = Literal["abort", "retract", "in_place"]


class AbortRequest(WireModel):
    """Body of ``/abort_request``. Every request whose id *begins* with `rid` is aborted."""

    rid: str = ""
    abort_all: bool = False
    abort_message: str | None = None


class PauseGeneration(WireModel):
    """Body of ``/pause_generation``.

    `abort` ends what runs; `retract` gives its cache up and computes it again later; `in_place`
    keeps requests and cache as they are.
    """

    mode: PauseMode = "abort"


class ContinueGeneration(WireModel):
    """Body of ``/continue_generation``."""

    torch_empty_cache: bool = True


class UpdateWeightsFromDisk(WireModel):
    """Body of ``/update_weights_from_disk``.

    With requests held in place `flush_cache` must be false: otherwise the weights change and the
    call fails all the same.
    """

    model_path: str = Field(min_length=1)
    load_format: str | None = None
    abort_all_requests: bool = False
    weight_version: str | None = None
    is_async: bool = False
    torch_empty_cache: bool = False
    keep_pause: bool = False
    recapture_cuda_graph: bool = False
    token_step: int = 0
    flush_cache: bool = True


class BeginWeightUpdate(WireModel):
    """Body of ``/begin_weight_update``, before which tensors are refused."""


class UpdateWeightsFromTensor(WireModel):
    """Body of ``/update_weights_from_tensor``: named tensors, serialised, one text a rank."""

    serialized_named_tensors: list[str] = Field(min_length=1)
    load_format: str | None = None
    flush_cache: bool = True
    abort_all_requests: bool = False
    weight_version: str | None = None


class EndWeightUpdate(WireModel):
    """Body of ``/end_weight_update``."""


class UpdateReply(WireModel):
    """Reply to an update of weights; its status is 400 where `success` is false."""

    success: bool
    message: str = ""
    num_paused_requests: int | None = None


class ModelInfo(WireModel):
    """Reply to ``/model_info``."""

    model_path: str
    tokenizer_path: str | None = None
    is_generation: bool = True
    weight_version: str | None = None


__all__ = [
    "AbortRequest",
    "BeginWeightUpdate",
    "ContinueGeneration",
    "EndWeightUpdate",
    "ModelInfo",
    "PauseGeneration",
    "PauseMode",
    "UpdateReply",
    "UpdateWeightsFromDisk",
    "UpdateWeightsFromTensor",
]
