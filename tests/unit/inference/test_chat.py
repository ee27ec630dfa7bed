"""OpenAI's chat completions, with SGLang's extras where a server has them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import ValidationError

from labenv.inference.client import ChatClient
from labenv.inference.errors import BackendError, InferenceError
from labenv.inference.protocol.chat import ChatMessage, ChatReply, ChatRequest
from labenv_schemas.errors import ConfigError
from tests.unit.inference.scripted_server import Call, ScriptedServer, scripted

REQUEST = ChatRequest(
    model="m",
    messages=[ChatMessage(role="user", content="hello")],
    tools=[{"function": {"name": "fire", "parameters": {"type": "object"}}}],  # type: ignore[list-item]
    max_tokens=5,
)
CALLED = {"id": "c1", "type": "function", "function": {"name": "fire", "arguments": '{"t": 1'}}


def answered(**more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, "tool_calls": [CALLED]}
    return {
        "id": "x", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls", **more}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    }  # fmt: skip


def course(content: Any, work: Any, status: int = 200, **options: Any) -> None:
    async def answer(call: Call) -> None:
        await call.json(content, status=status)

    async def whole() -> None:
        async with scripted(answer) as server, ChatClient(server.url + "/v1", **options) as client:
            await work(client, server)

    asyncio.run(whole())


def test_a_call_of_a_tool_comes_as_the_model_wrote_it() -> None:
    async def work(client: ChatClient, server: ScriptedServer) -> None:
        found = await client.chat(REQUEST)
        call = (found.choices[0].message.tool_calls or [])[0]
        assert call.function.arguments == '{"t": 1'  # damaged JSON is the policy's to see
        (sent,) = server.of("/v1/chat/completions")
        assert sent == {
            "model": "m", "max_tokens": 5,
            "messages": [{"role": "user", "content": "hello"}],
            "tools": [{"function": {"name": "fire", "parameters": {"type": "object"}}}],
        }  # fmt: skip

    course(answered(), work, api_key="k")


def test_routing_and_versions_are_found_wherever_they_stand() -> None:
    spans = [{"version": "v0", "start": 0, "end": 2}]
    one = ChatReply.model_validate({
        **answered(),
        "sglext": {"routed_experts": "AAAA"},
        "metadata": {"weight_versions": spans},
    })
    other = ChatReply.model_validate(
        answered(meta_info={"routed_experts": "AAAA", "weight_versions": spans})
    )
    assert one.routed_experts == other.routed_experts == "AAAA"
    assert one.weight_versions == other.weight_versions
    assert one.weight_versions[0].end == 2
    plain = ChatReply.model_validate(answered())
    assert plain.routed_experts is None
    assert plain.weight_versions == ()


def test_refusals_and_nonsense_are_errors() -> None:
    async def refused(client: ChatClient, _: ScriptedServer) -> None:
        with pytest.raises(BackendError, match="no such model"):
            await client.chat(REQUEST)

    course({"error": {"message": "no such model"}}, refused, status=404)

    async def nonsense(client: ChatClient, _: ScriptedServer) -> None:
        with pytest.raises(InferenceError, match="answered something else"):
            await client.chat(REQUEST)

    course({"choices": []}, nonsense)


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(ValidationError, match="tool_call_id"):
        ChatMessage(role="tool", content="42")
    with pytest.raises(ValidationError, match="return_meta_info cannot be had with stream"):
        ChatRequest(model="m", messages=REQUEST.messages, stream=True, return_meta_info=True)
    with pytest.raises(ConfigError):
        ChatClient("localhost:8000")

    async def streamed(client: ChatClient, _: ScriptedServer) -> None:
        with pytest.raises(ConfigError, match="whole answers"):
            await client.chat(REQUEST.model_copy(update={"stream": True}))

    course(answered(), streamed)
