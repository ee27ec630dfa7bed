"""The client retries only what is safe, aborts what is left, and waits while a server lives."""

from __future__ import annotations

import asyncio
import socket
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest

from labenv.inference.client import InferenceClient, WorkerPool
from labenv.inference.errors import BackendError, BackendUnavailableError, InferenceError
from labenv.inference.protocol import GenerateRequest, SamplingParams
from labenv.inference.protocol.generation import FinishAbort, FinishLength
from labenv.inference.request_ids import new_request_id
from labenv_schemas.errors import ConfigError
from tests.unit.inference.scripted_server import Call, ScriptedServer, scripted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

REQUEST = GenerateRequest(input_ids=[1, 2, 3], sampling_params=SamplingParams(max_new_tokens=2))
INFO = {"model_path": "tiny", "is_generation": True, "weight_version": "v1"}


def reply(*output: int, finish: Any = None, **meta: Any) -> dict[str, Any]:
    finish = {"type": "length", "length": len(output)} if finish is None else finish
    return {"output_ids": list(output),
            "meta_info": {"id": "r", "finish_reason": finish, **meta}}  # fmt: skip


async def usual(call: Call) -> None:
    match call.path.partition("?")[0]:
        case "/generate":
            await call.json(reply(4, 5))
        case "/model_info":
            await call.json(INFO)
        case "/update_weights_from_disk" | "/update_weights_from_tensor":
            await call.json({"success": True, "message": "Succeeded", "num_paused_requests": 0})
        case _:
            await call.json({})


def course(
    answer: Callable[[Call], Awaitable[None]],
    work: Callable[[InferenceClient, ScriptedServer], Awaitable[Any]],
    **options: Any,
) -> Any:
    async def whole() -> Any:
        async with (
            asyncio.timeout(20.0),
            scripted(answer) as server,
            InferenceClient(server.url, **options) as client,
        ):
            return await work(client, server)

    return asyncio.run(whole())


# ------------------------------------------------------------------------------------ generating


def test_a_request_says_only_what_is_not_usual_and_has_an_id_of_its_own() -> None:
    async def work(client: InferenceClient, server: ScriptedServer) -> None:
        found = await client.generate(REQUEST)
        assert found.output_ids == [4, 5]
        assert isinstance(found.meta_info.finish_reason, FinishLength)
        await client.generate(REQUEST)
        first, second = server.of("/generate")
        assert first.pop("rid") != second["rid"]
        assert first == {
            "input_ids": [1, 2, 3], "sampling_params": {"max_new_tokens": 2}, "stream": False,
        }  # fmt: skip
        assert server.connections == 1  # kept alive

    course(usual, work)


def test_no_id_is_the_beginning_of_another() -> None:
    ids = {new_request_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert {len(one) for one in ids} == {32}


def test_a_refusal_says_what_the_server_says() -> None:
    async def refuse(call: Call) -> None:
        await call.json({"error": {"message": "routed_experts_start_len is higher"}}, status=400)

    async def work(client: InferenceClient, server: ScriptedServer) -> None:
        with pytest.raises(BackendError, match="start_len is higher") as caught:
            await client.generate(REQUEST)
        assert caught.value.status == 400
        assert not caught.value.retryable
        assert len(server.calls) == 1

    course(refuse, work)


def test_a_busy_server_is_asked_again() -> None:
    async def busy_twice(call: Call) -> None:
        busy = server_calls() < 3
        await (call.json({"message": "full"}, status=503) if busy else usual(call))

    counts: list[ScriptedServer] = []

    def server_calls() -> int:
        return len(counts[0].calls)

    async def work(client: InferenceClient, server: ScriptedServer) -> None:
        counts.append(server)
        assert (await client.generate(REQUEST)).output_ids == [4, 5]
        assert len(server.calls) == 3

    course(busy_twice, work)


def test_a_server_that_is_not_up_yet_is_waited_for() -> None:
    async def whole() -> None:
        with socket.create_server(("127.0.0.1", 0)) as place:
            port = place.getsockname()[1]
        async with InferenceClient(f"http://127.0.0.1:{port}", tries=6) as client:
            asked = asyncio.ensure_future(client.generate(REQUEST))
            await asyncio.sleep(0.25)
            server = ScriptedServer(usual)
            listening = await asyncio.start_server(server.serve, "127.0.0.1", port)
            assert (await asked).output_ids == [4, 5]
            listening.close()
        async with InferenceClient(f"http://127.0.0.1:{port}", tries=1) as client:
            with pytest.raises(BackendUnavailableError, match="is the server running") as caught:
                await client.model_info()
            assert caught.value.retryable

    asyncio.run(whole())


def test_a_generation_that_was_sent_is_never_sent_again() -> None:
    async def drop(call: Call) -> None:
        call.drop()

    async def work(client: InferenceClient, server: ScriptedServer) -> None:
        with pytest.raises(BackendUnavailableError) as caught:
            await client.generate(REQUEST)
        assert not caught.value.retryable
        assert server.counts["/generate"] == 1
        with pytest.raises(BackendUnavailableError):
            await client.update_weights_from_disk("/w", version="v2")
        assert server.counts["/update_weights_from_disk"] == 1
        with pytest.raises(BackendUnavailableError):
            await client.pause("in_place")
        assert server.counts["/pause_generation"] == 4  # twice is the same as once

    course(drop, work)


@pytest.mark.parametrize("content", [b"<html>", b'{"output_ids": [1]}', b'{"meta_info": 3}'])
def test_an_answer_of_something_else_is_an_error(content: bytes) -> None:
    async def answer(call: Call) -> None:
        head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(content)}\r\n\r\n".encode()
        await call.send(head + content)

    async def work(client: InferenceClient, _: ScriptedServer) -> None:
        with pytest.raises(InferenceError, match="/generate answered"):
            await client.generate(REQUEST)

    course(answer, work)


