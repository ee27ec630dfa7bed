"""Which beginnings of texts have their keys, values and routing in slots already.

A tree over tokens: an edge holds a run of tokens and their slots. A sequence that begins locks the
nodes of its prefix, so that only what nobody uses is given up, the longest unused first. Trees are
kept apart by `salt`, such as the version of the weights, where sequences must not share.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Tokens = NDArray[np.int64]
    Slots = NDArray[np.int64]


class Node:
    """A run of tokens after those of its parents.

    Attributes:
        tokens: The run.
        slots: Of the run.
        locks: How many sequences use it.
        used: When it was used last, as a number that grows.
    """

    __slots__ = ("children", "locks", "parent", "slots", "tokens", "used")

    def __init__(self, parent: Node | None, tokens: Tokens, slots: Slots) -> None:
        self.parent, self.tokens, self.slots = parent, tokens, slots
        self.children: dict[int, Node] = {}
        self.locks = self.used = 0


_EMPTY = np.empty(0, np.int64)


class RadixCache:
    """The tree.

    Attributes:
        size: How many slots it holds.
        locked: How many of them are in use.
    """

    def __init__(self) -> None:
        self._roots: dict[str | None, Node] = {}
        self._clock = 0
        self.size = self.locked = 0

    def match(self, tokens: Tokens, salt: str | None = None) -> tuple[Slots, Node]:
        """Return what is held of a text's beginning.

        Args:
            tokens: The text.
            salt: Of its tree.

        Returns:
            Slots of the longest beginning held, and the node where it ends.
        """
        node, found, at = self._root(salt), [_EMPTY], 0
        while at < len(tokens) and (child := node.children.get(int(tokens[at]))) is not None:
            same = _common(child.tokens, tokens[at:])
            if same < len(child.tokens):
                child = self._split(child, same)
            found.append(child.slots)
            node, at = child, at + same
            self._touch(node)
        return np.concatenate(found), node

    def insert(self, tokens: Tokens, slots: Slots, salt: str | None = None) -> Slots:
        """Hold a text; where it is held already, the slots held stay.

        Args:
            tokens: The text.
            slots: Of its tokens.
            salt: Of its tree.

        Returns:
            Those of `slots` that are not needed, because other slots hold the same; the caller
            gives them back.
        """
        held, node = self.match(tokens, salt)
        count = len(held)
        if count < len(tokens):
            leaf = Node(node, tokens[count:].copy(), slots[count:].copy())
            node.children[int(tokens[count])] = leaf
            self.size += len(leaf.slots)
            self._touch(leaf)
        doubled: Slots = slots[:count][slots[:count] != held]
        return doubled

    def lock(self, node: Node) -> None:
        """Keep a node and all before it.

        Args:
            node: Where a sequence's prefix ends.
        """
        for one in _upwards(node):
            if one.locks == 0:
                self.locked += len(one.slots)
            one.locks += 1

    def unlock(self, node: Node) -> None:
        """Let go what `lock` kept.

        Args:
            node: The same.
        """
        for one in _upwards(node):
            one.locks -= 1
            if one.locks == 0:
                self.locked -= len(one.slots)

    def give_up(self, count: int) -> Slots:
        """Forget what was unused for longest, ends of texts first.

        Args:
            count: How many slots are wanted.

        Returns:
            Slots that are free now: at least as many, if so many are unused.
        """
        heap = [
            (node.used, id(node), node)
            for root in self._roots.values()
            for node in _below(root)
            if not node.children and node.locks == 0
        ]
        heapq.heapify(heap)
        found: list[Slots] = []
        freed = 0
        while heap and freed < count:
            _, _, node = heapq.heappop(heap)
            parent = node.parent
            if parent is None:
                continue
            del parent.children[int(node.tokens[0])]
            found.append(node.slots)
            freed += len(node.slots)
            if not parent.children and parent.locks == 0 and parent.parent is not None:
                heapq.heappush(heap, (parent.used, id(parent), parent))
        self.size -= freed
        return np.concatenate([_EMPTY, *found])

    def clear(self) -> Slots:
        """Forget all that is unused.

        Returns:
            The slots that are free now.
        """
        return self.give_up(self.size - self.locked)

    def _root(self, salt: str | None) -> Node:
        return self._roots.setdefault(salt, Node(None, _EMPTY, _EMPTY))

    def _split(self, node: Node, at: int) -> Node:
        # The first tokens become a node of their own, which the rest comes after.
        parent = node.parent or node  # a root has no tokens and is never split
        upper = Node(parent, node.tokens[:at], node.slots[:at])
        upper.locks, upper.used = node.locks, node.used
        upper.children[int(node.tokens[at])] = node
        parent.children[int(node.tokens[0])] = upper
        node.parent, node.tokens, node.slots = upper, node.tokens[at:], node.slots[at:]
        return upper

    def _touch(self, node: Node) -> None:
        self._clock += 1
        for one in _upwards(node):
            one.used = self._clock


def _common(one: Tokens, other: Tokens) -> int:
    count = min(len(one), len(other))
    differ = np.flatnonzero(one[:count] != other[:count])
    return int(differ[0]) if len(differ) else count


def _upwards(node: Node) -> list[Node]:
    found: list[Node] = []
    at: Node | None = node
    while at is not None:
        found.append(at)
        at = at.parent
    return found


def _below(root: Node) -> list[Node]:
    found, left = [], list(root.children.values())
    while left:
        node = left.pop()
        found.append(node)
        left += node.children.values()
    return found


__all__ = ["Node", "RadixCache"]
