"""What every model of the protocol has in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class WireModel(BaseModel):
    """A body as SGLang has it: immutable, strict about types, silent about fields it does not know.

    SGLang's own request classes accept unknown fields, and its replies gain fields with every
    release, so neither may fail on one. Which unknown fields a request had, `ignored` tells.
    """

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, protected_namespaces=())

    @property
    def ignored(self) -> tuple[str, ...]:
        """Names of fields that mean nothing here, sorted."""
        return tuple(sorted(self.model_extra or ()))


__all__ = ["WireModel"]
