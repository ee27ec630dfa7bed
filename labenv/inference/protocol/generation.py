"""`/generate`: tokens in, tokens out, with log-probabilities, weight versions and routing.

Source:
    SGLang 0.5.23, ``srt/managers/io_struct.py``, ``srt/sampling/sampling_params.py`` and
    ``srt/managers/schedule_batch.py`` (reasons of finishing).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, field_validator, model_validator

from labenv.inference.protocol.wire import WireModel


class SamplingParams(WireModel):
    """How tokens are drawn. Defaults are SGLang's."""

    max_new_tokens: int | None = Field(default=128, ge=0)
    min_new_tokens: int = Field(default=0, ge=0)
    temperature: float = Field(default=1.0, ge=0.0, allow_inf_nan=False)
    top_p: float = Field(default=1.0, gt=0.0, le=1.0)
    top_k: int = Field(default=-1, description="-1 is the whole vocabulary.")
    min_p: float = Field(default=0.0, ge=0.0, le=1.0)
    frequency_penalty: float = Field(default=0.0, ge=-2.0, le=2.0)
    presence_penalty: float = Field(default=0.0, ge=-2.0, le=2.0)
    repetition_penalty: float = Field(default=1.0, ge=0.0, le=2.0)
    stop: str | list[str] | None = None
    stop_token_ids: list[int] | None = None
    ignore_eos: bool = False
    no_stop_trim: bool = False
    skip_special_tokens: bool = True
    spaces_between_special_tokens: bool = True
    n: int = Field(default=1, ge=1)
    json_schema: str | None = None
    regex: str | None = None
    ebnf: str | None = None
    sampling_seed: int | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.top_k < 1 and self.top_k != -1:
            raise ValueError(f"top_k must be -1 (disable) or at least 1, got {self.top_k}.")
        if self.max_new_tokens is not None and self.min_new_tokens > self.max_new_tokens:
            raise ValueError(
                f"min_new_tokens must be in [0, max_new_tokens({self.max_new_tokens})], got "
                f"{self.min_new_tokens}."
            )
        if sum(one is not None for one in (self.json_schema, self.regex, self.ebnf)) > 1:
            raise ValueError("Only one of regex, json_schema, or ebnf can be set.")
        return self

    @property
    def stop_texts(self) -> tuple[str, ...]:
        """The stop strings, also where one was given alone."""
        if self.stop is None:
            return ()
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)


class GenerateRequest(WireModel):
    """Body of ``POST /generate`` for one prompt or a batch of them."""

    text: str | list[str] | None = None
    input_ids: list[int] | list[list[int]] | None = None
    sampling_params: SamplingParams | list[SamplingParams] = SamplingParams()
    rid: str | list[str] | None = None
    stream: bool = False
    return_logprob: bool = False
    logprob_start_len: int = -1
    top_logprobs_num: int = Field(default=0, ge=0)
    return_text_in_logprobs: bool = False
    return_routed_experts: bool = False
    routed_experts_start_len: int = 0
    return_prompt_token_ids: bool = False
    session_id: str | None = None
    cache_salt: str | None = None
    extra_key: str | None = None
    priority: int | None = None
    bootstrap_host: str | None = None
    bootstrap_port: int | None = None
    bootstrap_room: int | None = None

    @field_validator("sampling_params", mode="before")
    @classmethod
    def _none_is_default(cls, value: Any) -> Any:  # noqa: ANN401 - whatever came
        return {} if value is None else value

    @model_validator(mode="after")
    def _one_prompt(self) -> Self:
        if (self.text is None) == (self.input_ids is None):
            raise ValueError("Either text or input_ids should be provided, and not both.")
        if self.input_ids is not None and not self.input_ids:
            raise ValueError("input_ids must not be empty.")
        return self


class WeightVersionSpan(WireModel):
    """Output tokens ``start`` to ``end`` (exclusive) were sampled under one version of weights."""

    version: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)


class FinishStop(WireModel):
    """A stop token, a stop string or the end of the text."""

    type: Literal["stop"] = "stop"
    matched: int | str | list[int] | None = None


class FinishLength(WireModel):
    """The number of tokens asked for."""

    type: Literal["length"] = "length"
    length: int


class FinishAbort(WireModel):
    """Somebody or something ended it early."""

    type: Literal["abort"] = "abort"
    message: str | None = None
    status_code: int | None = None
    err_type: str | None = None


FinishReason = Annotated[FinishStop | FinishLength | FinishAbort, Field(discriminator="type")]


class OutputLogprob(NamedTuple):
    """One entry of ``output_token_logprobs``.

    Attributes:
        logprob: Of the token after temperature and before top-k, top-p and min-p, SGLang's default;
            at temperature 1 if it was started with ``SGLANG_RETURN_ORIGINAL_LOGPROB``, and for
            greedy requests. None for a prompt's first token.
        token_id: The token.
        text: Its text, if it was asked for.
    """

    logprob: float | None
    token_id: int
    text: str | None = None


class MetaInfo(WireModel):
    """What a reply tells beside its tokens.

    A request that was aborted while it waited in the queue has no counts and no routing.
    """

    id: str
    finish_reason: FinishReason | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cached_tokens_details: dict[str, Any] | None = None
    reasoning_tokens: int | None = None
    weight_version: str | None = None
    weight_versions: list[WeightVersionSpan] | None = None
    num_retractions: int | None = None
    e2e_latency: float | None = None
    output_token_logprobs: list[OutputLogprob] | None = None
    output_token_logprobs_length: int | None = None
    input_token_logprobs: list[OutputLogprob] | None = None
    output_top_logprobs: list[list[OutputLogprob] | None] | None = None
    input_top_logprobs: list[list[OutputLogprob] | None] | None = None
    routed_experts: str | None = Field(default=None, description="Base64 of int32, C order.")

    @field_validator(
        "output_token_logprobs", "input_token_logprobs", "output_top_logprobs",
        "input_top_logprobs", mode="before",
    )  # fmt: skip
    @classmethod
    def _entries(cls, value: Any) -> Any:  # noqa: ANN401 - whatever came
        return _tuples(value)


def _tuples(value: Any) -> Any:  # noqa: ANN401 - whatever came
    # JSON has lists where the protocol means entries of three.
    if not isinstance(value, list):
        return value
    return [
        OutputLogprob(*one)
        if isinstance(one, list | tuple) and 2 <= len(one) <= 3 and not isinstance(one[0], list)
        else _tuples(one)
        for one in value
    ]


class GenerateReply(WireModel):
    """Body of a reply to ``/generate``, and of each event of a stream."""

    text: str | None = None
    output_ids: list[int] = Field(default_factory=list[int])
    prompt_token_ids: list[int] | None = None
    meta_info: MetaInfo


__all__ = [
    "FinishAbort",
    "FinishLength",
    "FinishReason",
    "FinishStop",
    "GenerateReply",
    "GenerateRequest",
    "MetaInfo",
    "OutputLogprob",
    "SamplingParams",
    "WeightVersionSpan",
]
