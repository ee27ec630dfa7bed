"""Finding plug-ins by name: one file a plug-in, the file's name is its id.

A catalogue lists ids without importing anything (`pkgutil` reads the folder, entry points their
names), and imports a plug-in when it is asked for by name. Third parties add to it through an
entry-point group; a name of ours cannot be taken over.
"""

from __future__ import annotations

import importlib
import pkgutil
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, cast

from labenv.tasks.options import check_option_names, option_names
from labenv_schemas.errors import (
    BoundaryError,
    ConfigError,
    LabEnvError,
    UnknownPluginError,
    boundary,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint


class PluginCatalogue:
    """The plug-ins of one kind.

    Each file of `package` holds one plug-in with a function or class ``create``, which makes it. An
    entry point of `group` names such a function or class. A plug-in's id is the name of the file
    or of the entry point with dashes for underscores, and is found under either spelling.

    Args:
        kind: What a plug-in is, for messages: ``"task"``.
        package: Dotted name of the folder.
        group: Entry-point group for plug-ins from other distributions.
        fault: The error to raise when one of those fails.
    """

    def __init__(
        self, kind: str, package: str, group: str, fault: type[BoundaryError] = BoundaryError
    ) -> None:
        self.kind = kind
        self.package = package
        self.group = group
        self.fault = fault

    def names(self) -> tuple[str, ...]:
        """Return the ids of all plug-ins, sorted, importing none of them."""
        return tuple(sorted({*self._ours(), *self._theirs()}))

    def origin(self, name: str) -> str:
        """Return which distribution a plug-in comes from, in words; empty for one of ours.

        Args:
            name: Its id; underscores count as dashes.

        Returns:
            Such as ``" (entry point 'luck = clever.luck:create' of clever-lab 2.5)"``.
        """
        wanted = _id(str(name))
        point = None if wanted in self._ours() else self._theirs().get(wanted)
        if point is None:
            return ""
        whose = "" if point.dist is None else f" of {point.dist.name} {point.dist.version}"
        return f" (entry point '{point.name} = {point.value}'{whose})"

    def factory(self, name: str) -> Callable[..., Any]:
        """Return the function or class that makes a plug-in.

        Args:
            name: Its id; underscores count as dashes.

        Returns:
            ``create`` of the plug-in's file, or what its entry point names.

        Raises:
            UnknownPluginError: If no plug-in answers to the name; the message lists those that do.
            BoundaryError: If another distribution's plug-in cannot be loaded, or its entry point
                names nothing that can be called.
        """
        wanted = _id(str(name))
        ours, theirs = self._ours(), self._theirs()
        if wanted in ours:
            module = importlib.import_module(f"{self.package}.{ours[wanted]}")
            return cast("Callable[..., Any]", module.create)
        self.check(name)
        label = self.label(name)
        with boundary(self.fault, f"{label} cannot be loaded"):
            found = theirs[wanted].load()
        if not callable(found):
            raise self.fault(
                f"{label} must name a function or class that makes the {self.kind}, such as "
                "'my_package.my_module:create'"
            )
        return cast("Callable[..., Any]", found)

    def check(self, name: str) -> None:
        """Make sure that a name is known, importing nothing.

        Args:
            name: An id; underscores count as dashes.

        Raises:
            UnknownPluginError: If no plug-in answers to it; the message lists those that do.
        """
        if _id(str(name)) in self._ours() or _id(str(name)) in self._theirs():
            return
        known = self.names()
        near = get_close_matches(_id(str(name)), known, n=1)
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise UnknownPluginError(
            f"no {self.kind} is called {name!r}; {meant}there are: {', '.join(known)}"
        )

    def label(self, name: str) -> str:
        """Return kind, name and origin of a plug-in, for messages."""
        return f"{self.kind} {str(name)!r}{self.origin(name)}"

    def make(
        self,
        name: str,
        options: dict[str, Any],
        kind: type,
    ) -> Any:  # noqa: ANN401 - an instance of `kind`, which may be abstract
        """Return a new plug-in.

        Args:
            name: Its id.
            options: Given to its factory by name.
            kind: What it must be.

        Returns:
            An instance of `kind`.

        Raises:
            ConfigError: If the plug-in does not take these options; the message lists those it
                does.
            BoundaryError: If another distribution's plug-in fails, or makes something else than
                `kind`.
        """
        label = self.label(name)
        with boundary(self.fault, f"{label} cannot be made"):
            factory = self.factory(name)
            names = option_names(factory)
            if names is not None:
                check_option_names(label, options, names)
            made = _called(factory, options, label)
        if not isinstance(made, kind):
            raise self.fault(f"{label} is a {type(made).__name__}, not a {kind.__name__}")
        return made

    def _ours(self) -> dict[str, str]:
        """Return the module of each plug-in in our folder, by id."""
        folder = importlib.import_module(self.package).__path__
        modules = [item.name for item in pkgutil.iter_modules(folder)]
        return {_id(module): module for module in modules if not module.startswith("_")}

    def _theirs(self) -> dict[str, EntryPoint]:
        """Return the entry points of other distributions, by id; of two alike, the first."""
        points = sorted(entry_points(group=self.group), key=lambda point: str(point.name))
        return {_id(point.name): point for point in reversed(points)}


def _called(factory: Callable[..., Any], options: dict[str, Any], label: str) -> object:
    try:
        return factory(**options)
    except (TypeError, ValueError) as error:
        if not options or isinstance(error, LabEnvError):
            raise  # nothing that the user wrote is to blame, or it is told already
        given = ", ".join(f"{key}: {value!r}" for key, value in options.items())
        raise ConfigError(f"{label} does not take these options: {given} ({error})") from error


def _id(name: str) -> str:
    return name.replace("_", "-")
