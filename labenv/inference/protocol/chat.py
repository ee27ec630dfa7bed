"""`/v1/chat/completions` as OpenAI has it, with what SGLang adds.

Source:
    OpenAI API reference, "Create chat completion"; SGLang 0.5.23,
    ``srt/entrypoints/openai/protocol.py`` for `sglext`, `metadata` and routing.
"""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from labenv.inference.protocol.generation import WeightVersionSpan
from labenv.inference.protocol.wire import WireModel


class FunctionCall(WireModel):
    """Which function a model calls, and with what."""

    name: str
    arguments: str = Field(description="JSON text as the model wrote it; it may be damaged.")


class ToolCall(WireModel):
    """One call in an answer."""

    id: str
    type: Literal["function"] = "function"
    function: FunctionCall
    index: int | None = None


class ChatMessage(WireModel):
    """One message of a conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[dict[str, Any]] | None = None
    name: str | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None
    reasoning_content: str | None = None

    @model_validator(mode="after")
    def _answers_a_call(self) -> Self:
        if self.role == "tool" and not self.tool_call_id:
            raise ValueError("a message of role 'tool' needs the tool_call_id that it answers")
        return self


class ToolFunction(WireModel):
    """A function that a model may call."""

    name: str = Field(min_length=1)
    description: str | None = None
    parameters: dict[str, Any] | None = Field(default=None, description="A JSON Schema.")
    strict: bool | None = None


class Tool(WireModel):
    """A tool; functions are the only kind."""

    type: Literal["function"] = "function"
    function: ToolFunction


class ChatRequest(WireModel):
    """Body of ``POST /v1/chat/completions``."""

    model: str
    messages: list[ChatMessage] = Field(min_length=1)
    tools: list[Tool] | None = None
    tool_choice: Literal["none", "auto", "required"] | dict[str, Any] | None = None
    max_tokens: int | None = Field(default=None, ge=0)
    max_completion_tokens: int | None = Field(default=None, ge=0)
    temperature: float | None = Field(default=None, ge=0.0)
    top_p: float | None = Field(default=None, gt=0.0, le=1.0)
    stop: str | list[str] | None = None
    seed: int | None = None
    n: int = Field(default=1, ge=1)
    stream: bool = False
    logprobs: bool = False
    top_logprobs: int | None = Field(default=None, ge=0)
    response_format: dict[str, Any] | None = None
    # What SGLang adds.
    rid: str | None = None
    session_id: str | None = None
    cache_salt: str | None = None
    return_routed_experts: bool = False
    routed_experts_start_len: int = 0
    return_meta_info: bool = False
    return_token_ids: bool = False
    return_prompt_token_ids: bool = False

    @model_validator(mode="after")
    def _only_at_once(self) -> Self:
        wanted = [
            name
            for name in ("return_meta_info", "return_token_ids", "return_prompt_token_ids")
            if getattr(self, name)
        ]
        if self.stream and wanted:
            raise ValueError(f"{', '.join(wanted)} cannot be had with stream")
        return self


class ChatChoice(WireModel):
    """One answer."""

    index: int
    message: ChatMessage
    finish_reason: str | None = None
    logprobs: dict[str, Any] | None = None
    meta_info: dict[str, Any] | None = None
    token_ids: list[int] | None = None


class Usage(WireModel):
    """How many tokens there were."""

    prompt_tokens: int = 0
    completion_tokens: int | None = 0
    total_tokens: int = 0


class ChatReply(WireModel):
    """Body of an answer."""

    id: str
    model: str
    choices: list[ChatChoice] = Field(min_length=1)
    usage: Usage | None = None
    metadata: dict[str, Any] | None = None
    sglext: dict[str, Any] | None = None

    @property
    def routed_experts(self) -> str | None:
        """Routing of the first choice, wherever this server puts it; None without any."""
        for place in (self.sglext, self.choices[0].meta_info):
            if place is not None and place.get("routed_experts") is not None:
                return str(place["routed_experts"])
        return None

    @property
    def weight_versions(self) -> tuple[WeightVersionSpan, ...]:
        """Spans of the output under each version of the weights; empty where not told."""
        for place in (self.metadata, self.choices[0].meta_info):
            found = (place or {}).get("weight_versions")
            if found:
                return tuple(WeightVersionSpan.model_validate(one) for one in found)
        return ()


__all__ = [
    "ChatChoice",
    "ChatMessage",
    "ChatReply",
    "ChatRequest",
    "FunctionCall",
    "Tool",
    "ToolCall",
    "ToolFunction",
    "Usage",
]