# ------------------------------------------------------------------------- leaving and waiting


async def forever(call: Call) -> None:
    await (asyncio.sleep(60.0) if call.path == "/generate" else usual(call))


def test_cancelling_aborts_on_the_server_exactly_that_request() -> None:
    async def work(client: InferenceClient, server: ScriptedServer) -> None:
        asked = asyncio.ensure_future(client.generate(REQUEST))
        while not server.calls:  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.01)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        (abort,) = server.of("/abort_request")
        assert abort["rid"] == server.of("/generate")[0]["rid"]
        assert not abort["abort_all"]
        await asyncio.wait_for(server.gone.wait(), 2.0)  # the connection was closed too
        assert client.running == 0

    course(forever, work)


def test_a_stream_that_is_left_early_is_aborted() -> None:
    async def stream(call: Call) -> None:
        if call.path != "/generate":
            return await usual(call)
        await call.begin_stream()
        for count in range(1, 1000):
            await call.event(reply(*range(count), finish=False) | {"meta_info": {"id": "r"}})
            await asyncio.sleep(0.01)
        return None

    async def work(client: InferenceClient, server: ScriptedServer) -> None:
        async with aclosing(client.stream(REQUEST)) as events:
            async for event in events:
                if len(event.output_ids) == 3:
                    break
        assert server.of("/abort_request")[0]["rid"] == server.of("/generate")[0]["rid"]

    course(stream, work)


def test_a_stream_ends_with_what_only_the_end_has() -> None:
    async def stream(call: Call) -> None:
        await call.begin_stream()
        await call.event({"output_ids": [4], "meta_info": {"id": "r"}})
        await call.event(reply(4, 5, routed_experts="AAAA"))
        await call.event("[DONE]")
        await call.end_stream()

    async def work(client: InferenceClient, server: ScriptedServer) -> None:
        events = [event async for event in client.stream(REQUEST)]
        assert [event.output_ids for event in events] == [[4], [4, 5]]
        assert events[-1].meta_info.routed_experts == "AAAA"
        assert server.of("/generate")[0]["stream"]
        assert not server.of("/abort_request")

    course(stream, work)


def test_a_stream_that_breaks_or_refuses_is_an_error() -> None:
    async def stream(call: Call) -> None:
        await call.begin_stream()
        await call.event({"output_ids": [4], "meta_info": {"id": "r"}})
        if call.body["input_ids"] == [1]:
            await call.event({"error": {"message": "bad start"}})
        await call.end_stream()

    async def work(client: InferenceClient, _: ScriptedServer) -> None:
        with pytest.raises(BackendUnavailableError, match="before its end"):
            [event async for event in client.stream(REQUEST)]
        with pytest.raises(BackendError, match="bad start"):
            [event async for event in client.stream(GenerateRequest(input_ids=[1]))]

    course(stream, work)


