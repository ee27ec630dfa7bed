"""YAML that knows where each value stands, so that a message can name the line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml
from yaml.reader import ReaderError

from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_NODES = 200_000
_SHOWN = 40
_KINDS = {
    "timestamp": "a date",
    "int": "a whole number",
    "float": "a number",
    "bool": "a yes or no",
}
_EXPONENT = re.compile(r"^[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)[eE][-+]?\d+$")


@dataclass(frozen=True)
class LocatedData:
    """Plain data of a YAML file with the line of every key and item.

    Attributes:
        data: Dicts, lists and scalars.
        lines: Path of keys and indices to its line, counted from 1.
    """

    data: Any
    lines: dict[tuple[str | int, ...], int]

    def line(self, path: Sequence[str | int]) -> int | None:
        """Return the line of a value, or of the nearest thing that holds it.

        Args:
            path: Keys and indices from the root.

        Returns:
            The line, counted from 1, or None for an empty file.
        """
        known = tuple(path)
        while known and known not in self.lines:
            known = known[:-1]
        return self.lines.get(known)


class _Loader(yaml.SafeLoader):
    """SafeLoader that reads ``1e-3`` as a number, as everyone but YAML 1.1 does."""


_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _EXPONENT, list("-+0123456789."))


def parse_yaml(text: str, source: str) -> LocatedData:
    """Read one YAML document.

    Args:
        text: The document.
        source: Name of the file, for messages.

    Returns:
        The data and its lines.

    Raises:
        ConfigError: If the text is not YAML, holds several documents, names a key twice, refers to
            itself, is nested too deeply or unfolds to more than 200,000 values; the message gives
            the line.
    """
    try:
        return _read_document(text, source)
    except RecursionError:
        raise ConfigError(
            f"{source}: blocks, lists or brackets are nested too deeply for any campaign"
        ) from None
    except ReaderError as fault:
        number = text.count("\n", 0, fault.position) + 1
        raise ConfigError(
            f"{source}:{number}: the file has the control character U+{fault.character:04X}; "
            "delete it"
        ) from None
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        line = f":{mark.line + 1}" if mark else ""
        problem = fault.problem or fault.context or "not YAML"
        raise ConfigError(
            f"{source}{line}: not YAML: {problem}{_tab_hint(text, problem)}"
        ) from None
    except yaml.YAMLError as fault:
        problem = " ".join(str(fault).split())
        raise ConfigError(f"{source}: not YAML: {problem}") from None


def _read_document(text: str, source: str) -> LocatedData:
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return LocatedData(None, {})
        reader = _Reader(loader, source)
        return LocatedData(reader.read(root, ()), reader.lines)
    finally:
        loader.dispose()


class _Reader:
    """Builds data from nodes, remembering lines and refusing what hides mistakes."""

    def __init__(self, loader: _Loader, source: str) -> None:
        self.lines: dict[tuple[str | int, ...], int] = {}
        self._loader = loader
        self._source = source
        self._open: set[int] = set()
        self._nodes = 0

    def read(self, node: yaml.Node, path: tuple[str | int, ...]) -> Any:  # noqa: ANN401 - any data
        self.lines.setdefault(path, node.start_mark.line + 1)
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            raise self._fault(node, "the file unfolds to too many values; write out its aliases")
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if id(node) in self._open:
            raise self._fault(node, "the value contains itself through an alias")
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            items: list[yaml.Node] = node.value
            return [self.read(item, (*path, index)) for index, item in enumerate(items)]
        finally:
            self._open.discard(id(node))

    def _scalar(self, node: yaml.ScalarNode) -> Any:  # noqa: ANN401 - any data
        try:
            return self._loader.construct_object(node)
        except (ValueError, KeyError):  # how PyYAML refuses dates, numbers and tags of its own
            shown = node.value if len(node.value) <= _SHOWN else f"{node.value[:_SHOWN]}..."
            kind = node.tag.rpartition(":")[2]
            raise self._fault(
                node,
                f"{shown!r} reads as {_KINDS.get(kind, kind)} but is none; quote it if it is text",
            ) from None

    def _mapping(self, node: yaml.MappingNode, path: tuple[str | int, ...]) -> dict[str, Any]:
        own: set[str] = set()
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise self._fault(key_node, "a key must be plain text")
            if key_node.value in own:
                raise self._fault(key_node, f"the key {key_node.value!r} stands twice in one block")
            own.add(key_node.value)
        self._loader.flatten_mapping(node)  # what `<<` brings in comes first, so own keys win
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            # Keys stay text: YAML 1.1 would read `on`, `no` and `1` as other things.
            key = str(key_node.value)
            self.lines[*path, key] = key_node.start_mark.line + 1
            data[key] = self.read(value_node, (*path, key))
        return data

    def _fault(self, node: yaml.Node, message: str) -> ConfigError:
        return ConfigError(f"{self._source}:{node.start_mark.line + 1}: {message}")


def _tab_hint(text: str, problem: str) -> str:
    if "\\t" in problem or re.search(r"^\s*\t", text, re.MULTILINE):
        return "; YAML is indented with spaces, not tabs"
    return ""
