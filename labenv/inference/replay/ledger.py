"""What is known of one trajectory's tokens: log-probability, weights, routing and its source.

A server computes the routing of a token when it feeds that token to the model. The token that was
sampled last has not been fed, so a trajectory of N tokens has N - 1 rows, and the next request
asks for rows from N - 1 on: those of the prompt's new tokens and of that one. Rows that are held
are never asked for again nor replaced, for a later prefill computes them anew, maybe otherwise.

A token has two versions of the weights. It was *sampled* under one; its row was *computed* under
another if new weights came between, as for the last token before a pause: it is fed under the new
ones. With the boundary of two spans at output token k, token k - 1 was sampled under the old
weights and its row computed under the new.

Source:
    SGLang pull request 24851, "Add routed_experts_start_len for absolute routing slice control";
    routing replay as such: Ma et al., "Stabilizing MoE Reinforcement Learning by Aligning Training
    and Inference Routers", arXiv 2510.11370.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from labenv.inference.errors import PrefixError, ReplayError
from labenv.inference.replay.checks import MISSING, RoutingShape, check_rows
from labenv.inference.replay.growing import GrowingArray
from labenv.inference.replay.turn import Asked, RowSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labenv.inference.replay.growing import Spill
    from labenv.inference.replay.turn import Turn

T = TypeVar("T", bound=np.generic)
NO_VERSION = -1


@dataclass(frozen=True)
class Appended:
    """What a turn added.

    Attributes:
        tokens: Tokens that are new, of the prompt and of the answer.
        rows: Rows that are new.
        ignored_start: Whether the server sent all rows though some were asked for, as one does
            that does not know ``routed_experts_start_len`` or stands behind a router that drops it.
    """

    tokens: int
    rows: int
    ignored_start: bool = False


class TrajectoryLedger:
    """The tokens of one trajectory and what is known of each.

    Args:
        shape: Of the model's routing.
        spill: Where rows go that do not stay in memory; None keeps all there.

    Attributes:
        versions: Names of weight versions, in the order in which they were met; the ledger's
            numbers point here.
    """

    def __init__(self, shape: RoutingShape, *, spill: Spill | None = None) -> None:
        self.shape = shape
        self.versions: list[str] = []
        self._tokens = GrowingArray(np.int32)
        self._sampled = GrowingArray(np.bool_)
        self._logprobs = GrowingArray(np.float32)
        self._sampled_version = GrowingArray(np.int32)
        self._rows: GrowingArray[np.uint8 | np.uint16]
        self._rows = GrowingArray(shape.dtype, (shape.layers, shape.top_k), spill)
        self._source = GrowingArray(np.uint8)
        self._computed_version = GrowingArray(np.int32)

    def __len__(self) -> int:
        return len(self._tokens)

    # ------------------------------------------------------------------------- what is known

    @property
    def tokens(self) -> NDArray[np.int32]:
        """All tokens, shape (N,)."""
        return self._tokens.read()

    @property
    def sampled(self) -> NDArray[np.bool_]:
        """Which tokens the model sampled, shape (N,); the others were given to it."""
        return self._sampled.read()

    @property
    def logprobs(self) -> NDArray[np.float32]:
        """Log-probability of each sampled token; NaN where none is known, shape (N,)."""
        return self._logprobs.read()

    @property
    def sampled_version(self) -> NDArray[np.int32]:
        """Version of the weights that each token was sampled under; -1 where none, shape (N,)."""
        return self._sampled_version.read()

    @property
    def rows_held(self) -> int:
        """How many first tokens have rows."""
        return len(self._rows)

    @property
    def sources(self) -> NDArray[np.uint8]:
        """`RowSource` of each token's row, shape (N,)."""
        return self._padded(self._source, RowSource.MISSING)

    @property
    def computed_version(self) -> NDArray[np.int32]:
        """Version of the weights that each row was computed under; -1 if unknown, shape (N,)."""
        return self._padded(self._computed_version, NO_VERSION)

    @property
    def nbytes(self) -> int:
        """Size of the rows, bytes."""
        return self._rows.nbytes

    def rows(self, start: int = 0, stop: int | None = None) -> NDArray[np.int32]:
        """Return routing by token.

        Args:
            start: First token.
            stop: Token after the last; the end by default.

        Returns:
            Ids of experts, shape (stop - start, layers, top_k); -1 where a row is not known, as for
            the last token.
        """
        stop = len(self) if stop is None else stop
        found = np.full((stop - start, self.shape.layers, self.shape.top_k), MISSING, np.int32)
        held = min(stop, len(self._rows))
        if held > start:
            stored = self._rows.read(start, held)
            found[: held - start] = stored
            found[: held - start][stored == np.iinfo(stored.dtype).max] = MISSING
        return found

    # ------------------------------------------------------------------------- asking

    def ask(self, input_ids: Sequence[int] | NDArray[np.integer]) -> Asked:
        """Return the request of a whole prompt, which is compared with what is held.

        Args:
            input_ids: The prompt.

        Returns:
            The request; its `start_len` goes into ``routed_experts_start_len``.

        Raises:
            PrefixError: If the prompt does not go on from the tokens that are held.
        """
        common, held = self.common(input_ids), len(self)
        if common < held:
            raise PrefixError(common, held)
        return Asked(held, [int(one) for one in input_ids[held:]])

    def go_on(self, new_ids: Sequence[int]) -> Asked:
        """Return the request of a prompt that is all that is held and some more.

        Args:
            new_ids: What comes after.

        Returns:
            The request; its prompt is ``[*tokens, *new_ids]``.
        """
        return Asked(len(self), new_ids)

    def common(self, input_ids: Sequence[int] | NDArray[np.integer]) -> int:
        """Return how many first tokens of a prompt are those that are held.

        Args:
            input_ids: The prompt.

        Returns:
            The length of the common prefix.
        """
        given = np.asarray(input_ids, np.int64)
        count = min(len(given), len(self))
        differ = np.flatnonzero(given[:count] != self._tokens.read(0, count))
        return int(differ[0]) if len(differ) else count

    # ------------------------------------------------------------------------- taking in

    def append(self, turn: Turn) -> Appended:
        """Take in an answered request; costs what its new tokens cost.

        Nothing has changed if it raises. A request that was aborted before it gave a token changes
        nothing: its prompt comes again with the next one.

        Args:
            turn: The request and its answer.

        Returns:
            What was added.

        Raises:
            PrefixError: If other tokens were taken in since the request was made.
            ReplayError: If rows are missing, are not as many as the tokens have, or cannot be.
        """
        held, prompt = len(self), turn.asked.prompt_tokens
        if turn.asked.held != held:
            raise PrefixError(min(turn.asked.held, held), held)
        if turn.aborted and not len(turn.output_ids):
            return Appended(0, 0)
        total = prompt + len(turn.output_ids)
        rows, ignored_start = self._new_rows(turn, total)
        first = len(self._rows)
        check_rows(rows, self.shape, first)
        _check_spans(turn)
        sampled, computed = self._versions(turn, first)
        logprobs = np.full(total - held, np.nan, np.float32)
        if len(turn.logprobs):
            known = [np.nan if one is None else one for one in turn.logprobs]
            logprobs[prompt - held :] = known
        self._tokens.extend(np.array([*turn.asked.new_ids, *turn.output_ids], np.int32))
        self._sampled.extend(np.arange(held, total) >= prompt)
        self._logprobs.extend(logprobs)
        self._sampled_version.extend(sampled)
        limit = np.iinfo(self.shape.dtype).max
        self._rows.extend(np.where(rows == MISSING, limit, rows).astype(self.shape.dtype))
        self._source.extend(self._sources(turn, rows, first))
        self._computed_version.extend(computed)
        return Appended(total - held, len(rows), ignored_start)

    def branch(self, count: int) -> TrajectoryLedger:
        """Return a trajectory with the same first tokens, which then goes on on its own.

        Args:
            count: How many tokens it has.

        Returns:
            The branch; memory of rows that are full chunks is shared.

        Raises:
            ReplayError: If there are fewer tokens.
        """
        if not 0 <= count <= len(self):
            raise ReplayError(f"a branch of {count} tokens from a trajectory of {len(self)}")
        other = TrajectoryLedger(self.shape)
        other.versions = list(self.versions)
        other._tokens = self._tokens.branch(count)
        other._sampled = self._sampled.branch(count)
        other._logprobs = self._logprobs.branch(count)
        other._sampled_version = self._sampled_version.branch(count)
        rows = min(count, len(self._rows))
        other._rows = self._rows.branch(rows)
        other._source = self._source.branch(rows)
        other._computed_version = self._computed_version.branch(rows)
        return other

    # ------------------------------------------------------------------------- inside

    def _new_rows(self, turn: Turn, total: int) -> tuple[NDArray[np.integer], bool]:
        """Return the rows of a turn that are not held, and whether all came unasked.

        Raises:
            ReplayError: If there are none, or not as many as the tokens have.
        """
        if turn.rows is None:
            raise ReplayError(
                "the reply has no routed_experts; start the server with "
                "--enable-return-routed-experts and ask with return_routed_experts"
            )
        first, rows, start = len(self._rows), turn.rows, turn.asked.start_len
        due, full = total - 1 - start, total - 1
        if len(rows) in {due + 1, full + 1} and _is_placeholder(rows[-1]):
            rows = rows[:-1]  # a place for the last token, which has nothing true in it
        if len(rows) == due:
            return rows[first - start :], False
        if len(rows) == full:
            return rows[first:], True
        raise ReplayError(
            f"{len(turn.rows)} rows came; {due} were due for {total} tokens from token {start} on"
        )

    def _versions(self, turn: Turn, first: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return versions of what is new: of tokens, as sampled, and of rows, as computed."""
        prompt, count = turn.asked.prompt_tokens, len(turn.output_ids)
        sampled = np.full(count, NO_VERSION, np.int32)
        for span in turn.versions:
            sampled[span.start : span.end] = self._number(span.version)
        if not turn.versions and turn.weight_version is not None:
            sampled[:] = self._number(turn.weight_version)
        begun = NO_VERSION  # what the prompt's last chunk was computed under
        if count:
            begun = int(sampled[0])
        elif turn.weight_version is not None:
            begun = self._number(turn.weight_version)
        place = np.arange(first, prompt + count - 1)
        computed = np.where(place >= turn.cached_tokens, begun, NO_VERSION).astype(np.int32)
        fed = place >= prompt  # a token is fed to the model in order to sample the next one
        if turn.retractions:
            computed[fed] = NO_VERSION
        elif fed.any():
            computed[fed] = sampled[-int(fed.sum()) :]
        given = np.full(prompt - turn.asked.held, NO_VERSION, np.int32)
        return np.concatenate([given, sampled]), computed

    def _sources(self, turn: Turn, rows: NDArray[np.integer], first: int) -> NDArray[np.uint8]:
        prompt = turn.asked.prompt_tokens
        place = np.arange(first, first + len(rows))
        decoded = RowSource.RECOMPUTED if turn.retractions else RowSource.DECODE
        source = np.where(place < prompt, RowSource.PREFILL, decoded).astype(np.uint8)
        source[place < min(turn.cached_tokens, prompt)] = RowSource.CACHE
        source[(rows == MISSING).all(axis=(1, 2))] = RowSource.MISSING
        return source

    def _number(self, version: str) -> int:
        if version not in self.versions:
            self.versions.append(version)
        return self.versions.index(version)

    def _padded(self, array: GrowingArray[T], value: int) -> NDArray[T]:
        known = array.read()
        missing = np.full(len(self) - len(known), value, known.dtype)
        return np.concatenate([known, missing])


def _check_spans(turn: Turn) -> None:
    end = 0
    for span in turn.versions:
        if span.start != end or span.end < span.start:
            raise ReplayError(f"weight_versions has a span {span.start} to {span.end} after {end}")
        end = span.end
    if turn.versions and end != len(turn.output_ids):
        raise ReplayError(f"weight_versions ends at token {end} of {len(turn.output_ids)}")


def _is_placeholder(row: NDArray[np.integer]) -> bool:
    return not np.any(row) or bool(np.all(row == MISSING))


__all__ = ["NO_VERSION", "Appended", "TrajectoryLedger"]
