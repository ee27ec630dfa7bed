"""Finding plug-ins by name: one file a plug-in, the file's name is its id.

A catalogue lists ids without importing anything (`pkgutil` reads the folder, entry points their
names), and imports a plug-in when it is asked for by name. Third parties add to it through an
entry-point group; a name of ours cannot be taken over.
"""

from __future__ import annotations

import importlib
import pkgutil
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, cast

from labenv.tasks.options import check_option_names, option_names
from labenv_schemas.errors import ConfigError, LabEnvError, UnknownPluginError

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
    """

    def __init__(self, kind: str, package: str, group: str) -> None:
        self.kind = kind
        self.package = package
        self.group = group

    def names(self) -> tuple[str, ...]:
        """Return the ids of all plug-ins, sorted, importing none of them."""
        return tuple(sorted({*self._ours(), *self._theirs()}))

    def factory(self, name: str) -> Callable[..., Any]:
        """Return the function or class that makes a plug-in.

        Args:
            name: Its id; underscores count as dashes.

        Returns:
            ``create`` of the plug-in, or what its entry point names.

        Raises:
            UnknownPluginError: If no plug-in answers to the name; the message lists those that do.
            ConfigError: If the plug-in cannot be imported, or names nothing that can be called.
        """
        wanted = _id(str(name))
        ours, theirs = self._ours(), self._theirs()
        if wanted in ours:
            source = f"{self.package}.{ours[wanted]}:create"
            module = importlib.import_module(f"{self.package}.{ours[wanted]}")
            found = getattr(module, "create", None)
        elif wanted in theirs:
            source = theirs[wanted].value
            found = self._load(theirs[wanted])
        else:
            known = ", ".join(self.names())
            raise UnknownPluginError(f"no {self.kind} is called {name!r}; there are: {known}")
        if not callable(found):
            raise ConfigError(
                f"{self.kind} plug-in {name!r} must name a function or class that makes the "
                f"{self.kind}, such as 'my_package.my_module:create'; {source!r} is none"
            )
        return cast("Callable[..., Any]", found)

    def make(self, name: str, options: dict[str, Any], kind: type) -> Any:  # noqa: ANN401
        """Return a new plug-in.

        Args:
            name: Its id.
            options: Given to its factory by name.
            kind: What it must be.

        Returns:
            An instance of `kind`.

        Raises:
            ConfigError: If the plug-in does not take these options.
            TypeError: If it makes something else than `kind`.
        """
        factory, what = self.factory(name), f"{self.kind} {name!r}"
        names = option_names(factory)
        if names is not None:
            check_option_names(what, options, names)
        try:
            made = factory(**options)
        except LabEnvError:
            raise
        except (TypeError, ValueError) as error:
            given = ", ".join(f"{key}={value!r}" for key, value in options.items())
            raise ConfigError(f"{what} cannot be made with ({given}): {error}") from error
        if not isinstance(made, kind):
            article = "an" if kind.__name__[0] in "AEIOU" else "a"
            raise TypeError(
                f"{self.kind} plug-in {name!r} made a {type(made).__name__}, not {article} "
                f"{kind.__name__}"
            )
        return made

    def _load(self, point: EntryPoint) -> object:
        try:
            return point.load()
        except Exception as error:  # noqa: BLE001 - whatever another distribution's import raises
            raise ConfigError(
                f"{self.kind} plug-in {point.name!r} cannot be loaded from {point.value!r}: "
                f"{type(error).__name__}: {error}"
            ) from error

    def _ours(self) -> dict[str, str]:
        """Return the module of each plug-in in our folder, by id."""
        folder = importlib.import_module(self.package).__path__
        modules = [item.name for item in pkgutil.iter_modules(folder)]
        return {_id(module): module for module in modules if not module.startswith("_")}

    def _theirs(self) -> dict[str, EntryPoint]:
        """Return the entry points of other distributions, by id; of two alike, the first."""
        points = sorted(entry_points(group=self.group), key=lambda point: str(point.name))
        return {_id(point.name): point for point in reversed(points)}


def _id(name: str) -> str:
    return name.replace("_", "-")
