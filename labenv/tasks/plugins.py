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

from labenv_schemas.errors import UnknownPluginError

if TYPE_CHECKING:
    from collections.abc import Callable


class PluginCatalogue:
    """The plug-ins of one kind.

    Each file of `package` holds one plug-in with a function ``create(**options)``; its id is the
    file's name with dashes for underscores. An entry point of `group` names such a function.

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
        theirs = {point.name for point in entry_points(group=self.group)}
        return tuple(sorted(self._ours() | theirs))

    def factory(self, name: str) -> Callable[..., Any]:
        """Return the function that makes a plug-in.

        Args:
            name: Its id; underscores count as dashes.

        Returns:
            ``create(**options)`` of the plug-in.

        Raises:
            UnknownPluginError: If no plug-in answers to the name; the message lists those that do.
        """
        wanted = str(name).replace("_", "-")
        if wanted in self._ours():
            module = importlib.import_module(f"{self.package}.{wanted.replace('-', '_')}")
            return cast("Callable[..., Any]", module.create)
        for point in entry_points(group=self.group):
            if point.name == wanted:
                return cast("Callable[..., Any]", point.load())
        known = ", ".join(self.names())
        raise UnknownPluginError(f"no {self.kind} is called {name!r}; there are: {known}")

    def _ours(self) -> set[str]:
        folder = importlib.import_module(self.package).__path__
        found = pkgutil.iter_modules(folder)
        return {item.name.replace("_", "-") for item in found if not item.name.startswith("_")}
