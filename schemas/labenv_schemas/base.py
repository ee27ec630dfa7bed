"""The base of every model: frozen, closed, finite, and strict about units.

On the wire a dimensional field carries its unit ("target": "1100 degC"); in Python the same field is
an SI float whose name says the unit (`target_k`). The wire name is the field's alias. Both names are
accepted, but only the name that states the unit takes a bare number.
"""

from __future__ import annotations

from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from labenv_schemas.errors import LabEnvError, ProposalError
from labenv_schemas.units import InNamedUnit


class Model(BaseModel):
    """Root of the vocabulary: immutable, no unknown fields, no NaN, units at the edge."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        populate_by_name=True,
        serialize_by_alias=True,
        ser_json_inf_nan="null",
        ser_json_bytes="base64",
    )

    @model_validator(mode="before")
    @classmethod
    def _numbers_under_unit_names(cls, data: Any) -> Any:  # noqa: ANN401 - any input may arrive
        """Mark bare numbers given under a name that states their unit as being in that unit."""
        if not isinstance(data, dict):
            return data
        marked: dict[str, Any] | None = None
        for name, field in cls.model_fields.items():
            if field.alias is None or field.alias == name:
                continue
            value = data.get(name)
            if isinstance(value, (int, float)) and not isinstance(value, (bool, InNamedUnit)):
                marked = dict(data) if marked is None else marked
                marked[name] = InNamedUnit(value)
        return data if marked is None else marked

    def to_json(self) -> str:
        """Return the wire form, which `from_json` reads back to an equal model."""
        return self.model_dump_json(exclude_none=True)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a model from its wire form.

        Args:
            text: JSON as `to_json` writes it, or as a person or a language model does.

        Returns:
            The model.

        Raises:
            ProposalError: If the text is not JSON or does not fit; each fault is named by its place.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise ProposalError(describe(error)) from None


def describe(error: ValidationError) -> str:
    """Return a validation error as one line a fault: place, what was wrong, what was given.

    Args:
        error: What pydantic raised.

    Returns:
        Lines such as ``operations[1].segments[0].target: 1100 has no unit; ...``.
    """
    lines: list[str] = []
    for fault in error.errors(include_url=False):
        place = _place(fault["loc"])
        message = fault["msg"].removeprefix("Value error, ")
        given = fault.get("input")
        shown = ""
        if fault["type"] not in {"value_error", "missing"} and isinstance(given, (str, int, float)):
            shown = f" (given: {given!r})"
        lines.append(f"{place}: {message}{shown}" if place else f"{message}{shown}")
    return "\n".join(lines)


M = TypeVar("M", bound=Model)


def parse(kind: type[M], data: object, error: type[LabEnvError] = ProposalError) -> M:
    """Validate plain data as a model, with an error that names each fault by its place.

    Args:
        kind: The model's class.
        data: Dicts and lists as JSON or YAML give them, or the model itself.
        error: The class to raise; `ProposalError` for policies, `ConfigError` for users' files.

    Returns:
        The model.

    Raises:
        LabEnvError: Of class `error`, if the data does not fit.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as fault:
        raise error(describe(fault)) from None


def _place(location: tuple[int | str, ...]) -> str:
    place = ""
    for part in location:
        if isinstance(part, int):
            place += f"[{part}]"
        else:
            place += f".{part}" if place else part
    return place
