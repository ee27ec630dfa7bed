"""A trajectory's routing is fetched once; what is missing, shifted or damaged is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labenv.inference.errors import PrefixError, ReplayError
from labenv.inference.protocol import GenerateReply, WeightVersionSpan, encode_rows
from labenv.inference.replay import (
    Asked,
    RoutingShape,
    RowSource,
    Spill,
    TrajectoryLedger,
    TrajectoryTree,
    Turn,
)
from labenv.inference.replay.growing import CHUNK_ROWS, GrowingArray
from labenv_schemas.errors import ConfigError

SHAPE = RoutingShape(layers=3, top_k=2, experts=8, dense_layers=frozenset({0}))


def truth(tokens: list[int], shape: RoutingShape = SHAPE) -> np.ndarray:
    """Return rows that follow from the tokens before them, so that a shift shows."""
    rows = np.zeros((len(tokens), shape.layers, shape.top_k), np.int32)
    state = 1
    for place, token in enumerate(tokens):
        state = (state * 31 + token + 7) % 1_000_003
        for layer in shape.sparse_layers:
            first = (state >> int(layer)) % shape.experts
            rows[place, layer] = [(first + step) % shape.experts for step in range(shape.top_k)]
    return rows


class Server:
    """Answers as SGLang does, from the tokens alone."""

    def __init__(self, shape: RoutingShape = SHAPE, *, ignores_start: bool = False) -> None:
        self.shape, self.ignores_start = shape, ignores_start
        self.sent = 0

    def answer(
        self, prompt: list[int], start: int, output: list[int], **meta: Any
    ) -> GenerateReply:
        rows = truth(prompt + output, self.shape)[: -1 if output or prompt else None]
        rows = rows[0 if self.ignores_start else start :]
        self.sent += len(rows)
        info = {
            "id": "r", "finish_reason": {"type": "length", "length": len(output)},
            "output_token_logprobs": [[-0.5 * i, token, None] for i, token in enumerate(output)],
            "cached_tokens": 0, "weight_version": "v0", "routed_experts": encode_rows(rows),
        }  # fmt: skip
        return GenerateReply.model_validate({"output_ids": output, "meta_info": {**info, **meta}})


def turn(ledger: TrajectoryLedger, server: Server, new: list[int], output: list[int], **meta: Any):
    asked = ledger.ask([*ledger.tokens.tolist(), *new])
    prompt = [*ledger.tokens.tolist(), *new]
    reply = server.answer(prompt, asked.start_len, output, **meta)
    return ledger.append(Turn.of(reply, asked, ledger.shape))


def check_whole(ledger: TrajectoryLedger) -> None:
    tokens = ledger.tokens.tolist()
    rows = ledger.rows()
    assert np.array_equal(rows[: ledger.rows_held], truth(tokens, ledger.shape)[: ledger.rows_held])
    assert (rows[ledger.rows_held :] == -1).all()


# ------------------------------------------------------------------------------------- the delta


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 99), min_size=0, max_size=9),
            st.lists(st.integers(0, 99), min_size=0, max_size=9),
        ),
        min_size=1,
        max_size=8,
    ),
    st.booleans(),
)
def test_any_conversation_gives_the_rows_of_one_pass_over_all_its_tokens(
    turns: list[tuple[list[int], list[int]]], ignores_start: bool
) -> None:
    ledger, server = TrajectoryLedger(SHAPE), Server(ignores_start=ignores_start)
    for number, (new, output) in enumerate(turns):
        prompt = [*new, 1] if number == 0 else new
        turn(ledger, server, prompt, output)
        assert ledger.rows_held == max(0, len(ledger) - 1)
    check_whole(ledger)
    if not ignores_start:
        assert server.sent <= len(ledger) + len(turns)  # one row a turn is asked for again, at most


def test_the_start_is_one_before_what_is_held_and_none_at_first() -> None:
    ledger = TrajectoryLedger(SHAPE)
    assert ledger.ask([1, 2, 3]).start_len == 0
    turn(ledger, Server(), [1, 2, 3], [4, 5])
    assert ledger.rows_held == 4
    assert ledger.ask([1, 2, 3, 4, 5, 6]).start_len == 4
    assert ledger.go_on([6]) == Asked(5, [6])


def test_a_server_that_ignores_the_start_is_told_of_and_used_all_the_same() -> None:
    ledger, server = TrajectoryLedger(SHAPE), Server(ignores_start=True)
    assert not turn(ledger, server, [1, 2, 3], [4, 5]).ignored_start
    assert turn(ledger, server, [6], [7, 8]).ignored_start
    check_whole(ledger)


@pytest.mark.parametrize("fill", [0, -1])
def test_a_place_for_the_last_token_is_left_out_and_filled_by_the_next_turn(fill: int) -> None:
    ledger = TrajectoryLedger(SHAPE)
    for new, output in (([1, 2, 3], [4, 5]), ([6], [7, 8])):
        asked = ledger.go_on(new)
        tokens = [*ledger.tokens.tolist(), *new, *output]
        rows = truth(tokens)[asked.start_len :]
        rows[-1] = fill
        ledger.append(Turn(asked, output, rows=rows))
    assert ledger.rows_held == 7
    check_whole(ledger)


def test_rows_held_are_never_replaced_by_a_later_prefill_s() -> None:
    ledger = TrajectoryLedger(SHAPE)
    turn(ledger, Server(), [1, 2, 3], [4, 5])
    asked = ledger.go_on([6])
    other = (truth([1, 2, 3, 4, 5, 6, 7]) + 1) % 8  # as if computed otherwise, and all sent
    other[:, 0] = 0
    assert ledger.append(Turn(asked, [7], rows=other[:6])).ignored_start
    assert np.array_equal(ledger.rows(0, 4), truth([1, 2, 3, 4]))
    assert np.array_equal(ledger.rows(4, 6), other[4:6])


# ----------------------------------------------------------------------------- what was aborted


def test_an_abort_before_the_first_token_changes_nothing() -> None:
    ledger = TrajectoryLedger(SHAPE)
    turn(ledger, Server(), [1, 2, 3], [4, 5])
    asked = ledger.go_on([6, 7])
    reply = GenerateReply.model_validate(
        {"meta_info": {"id": "r", "finish_reason": {
            "type": "abort", "message": "Abort in waiting queue"}}}
    )  # fmt: skip
    assert ledger.append(Turn.of(reply, asked, SHAPE)).tokens == 0
    assert len(ledger) == 5
    turn(ledger, Server(), [6, 7], [8])
    check_whole(ledger)


def test_an_aborted_answer_is_kept_and_gone_on_with() -> None:
    ledger, abort = TrajectoryLedger(SHAPE), {"type": "abort", "message": "Aborted"}
    turn(ledger, Server(), [1, 2, 3], [4, 5], finish_reason=abort)
    turn(ledger, Server(), [], [6, 7], finish_reason=abort, weight_version="v1")
    turn(ledger, Server(), [], [8])
    assert ledger.tokens.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert ledger.sampled.tolist() == [False] * 3 + [True] * 5
    check_whole(ledger)


def test_a_prompt_without_an_answer_gets_its_last_row_with_the_next_turn() -> None:
    ledger = TrajectoryLedger(SHAPE)
    turn(ledger, Server(), [1, 2, 3], [])
    assert ledger.rows_held == 2
    turn(ledger, Server(), [], [4])
    assert ledger.rows_held == 3
    check_whole(ledger)


# --------------------------------------------------------------------------- versions and sources


def test_the_last_token_before_new_weights_is_computed_under_the_new_ones() -> None:
    ledger = TrajectoryLedger(SHAPE)
    spans = [{"version": "v0", "start": 0, "end": 2}, {"version": "v1", "start": 2, "end": 4}]
    turn(ledger, Server(), [1, 2, 3], [4, 5, 6, 7], weight_versions=spans, weight_version="v1")
    assert ledger.versions == ["v0", "v1"]
    assert ledger.sampled_version.tolist() == [-1, -1, -1, 0, 0, 1, 1]
    assert ledger.computed_version.tolist() == [0, 0, 0, 0, 1, 1, -1]
    turn(ledger, Server(), [8], [9], weight_version="v2")
    assert ledger.sampled_version.tolist()[7:] == [-1, 2]
    assert ledger.computed_version.tolist()[6:] == [2, 2, -1]  # the token held was fed only now


def test_sources_say_what_the_next_token_was_really_chosen_by() -> None:
    ledger = TrajectoryLedger(SHAPE)
    turn(ledger, Server(), [1, 2, 3], [4, 5, 6], cached_tokens=2)
    decode, prefill, cache = RowSource.DECODE, RowSource.PREFILL, RowSource.CACHE
    assert ledger.sources.tolist() == [cache, cache, prefill, decode, decode, RowSource.MISSING]
    assert ledger.computed_version.tolist() == [-1, -1, 0, 0, 0, -1]
    turn(ledger, Server(), [7, 8], [9, 1], cached_tokens=5, num_retractions=1)
    again = RowSource.RECOMPUTED
    assert ledger.sources.tolist()[5:] == [prefill, prefill, prefill, again, RowSource.MISSING]
    assert ledger.computed_version.tolist()[8:] == [-1, -1]


def test_logprobs_are_of_sampled_tokens_only() -> None:
    ledger = TrajectoryLedger(SHAPE)
    turn(ledger, Server(), [1, 2], [3, 4])
    turn(ledger, Server(), [5], [6])
    assert np.isnan(ledger.logprobs).tolist() == [True, True, False, False, True, False]
    assert ledger.logprobs[3] == pytest.approx(-0.5)


@pytest.mark.parametrize(
    "spans", [[(0, 1), (2, 3)], [(0, 2)], [(1, 3)], [(0, 2), (1, 3)], [(0, 4)]]
)
def test_spans_that_do_not_cover_the_answer_are_refused(spans: list[tuple[int, int]]) -> None:
    ledger = TrajectoryLedger(SHAPE)
    given = [WeightVersionSpan(version=f"v{i}", start=a, end=b) for i, (a, b) in enumerate(spans)]
    asked = ledger.go_on([1, 2])
    rows = truth([1, 2, 3, 4])
    with pytest.raises(ReplayError, match="weight_versions"):
        ledger.append(Turn(asked, [3, 4, 5], rows=rows, versions=given))
    assert len(ledger) == 0
    assert not ledger.versions


# ------------------------------------------------------------------------------ what is refused


def test_a_history_in_other_tokens_is_refused_with_the_place() -> None:
    ledger = TrajectoryLedger(SHAPE)
    turn(ledger, Server(), [1, 2, 3], [4, 5])
    for prompt, common in (([1, 2, 9, 4, 5, 6], 2), ([1, 2, 3, 4], 4), ([], 0)):
        with pytest.raises(PrefixError, match="branch the trajectory") as caught:
            ledger.ask(prompt)
        assert (caught.value.common, caught.value.held) == (common, 5)


def test_an_answer_to_an_older_request_is_refused() -> None:
    ledger = TrajectoryLedger(SHAPE)
    stale = ledger.go_on([1, 2, 3])
    turn(ledger, Server(), [1, 2, 3], [4])
    with pytest.raises(PrefixError):
        ledger.append(Turn(stale, [4], rows=truth([1, 2, 3])))


def damaged(what: str) -> np.ndarray:
    rows = truth([1, 2, 3, 4])
    if what == "short":
        return rows[:-1]
    if what == "long":
        return np.concatenate([rows, rows[:2]])
    if what == "layers":
        return rows[:, :2]
    if what == "twice":
        rows[2, 1] = 5
    if what == "unknown expert":
        rows[2, 1, 0] = 8
    if what == "below":
        rows[1, 2, 1] = -2
    if what == "dead layer":
        rows[:, 2] = 0
    return rows


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("short", "3 rows came; 4 were due"),
        ("long", "6 rows came; 4 were due"),
        ("layers", "shape"),
        ("twice", r"token 2 names an expert twice in layer 1: \[5, 5\]"),
        ("unknown expert", "expert 8 of 8"),
        ("below", "expert -2 of 8"),
        ("dead layer", "every row of layer 2 is zero"),
    ],
)
def test_rows_that_cannot_be_are_refused_and_nothing_is_kept(what: str, says: str) -> None:
    ledger = TrajectoryLedger(SHAPE)
    with pytest.raises(ReplayError, match=says):
        ledger.append(Turn(ledger.go_on([1, 2, 3]), [4, 5], rows=damaged(what)))
    assert len(ledger) == ledger.rows_held == 0


def test_a_reply_without_routing_says_how_to_get_it() -> None:
    ledger = TrajectoryLedger(SHAPE)
    with pytest.raises(ReplayError, match="--enable-return-routed-experts"):
        turn(ledger, Server(), [1, 2], [3], routed_experts=None)


def test_dense_layers_are_zero_and_a_missing_row_stays_missing() -> None:
    ledger = TrajectoryLedger(SHAPE)
    rows = truth([1, 2, 3])
    rows[1] = -1
    ledger.append(Turn(ledger.go_on([1, 2, 3]), [4], rows=rows))
    assert (ledger.rows()[1] == -1).all()
    assert ledger.sources.tolist()[1] == RowSource.MISSING
    assert not ledger.rows()[[0, 2], 0].any()


@pytest.mark.parametrize(
    ("experts", "dtype"), [(8, np.uint8), (255, np.uint8), (256, np.uint16), (384, np.uint16)]
)
def test_every_expert_s_id_and_a_missing_one_fit(experts: int, dtype: Any) -> None:
    shape = RoutingShape(layers=1, top_k=2, experts=experts)
    assert shape.dtype is dtype
    ledger = TrajectoryLedger(shape)
    rows = np.array([[[experts - 1, 0]], [[-1, -1]], [[1, experts - 1]]])
    ledger.append(Turn(ledger.go_on([1, 2, 3]), [4], rows=rows))
    assert np.array_equal(ledger.rows(0, 3), rows)
    assert ledger.nbytes == 3 * 2 * np.dtype(dtype).itemsize


def test_shapes_that_no_model_has_are_refused() -> None:
    for layers, top_k, experts, dense in ((0, 1, 2, ()), (1, 3, 2, ()), (1, 1, 2, (1,)),
                                          (1, 1, 70_000, ())):  # fmt: skip
        with pytest.raises(ConfigError):
            RoutingShape(layers, top_k, experts, frozenset(dense))


# ------------------------------------------------------------------------------------- branches


def test_branches_share_what_they_have_in_common_and_then_part() -> None:
    tree, server = TrajectoryTree(SHAPE), Server()
    first = tree.for_prompt([1, 2, 3])
    turn(first, server, [1, 2, 3], [4, 5])
    turn(first, server, [6], [7])
    assert tree.for_prompt([1, 2, 3, 4, 5, 6, 7, 8]) is first
    other = tree.for_prompt([1, 2, 3, 4, 9])  # tried again from an earlier place
    assert other is not first
    assert (len(other), other.rows_held) == (4, 4)
    turn(other, server, [9], [3, 3])
    short = tree.for_prompt([1, 2, 8, 8])  # the history was summed up
    turn(short, server, [8, 8], [2])
    for ledger in tree.branches:
        check_whole(ledger)
    assert len(tree.branches) == 3
    assert tree.for_prompt([1, 2, 3, 4, 9, 3, 3, 5]) is other
    assert len(tree.for_prompt([9])) == 0


# --------------------------------------------------------------------------------- long and on disk


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 2 * CHUNK_ROWS), max_size=6), st.data())
def test_a_growing_array_is_what_was_put_in(sizes: list[int], data: Any) -> None:
    array, whole = GrowingArray(np.int32), np.zeros(0, np.int32)
    for number, size in enumerate(sizes):
        new = np.arange(size, dtype=np.int32) + 1000 * number
        array.extend(new)
        whole = np.concatenate([whole, new])
    assert np.array_equal(array.read(), whole)
    cut = data.draw(st.integers(0, len(whole)))
    branch = array.branch(cut)
    branch.extend(np.full(10, -7, np.int32))
    assert np.array_equal(array.read(), whole)
    array.shorten(cut)
    array.extend(np.full(5, -9, np.int32))
    assert np.array_equal(branch.read(), np.concatenate([whole[:cut], np.full(10, -7)]))
    assert np.array_equal(array.read(), np.concatenate([whole[:cut], np.full(5, -9)]))
    with pytest.raises(IndexError):
        array.read(0, len(array) + 1)


def test_rows_beyond_a_number_lie_in_files(tmp_path: Any) -> None:
    shape = RoutingShape(layers=2, top_k=2, experts=300)
    spill = Spill(tmp_path, keep_rows=CHUNK_ROWS)
    ledger = TrajectoryLedger(shape, spill=spill)
    tokens = (np.arange(3 * CHUNK_ROWS + 10) % 97).tolist()
    rows = truth(tokens, shape)
    ledger.append(Turn(ledger.go_on(tokens[:-1]), tokens[-1:], rows=rows[:-1]))
    assert len(list(tmp_path.rglob("*.bin"))) == 3
    check_whole(ledger)
    branch = ledger.branch(2 * CHUNK_ROWS + 5)
    assert np.array_equal(branch.rows(0, 2 * CHUNK_ROWS + 5), rows[: 2 * CHUNK_ROWS + 5])
    spill.close()
    assert not list(tmp_path.rglob("*.bin"))