def test_a_long_generation_is_waited_for_while_the_server_lives() -> None:
    async def slow(call: Call) -> None:
        await asyncio.sleep(0.6 if call.path == "/generate" else 0.0)
        await usual(call)

    async def work(client: InferenceClient, server: ScriptedServer) -> None:
        assert (await client.generate(REQUEST)).output_ids == [4, 5]
        assert server.counts["/model_info"] >= 2

    course(slow, work, probe_s=0.1, reply_s=0.2)


def test_a_server_that_hangs_is_given_up() -> None:
    async def hang(_: Call) -> None:
        await asyncio.sleep(60.0)

    async def work(client: InferenceClient, _: ScriptedServer) -> None:
        with pytest.raises(BackendUnavailableError, match="no sign of life"):
            await client.generate(REQUEST)

    course(hang, work, probe_s=0.1, reply_s=0.2)


def test_no_more_generations_run_at_once_than_said() -> None:
    most = [0, 0]

    async def slow(call: Call) -> None:
        most[0] += 1
        most[1] = max(most)
        await asyncio.sleep(0.05)
        most[0] -= 1
        await usual(call)

    async def work(client: InferenceClient, _: ScriptedServer) -> None:
        await asyncio.gather(*(client.generate(REQUEST) for _ in range(12)))

    course(slow, work, max_concurrency=3)
    assert most[1] == 3


# -------------------------------------------------------------------------------------- control


def test_control_calls_say_what_they_mean() -> None:
    async def work(client: InferenceClient, server: ScriptedServer) -> None:
        await client.pause("in_place")
        assert (await client.update_weights_from_disk("/w", version="v2")).success
        await client.update_weights_from_tensor(["AAAA"], version="v3")
        await client.resume()
        await client.abort_all()
        assert await client.flush_cache(5.0)
        assert (await client.model_info()).weight_version == "v1"
        assert await client.is_healthy()
        assert server.of("/pause_generation") == [{"mode": "in_place"}]
        # With requests held in place a flush would change the weights and say that it failed.
        assert server.of("/update_weights_from_disk")[0]["flush_cache"] is False
        assert server.of("/update_weights_from_tensor")[0]["weight_version"] == "v3"
        paths = [call.path for call in server.calls]
        begun = paths.index("/begin_weight_update")
        assert paths[begun + 1 : begun + 3] == [
            "/update_weights_from_tensor", "/end_weight_update",
        ]  # fmt: skip
        assert "/flush_cache?timeout=5" in paths
        with pytest.raises(ConfigError, match="abort_all"):
            await client.abort("")

    course(usual, work)


def test_an_update_that_failed_is_an_error_and_the_update_is_ended() -> None:
    async def fail(call: Call) -> None:
        if call.path.startswith("/update"):
            await call.json({"success": False, "message": "no such file"}, status=400)
        else:
            await usual(call)

    async def work(client: InferenceClient, server: ScriptedServer) -> None:
        with pytest.raises(BackendError, match="no such file"):
            await client.update_weights_from_disk("/w", version="v2")
        with pytest.raises(BackendError, match="no such file"):
            await client.update_weights_from_tensor(["AAAA"], version="v2")
        assert server.counts["/end_weight_update"] == 1

    course(fail, work)


def test_a_paused_server_is_not_ready_and_a_held_cache_is_not_flushed() -> None:
    async def paused(call: Call) -> None:
        await call.json({}, status=503 if call.path == "/ready" else 400)

    async def work(client: InferenceClient, _: ScriptedServer) -> None:
        assert not await client.is_ready()
        assert not await client.flush_cache()

    course(paused, work, tries=1)


@pytest.mark.parametrize("url", ["127.0.0.1:30000", "ftp://host", ""])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="http://host:port"):
        InferenceClient(url)


def test_several_prompts_at_once_are_refused() -> None:
    async def work(client: InferenceClient, _: ScriptedServer) -> None:
        with pytest.raises(ConfigError, match="one prompt"):
            await client.generate(GenerateRequest(text=["a", "b"]))

    course(usual, work)


def test_a_request_aborted_in_the_queue_is_an_answer() -> None:
    async def abort(call: Call) -> None:
        finish = {"type": "abort", "message": "Abort in waiting queue", "status_code": 503,
                  "err_type": None}  # fmt: skip
        await call.json(reply(finish=finish))

    async def work(client: InferenceClient, _: ScriptedServer) -> None:
        found = await client.generate(REQUEST)
        assert isinstance(found.meta_info.finish_reason, FinishAbort)
        assert found.meta_info.routed_experts is None

    course(abort, work)


