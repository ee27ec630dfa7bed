"""Follows a location that pydantic reports through the models, to the name its writer gave it.

Pydantic's location names union members too: ``operations, 2, heat, segments, 0, target`` is what
the writer knows as ``operations[2].segments[0].target``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, Tag

from labenv_schemas.units import Quantity

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

TAG_FIELDS = frozenset({"op", "kind"})  # what the members of the vocabulary's unions are told by


class Spot(NamedTuple):
    """A type within a model, where a location leads.

    Attributes:
        annotation: The type, or None where the models have no such place.
        metadata: What annotates it.
        siblings: The other members of the union it was chosen from.
        purpose: What the field that stands here is for.
    """

    annotation: Any
    metadata: tuple[Any, ...] = ()
    siblings: tuple[Any, ...] = ()
    purpose: str = ""

    @property
    def model(self) -> type[BaseModel] | None:
        """The model that stands here, or may be left out here; else None."""
        if _is_union(self.annotation):
            members = [item for item in get_args(self.annotation) if item is not NoneType]
            return as_model(members[0]) if len(members) == 1 else None
        return as_model(self.annotation)

    @property
    def quantity(self) -> Quantity | None:
        """The quantity that stands here, or None."""
        for item in self.metadata:
            if isinstance(item, Quantity):
                return item
        for member in get_args(self.annotation) if _is_union(self.annotation) else ():
            found = _spot(member).quantity
            if found is not None:
                return found
        return None

    @property
    def literals(self) -> list[str]:
        """The words that may stand here."""
        if get_origin(self.annotation) is Literal:
            return [str(value) for value in get_args(self.annotation)]
        return [word for member in get_args(self.annotation) for word in _spot(member).literals]

    @property
    def tags(self) -> list[str]:
        """What the members of the union that stands here are told apart by."""
        members = get_args(self.annotation) if _is_union(self.annotation) else ()
        return [tag for member in members for tag in _literal_tags(as_model(member))]


class Place(NamedTuple):
    """Where a location leads.

    Attributes:
        path: Keys and indices in the data.
        spot: The place in the models.
        written: What the data has there; None if it cannot be found.
    """

    path: tuple[int | str, ...]
    spot: Spot
    written: object

    def __str__(self) -> str:
        """Return the path as its writer would say it, such as ``operations[2].target``."""
        text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)
        return text.removeprefix(".")


def follow(root: type[BaseModel] | None, location: tuple[int | str, ...], data: object) -> Place:
    """Return where a location leads.

    Args:
        root: The model that was validated.
        location: As pydantic reports it.
        data: What was validated; a place is called by the name used there, wire or Python.

    Returns:
        The place.
    """
    path, spot = [], _spot(root)
    for part in location:
        inside, is_label = _step(spot, part)
        if not is_label:
            written = _written(spot, part, data)
            path.append(written)
            data = _item(data, written)
        spot = inside
    return Place(tuple(path), spot, data)


def wire_name(name: str, field: FieldInfo) -> str:
    """Return what a field is called on the wire.

    Args:
        name: Its name in Python.
        field: What pydantic knows of it.

    Returns:
        The alias, or the Python name if there is none.
    """
    return field.validation_alias if isinstance(field.validation_alias, str) else name


def as_model(annotation: object) -> type[BaseModel] | None:
    """Return the model class that a type is, or None.

    Args:
        annotation: A type, annotated or not.

    Returns:
        The class.
    """
    bare = _spot(annotation).annotation
    return bare if isinstance(bare, type) and issubclass(bare, BaseModel) else None


def _spot(annotation: Any) -> Spot:  # noqa: ANN401 - typing's special forms
    if get_origin(annotation) is Annotated:
        bare, *metadata = get_args(annotation)
        return Spot(bare, tuple(metadata))
    return Spot(annotation)


def _is_union(annotation: object) -> bool:
    return get_origin(annotation) in {Union, UnionType}


def _step(spot: Spot, part: int | str) -> tuple[Spot, bool]:
    # Second item: whether the part only labels a member of a union.
    if spot.model is not None:
        for name, field in spot.model.model_fields.items():
            if part in {name, wire_name(name, field)}:
                inner = _spot(field.annotation)
                found = inner._replace(
                    metadata=(*inner.metadata, *field.metadata), purpose=field.description or ""
                )
                return found, False
        return Spot(None), False
    if _is_union(spot.annotation):
        members = [member for member in get_args(spot.annotation) if member is not NoneType]
        for member in members:
            if part in _labels(member):
                siblings = tuple(other for other in members if other is not member)
                return _spot(member)._replace(siblings=siblings), True
        if len(members) == 1:
            return _step(_spot(members[0]), part)
        return Spot(None), isinstance(part, str)
    arguments, origin = get_args(spot.annotation), get_origin(spot.annotation)
    if arguments and origin in {tuple, list}:
        return _spot(arguments[0]), False
    if arguments and origin is dict:
        return _spot(arguments[1]), False
    return Spot(None), False


def _labels(member: object) -> set[str]:
    labels = {item.tag for item in _spot(member).metadata if isinstance(item, Tag)}
    model = as_model(member)
    if model is not None:
        labels.add(model.__name__)
    return labels.union(_literal_tags(model))


def _literal_tags(model: type[BaseModel] | None) -> list[str]:
    fields = model.model_fields.items() if model is not None else ()
    return [str(get_args(field.annotation)[0]) for name, field in fields if name in TAG_FIELDS]


def _written(owner: Spot, part: int | str, data: object) -> int | str:
    # The data may use a field's wire name or its Python name.
    if isinstance(data, Mapping) and part not in data and owner.model is not None:
        for name, field in owner.model.model_fields.items():
            if wire_name(name, field) == part and name in data:
                return name
    return part


def _item(data: object, part: int | str) -> object:
    if isinstance(data, Mapping):
        return data.get(part)
    if isinstance(data, Sequence) and isinstance(part, int) and part < len(data):
        return data[part]
    return None
