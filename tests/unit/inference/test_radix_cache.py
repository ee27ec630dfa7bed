"""The tree of beginnings holds each slot once, finds the longest, and gives up what is unused."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from labenv.inference.engine.radix_cache import Node, RadixCache

TEXTS = st.lists(st.integers(0, 2), min_size=1, max_size=8)
SALTS = st.sampled_from([None, "v1"])
SLOTS = 60


def ids(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64)


class Texts(RuleBasedStateMachine):
    """Sequences begin with what is cached, go on, end, and are forgotten when room is needed."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = RadixCache()
        self.free = set(range(SLOTS))
        self.meaning: dict[int, tuple[str | None, tuple[int, ...]]] = {}
        self.running: list[tuple[list[int], str | None, list[int], Node, int]] = []

    def take(self, count: int) -> list[int] | None:
        if len(self.free) < count:
            self.release(self.cache.give_up(count - len(self.free)))
        if len(self.free) < count:
            return None
        return [self.free.pop() for _ in range(count)]

    def release(self, slots: np.ndarray) -> None:
        for slot in slots.tolist():
            assert slot not in self.free
            self.free.add(slot)

    @rule(text=TEXTS, salt=SALTS)
    def begin(self, text: list[int], salt: str | None) -> None:
        held, node = self.cache.match(ids(text), salt)
        for place, slot in enumerate(held.tolist()):
            assert self.meaning[slot] == (salt, tuple(text[: place + 1]))
        self.cache.lock(node)
        new = self.take(len(text) - len(held))
        if new is None:
            self.cache.unlock(node)
            return
        slots = [*held.tolist(), *new]
        for place in range(len(held), len(text)):
            self.meaning[slots[place]] = (salt, tuple(text[: place + 1]))
        self.running.append((text, salt, slots, node, len(held)))

    @rule(which=st.integers(0, 20))
    def end(self, which: int) -> None:
        if not self.running:
            return
        text, salt, slots, node, _ = self.running.pop(which % len(self.running))
        self.release(self.cache.insert(ids(text), ids(slots), salt))
        self.cache.unlock(node)
        assert self.cache.match(ids(text), salt)[0].tolist() != []

    @rule()
    def clear(self) -> None:
        self.release(self.cache.clear())
        if not self.running:
            assert self.cache.size == 0

    @invariant()
    def every_slot_is_in_one_place(self) -> None:
        own = [slot for _, _, slots, _, held in self.running for slot in slots[held:]]
        assert len(self.free) + self.cache.size + len(own) == SLOTS
        assert len(set(own)) == len(own)
        assert 0 <= self.cache.locked <= self.cache.size
        for _, _, slots, _, _ in self.running:
            assert not self.free & set(slots)


TestTexts = Texts.TestCase
TestTexts.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_the_longest_beginning_is_found_and_a_run_is_split_where_texts_part() -> None:
    cache = RadixCache()
    assert not len(cache.insert(ids([1, 2, 3, 4]), ids([10, 11, 12, 13])))
    assert cache.match(ids([1, 2, 9]))[0].tolist() == [10, 11]
    assert cache.insert(ids([1, 2, 9]), ids([20, 21, 22])).tolist() == [20, 21]
    assert cache.match(ids([1, 2, 9, 9]))[0].tolist() == [10, 11, 22]
    assert cache.match(ids([1, 2, 3, 4, 5]))[0].tolist() == [10, 11, 12, 13]
    assert cache.match(ids([1, 2]), "other")[0].tolist() == []
    assert cache.size == 5


def test_what_was_unused_for_longest_goes_first_and_what_is_locked_stays() -> None:
    cache = RadixCache()
    for first in (1, 2, 3):
        cache.insert(ids([first, 0]), ids([10 * first, 10 * first + 1]))
    _, node = cache.match(ids([2, 0]))
    cache.lock(node)
    cache.match(ids([1, 0]))
    assert cache.give_up(1).tolist() == [30, 31]
    assert cache.give_up(10).tolist() == [10, 11]
    assert cache.size == cache.locked == 2
    cache.unlock(node)
    assert cache.clear().tolist() == [20, 21]