# -------------------------------------------------------------------------------- several workers


def pool_course(
    answers: list[Callable[[Call], Awaitable[None]]],
    work: Callable[[WorkerPool, list[ScriptedServer]], Awaitable[None]],
    **options: Any,
) -> None:
    async def whole() -> None:
        async with asyncio.timeout(20.0), asyncio.TaskGroup():
            contexts = [scripted(answer) for answer in answers]
            servers = [await context.__aenter__() for context in contexts]
            async with WorkerPool([server.url for server in servers], **options) as pool:
                await work(pool, servers)
            for context in contexts:
                await context.__aexit__(None, None, None)

    asyncio.run(whole())


def asking(first: int, session: str | None = None) -> GenerateRequest:
    ids = [first] * 128 + [7]
    return GenerateRequest(input_ids=ids, session_id=session)


def test_a_session_stays_and_a_known_beginning_goes_where_it_is_cached() -> None:
    async def work(pool: WorkerPool, servers: list[ScriptedServer]) -> None:
        await asyncio.gather(*(pool.generate(asking(i, f"s{i}")) for i in range(8)))
        before = [server.counts["/generate"] for server in servers]
        assert sum(before) == 8
        for i in range(8):
            await pool.generate(asking(i, f"s{i}"))
        where = [{body["input_ids"][0] for body in server.of("/generate")} for server in servers]
        assert not where[0] & where[1]  # each conversation at one worker
        await pool.generate(asking(min(where[1])))  # no session, but its beginning is known
        assert servers[1].of("/generate")[-1]["input_ids"][0] == min(where[1])

    pool_course([usual, usual], work)


def test_a_cached_beginning_does_not_pile_work_on_one_worker() -> None:
    async def slow(call: Call) -> None:
        await asyncio.sleep(0.1)
        await usual(call)

    async def work(pool: WorkerPool, servers: list[ScriptedServer]) -> None:
        await pool.generate(asking(1))
        await asyncio.gather(*(pool.generate(asking(1)) for _ in range(20)))
        counts = [server.counts["/generate"] for server in servers]
        assert min(counts) >= 6

    pool_course([slow, slow], work, imbalance=4)


def test_a_worker_that_is_gone_is_passed_over() -> None:
    async def whole() -> None:
        with socket.create_server(("127.0.0.1", 0)) as place:
            gone = f"http://127.0.0.1:{place.getsockname()[1]}"
        async with scripted(usual) as server, WorkerPool([gone, server.url], tries=1) as pool:
            for i in range(6):
                assert (await pool.generate(asking(i, "s"))).output_ids == [4, 5]
            with pytest.raises(BackendError, match=f"1 of 2 workers failed: {gone}"):
                await pool.pause("in_place")
            assert server.counts["/pause_generation"] == 1  # the other was called all the same

    asyncio.run(whole())


def test_control_calls_go_to_each_worker_and_generations_through_the_router() -> None:
    async def whole() -> None:
        async with scripted(usual) as one, scripted(usual) as two, scripted(usual) as router:
            async with WorkerPool([one.url, two.url], router=router.url) as pool:
                await pool.generate(REQUEST)
                await pool.update_weights_from_disk("/w", version="v2")
                await pool.abort("abc")
                assert await pool.weight_versions() == {one.url: "v1", two.url: "v1"}
            assert router.counts == {"/generate": 1}
            for worker in (one, two):
                paths = [call.path for call in worker.calls]
                assert paths == [
                    "/pause_generation",
                    "/update_weights_from_disk",
                    "/continue_generation",
                    "/abort_request",
                    "/model_info",
                ]

    asyncio.run(whole())


def test_workers_go_on_though_an_update_failed() -> None:
    async def fail(call: Call) -> None:
        if call.path.startswith("/update"):
            await call.json({"success": False, "message": "bad shard"}, status=400)
        else:
            await usual(call)

    async def work(pool: WorkerPool, servers: list[ScriptedServer]) -> None:
        with pytest.raises(BackendError, match="bad shard"):
            await pool.update_weights_from_disk("/w", version="v2")
        assert [server.counts["/continue_generation"] for server in servers] == [1, 1]

    pool_course([usual, fail], work)
