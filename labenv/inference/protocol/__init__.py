"""SGLang's HTTP protocol as models: field names and meanings are SGLang's (read from 0.5.23)."""

from labenv.inference.protocol.control import (
    AbortRequest,
    BeginWeightUpdate,
    ContinueGeneration,
    EndWeightUpdate,
    ModelInfo,
    PauseGeneration,
    PauseMode,
    UpdateReply,
    UpdateWeightsFromDisk,
    UpdateWeightsFromTensor,
)
from labenv.inference.protocol.generation import (
    FinishAbort,
    FinishLength,
    FinishReason,
    FinishStop,
    GenerateReply,
    GenerateRequest,
    MetaInfo,
    OutputLogprob,
    SamplingParams,
    WeightVersionSpan,
)
from labenv.inference.protocol.routing import decode_rows, encode_rows

__all__ = [
    "AbortRequest",
    "BeginWeightUpdate",
    "ContinueGeneration",
    "EndWeightUpdate",
    "FinishAbort",
    "FinishLength",
    "FinishReason",
    "FinishStop",
    "GenerateReply",
    "GenerateRequest",
    "MetaInfo",
    "ModelInfo",
    "OutputLogprob",
    "PauseGeneration",
    "PauseMode",
    "SamplingParams",
    "UpdateReply",
    "UpdateWeightsFromDisk",
    "UpdateWeightsFromTensor",
    "WeightVersionSpan",
    "decode_rows",
    "encode_rows",
]
