"""The base of every model: frozen, closed, finite, and strict about units.

On the wire a dimensional field carries its unit ("target": "1100 degC"); in Python the same field
is an SI float whose name says the unit (`target_k`). The wire name is the field's validation and
serialization alias (not its `alias`, which type checkers would take for the Python name). Both
names are accepted, but only the name that states the unit takes a bare number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)
from pydantic_core import from_json

from labenv_schemas.errors import LabEnvError, ProposalError
from labenv_schemas.faults import describe
from labenv_schemas.places import wire_name
from labenv_schemas.tool_schema import tidy
from labenv_schemas.units import InNamedUnit, Quantity, is_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import core_schema

__all__ = ["KeepsNone", "M", "Model", "describe", "parse"]


class Model(BaseModel):
    """Root of the vocabulary: immutable, no unknown fields, no NaN, units at the edge."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        populate_by_name=True,
        serialize_by_alias=True,
        # Reached only where validation was bypassed: a reader refuses "NaN", but would take null.
        ser_json_inf_nan="strings",
        ser_json_bytes="base64",
    )

    _unit_names: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def __pydantic_init_subclass__(cls, **_: object) -> None:
        for name, field in cls.model_fields.items():
            if field.alias is None and wire_name(name, field) != name:
                field.alias = wire_name(name, field)  # for those who read `model_fields`
        cls._unit_names = tuple(
            name
            for name, field in cls.model_fields.items()
            if wire_name(name, field) != name
            or any(isinstance(item, Quantity) for item in field.metadata)
        )

    @model_validator(mode="before")
    @classmethod
    def _numbers_under_unit_names(cls, data: Any) -> Any:  # noqa: ANN401 - any input may arrive
        # Marks bare numbers given under a name that states their unit as being in that unit.
        if not cls._unit_names or not isinstance(data, dict):
            return data
        marked = data
        for name in cls._unit_names:
            value = data.get(name)
            if type(value) is float or (value is not None and _is_bare_number(value)):
                marked = dict(data) if marked is data else marked
                marked[name] = InNamedUnit(value)
        return marked

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        reference = handler(schema)
        tidy(handler.resolve_ref_schema(reference))
        return reference

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with some fields changed, checked as at construction.

        Args:
            update: Python field names to new values.
            deep: Accepted for compatibility; what is frozen needs no deep copy.

        Returns:
            The new model.

        Raises:
            ValueError: If a new value does not fit, or the result contradicts itself.
        """
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return self.model_validate({**given, **(update or {})})

    def to_json(self) -> str:
        """Return the wire form, which `from_json` reads back to an equal model.

        Returns:
            JSON without the fields that are absent.
        """
        return self.model_dump_json(exclude_none=True)

    @classmethod
    def from_json(cls, text: str | bytes, error: type[LabEnvError] = ProposalError) -> Self:
        """Read a model from its wire form.

        Args:
            text: JSON as `to_json` writes it, or as a person or a language model does.
            error: The class to raise; `ProposalError` for policies, others for files.

        Returns:
            The model.

        Raises:
            LabEnvError: Of class `error`, if the text is not JSON or does not fit; each fault is
                named by its place.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as fault:
            raise error(describe(fault, cls, _plain(text))) from None


class KeepsNone(BaseModel):
    """Beside `Model`: a model in which None says something that leaving the field out does not.

    Its fields that may be None, and are something else by default, are written out as null.
    """

    _none_names: ClassVar[tuple[tuple[str, str], ...]] = ()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: object) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls._none_names = tuple(
            (name, wire_name(name, field))
            for name, field in cls.model_fields.items()
            if field.default is not None
        )

    @model_serializer(mode="wrap")
    def _with_nulls(
        self, handler: SerializerFunctionWrapHandler, info: SerializationInfo
    ) -> dict[str, Any]:
        data: dict[str, Any] = handler(self)
        for name, alias in self._none_names:
            if getattr(self, name) is None:
                data[alias if info.by_alias is not False else name] = None
        return data


def _plain(text: str | bytes) -> object:
    try:
        return from_json(text)
    except ValueError:
        return None


def _is_bare_number(value: object) -> bool:
    if not is_number(value) or isinstance(value, InNamedUnit) or hasattr(value, "unit"):
        return False
    try:
        float(value)  # type: ignore[arg-type]
    except (OverflowError, ValueError):  # the field's own validator says what is wrong
        return False
    return True


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
        raise error(describe(fault, kind, data)) from None
