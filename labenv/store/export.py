"""Files for other programs: CSV, Parquet and JSON lines, written whole or not at all."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any, Literal, get_args

from sqlalchemy import select

from labenv.store.flatten import Cell, Flat, flatten, is_late, ordered_columns
from labenv.store.models import Campaign
from labenv.store.queries import iterate_experiments
from labenv.store.resolve import find_campaign
from labenv.store.types import to_json
from labenv.store.whole_files import whole_file
from labenv_schemas.base import parse
from labenv_schemas.campaign import CampaignConfig
from labenv_schemas.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy import Connection

    from labenv.store.database import Database
    from labenv.store.records import ExperimentRecord

    Rows = Callable[[], Iterator[Flat]]

ExportFormat = Literal["csv", "parquet", "jsonl"]
_ROW_GROUP = 5000
_SQLITE_HEADER = b"SQLite format 3\0"


def export_campaign(
    database: Database,
    campaign: str,
    path: Path,
    format: str,
    lab_time_limit_s: float | None = None,
) -> Path:
    """Write a campaign to a file, whole or not at all.

    Args:
        database: Where.
        campaign: As for `find_campaign`.
        path: File to write; replaced if it exists.
        format: One of `ExportFormat`.
        lab_time_limit_s: Lab time after which an outcome is late, s; that of the campaign's own
            budget if None.

    Returns:
        The path.

    Raises:
        ConfigError: If the format is unknown.
        StoreError: If the campaign cannot be read or the file not written, or it is a database.
    """
    if format not in get_args(ExportFormat):
        known = ", ".join(get_args(ExportFormat))
        raise ConfigError(f"there is no export format {format!r}; use one of: {known}")
    _check_place(path)
    if format == "parquet":
        _parquet()  # say so before anything is read

    def work(connection: Connection) -> None:
        number = find_campaign(connection, campaign)
        limit_s = lab_time_limit_s
        if limit_s is None:
            limit_s = _lab_time_limit_s(connection, number)

        def rows() -> Iterator[Flat]:
            for record in iterate_experiments(connection, number, "submission", False):
                yield flatten(record, limit_s)

        with whole_file(path) as temporary:
            if format == "csv":
                _write_csv(temporary, rows)
            elif format == "parquet":
                _write_parquet(temporary, rows)
            else:
                records = iterate_experiments(connection, number, "submission", True)
                _write_jsonl(temporary, records, limit_s)

    try:
        database.read(f"exporting {campaign}", work)
    except OSError as error:
        raise StoreError(
            f"cannot write {path}: {error.strerror or error}; check the folder, your permissions "
            "and the free space"
        ) from error
    return path


def _lab_time_limit_s(connection: Connection, number: int) -> float | None:
    body = connection.execute(select(Campaign.config).where(Campaign.id == number)).scalar_one()
    budget = parse(CampaignConfig, body, StoreError).budget
    return None if budget is None else budget.lab_time_s


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise StoreError(f"cannot write {path}: it is a folder; name a file in it")
    if is_database(path):
        raise StoreError(f"cannot write {path}: it is an SQLite database; name another file")


def is_database(path: Path) -> bool:
    """Return whether there is an SQLite database at a path.

    Args:
        path: Anything; links are followed.

    Returns:
        Whether it is a file that begins as `<https://www.sqlite.org/fileformat.html>`_ says; a
        file that may not be read is taken for none.
    """
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(_SQLITE_HEADER)) == _SQLITE_HEADER
    except OSError:
        return False


def _write_csv(path: Path, rows: Rows) -> None:
    columns = ordered_columns(_column_kinds(rows))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in rows():
            writer.writerow([_csv_cell(row.get(name)) for name in columns])


def _csv_cell(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return cell if isinstance(cell, str) else repr(cell)


def _write_parquet(path: Path, rows: Rows) -> None:
    arrow, parquet = _parquet()
    kinds = _column_kinds(rows)
    types = {str: arrow.string(), bool: arrow.bool_(), int: arrow.int64(), float: arrow.float64()}
    columns = ordered_columns(kinds)
    schema = arrow.schema([(name, types[kinds.get(name, str)]) for name in columns])
    with parquet.ParquetWriter(str(path), schema) as writer:
        group: list[dict[str, Cell]] = []
        for row in rows():
            group.append({name: _as_kind(row.get(name), kinds.get(name, str)) for name in columns})
            if len(group) == _ROW_GROUP:
                writer.write_table(arrow.Table.from_pylist(group, schema=schema))
                group = []
        writer.write_table(arrow.Table.from_pylist(group, schema=schema))


def _write_jsonl(path: Path, records: Iterator[ExperimentRecord], limit_s: float | None) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(to_json(_wire(record, limit_s)) + "\n" for record in records)


def _wire(record: ExperimentRecord, limit_s: float | None) -> dict[str, Any]:
    """Return everything about an experiment in the vocabulary's wire form."""
    outcome, score = record.outcome, record.score
    return {
        "campaign_id": record.campaign_id,
        "episode_id": record.episode_id,
        "index": record.index,
        "experiment_id": record.experiment_id,
        "status": record.status,
        "late": is_late(record, limit_s),
        "completion": record.completion,
        "submitted_at": None if record.submitted_at is None else record.submitted_at.isoformat(),
        "recorded_at": None if record.recorded_at is None else record.recorded_at.isoformat(),
        "proposal": record.proposal.model_dump(mode="json"),
        "outcome": None if outcome is None else outcome.model_dump(mode="json"),
        "score": None if score is None else score.model_dump(mode="json"),
        "extra": dict(record.extra),
    }


# The four kinds of column; a column that mixes numbers becomes float, any other mixture text.
Kind = type[str] | type[bool] | type[int] | type[float]


def _column_kinds(rows: Rows) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    for row in rows():
        for name, cell in row.items():
            if cell is None:
                continue
            kind = _kind_of(cell)
            known = kinds.setdefault(name, kind)
            if known is not kind:
                kinds[name] = float if {known, kind} == {int, float} else str
    return kinds


def _kind_of(cell: Cell) -> Kind:
    for kind in (bool, int, float):
        if isinstance(cell, kind):
            # Whole numbers that 64 bits cannot hold go as text rather than lose digits.
            return str if kind is int and not -(2**63) <= cell < 2**63 else kind
    return str


def _as_kind(cell: Cell, kind: Kind) -> Cell:
    return None if cell is None else kind(cell)


def _parquet() -> tuple[Any, Any]:
    # pyarrow is large and an extra, so it is imported when it is needed.
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise StoreError(
            "writing Parquet needs pyarrow: pip install 'labenv[parquet]', or export csv or jsonl"
        ) from None
    return pyarrow, pyarrow.parquet
