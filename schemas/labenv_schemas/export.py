"""JSON Schemas of the vocabulary, fit to be used as tool schemas."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from labenv_schemas.analysis import Analysis
from labenv_schemas.campaign import CampaignConfig
from labenv_schemas.measurement import Measurement
from labenv_schemas.outcome import Outcome
from labenv_schemas.proposal import Operation, Proposal
from labenv_schemas.sample import Sample
from labenv_schemas.task import Budget, TaskSpec

if TYPE_CHECKING:
    from pathlib import Path

_EXPORTED: dict[str, Any] = {
    "analysis": Analysis,
    "budget": Budget,
    "campaign": CampaignConfig,
    "measurement": Measurement,
    "operation": Operation,
    "outcome": Outcome,
    "proposal": Proposal,
    "sample": Sample,
    "task": TaskSpec,
}

_UNIONS = {
    "analysis": "What was concluded from a measurement; `kind` says which.",
    "measurement": "What an instrument returned; `kind` says which.",
    "operation": "One step of a plan; `op` says which.",
}


def json_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schema (2020-12) of every public model, fit to be a tool's schema.

    Returns:
        Name to schema; the wire names (aliases) are the properties, and quantities are text with
        a unit.
    """
    schemas: dict[str, dict[str, Any]] = {}
    for name, kind in _EXPORTED.items():
        schema = TypeAdapter(kind).json_schema(by_alias=True, mode="validation")
        schemas[name] = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": name,
            **({"description": _UNIONS[name]} if name in _UNIONS else {}),
            **schema,
        }
    return schemas


def write_json_schemas(folder: Path) -> list[Path]:
    """Write one `NAME.schema.json` per public model.

    Args:
        folder: Where to write; made if absent.

    Returns:
        The files written, sorted by name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for name, schema in sorted(json_schemas().items()):
        path = folder / f"{name}.schema.json"
        path.write_text(json.dumps(schema, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        written.append(path)
    return written
