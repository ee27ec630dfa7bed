"""Finding device classes by name: one file a class in our folder, entry points of others.

Listing imports nothing. A name of ours cannot be taken over, and a failure of somebody else's
class names the distribution that it came from.
"""

from __future__ import annotations

import inspect
import pkgutil
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Generic, TypeVar

from labenv_schemas.errors import InstrumentError, UnknownPluginError, boundary

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.metadata import EntryPoint

D = TypeVar("D")


@dataclass(frozen=True)
class DeviceRegistry(Generic[D]):
    """The classes of one kind.

    Attributes:
        word: What one is called in messages.
        package: Dotted name of our folder.
        group: Entry-point group of other distributions' classes.
        base: What each must be a concrete subclass of.
        attribute: The class attribute that repeats its id.
    """

    word: str
    package: str
    group: str
    base: type[D]
    attribute: str

    def names(self, folder: Iterable[str]) -> tuple[str, ...]:
        """Return all ids, sorted.

        Args:
            folder: Where our files are.

        Returns:
            The ids, with underscores for dashes.
        """
        return tuple(sorted({*_files(folder), *self._theirs()}))

    def load(self, name: str, folder: Iterable[str]) -> type[D]:
        """Return the class of an id.

        Args:
            name: One of `names`.
            folder: Where our files are.

        Returns:
            The class.

        Raises:
            UnknownPluginError: If nothing has that id, or its file or entry point does not give
                one concrete class with it.
            InstrumentError: If another distribution's module cannot be imported.
        """
        if name in _files(folder):
            return self._from_file(name)
        point = self._theirs().get(name)
        if point is None:
            raise UnknownPluginError(
                f"no {self.word} {name!r}; there are {', '.join(self.names(folder))}"
            )
        return self._from_entry_point(name, point)

    def _from_file(self, name: str) -> type[D]:
        module = import_module(f"{self.package}.{name}")
        found = [
            member
            for member in vars(module).values()
            if inspect.isclass(member)
            and issubclass(member, self.base)
            and not inspect.isabstract(member)
            and member.__module__ == module.__name__
        ]
        if len(found) != 1 or self._id(found[0]) != name:
            said = [f"{c.__name__} ({self.attribute} {self._id(c)!r})" for c in found]
            raise UnknownPluginError(
                f"{self.word} file {name}.py must define exactly one concrete "
                f"{self.base.__name__} with {self.attribute} = {name!r}; it defines {said}"
            )
        return found[0]

    def _from_entry_point(self, name: str, point: EntryPoint) -> type[D]:
        whose = "" if point.dist is None else f" of {point.dist.name} {point.dist.version}"
        label = f"{self.word} {name!r} (entry point '{point.name} = {point.value}'{whose})"
        with boundary(InstrumentError, f"{label} cannot be loaded"):
            found: object = point.load()
        if (
            not inspect.isclass(found)
            or not issubclass(found, self.base)
            or inspect.isabstract(found)
            or self._id(found) != name
        ):
            raise UnknownPluginError(
                f"{label} must name a concrete {self.base.__name__} with {self.attribute} = "
                f"{name!r}"
            )
        return found

    def _theirs(self) -> dict[str, EntryPoint]:
        """Return the entry points of other distributions, by id; of two alike, the first."""
        points = sorted(entry_points(group=self.group), key=lambda point: str(point.value))
        return {point.name.replace("-", "_"): point for point in reversed(points)}

    def _id(self, found: type[D]) -> object:
        return getattr(found, self.attribute, None)


def _files(folder: Iterable[str]) -> tuple[str, ...]:
    return tuple(m.name for m in pkgutil.iter_modules(folder) if not m.name.startswith("_"))


__all__ = ["DeviceRegistry"]
