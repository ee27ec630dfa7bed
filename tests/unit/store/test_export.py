from __future__ import annotations

import csv
import json
import os
import sys

import pyarrow.parquet
import pytest

from labenv.store import Store
from labenv.store.flatten import ordered_columns
from labenv.testing.samples import OTHER_PROPOSAL, PROPOSAL, outcome
from labenv.testing.store import SCORE, begin
from labenv_schemas import Outcome, Score
from labenv_schemas.errors import ConfigError, StoreError


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "lab.db") as store:
        campaign_id, episode_id = begin(store)
        extra = {"note": 'a "quoted", line\nand α', "n": 3, "big": 2**70, "mixed": 1}
        store.record_experiment(
            campaign_id, episode_id, 0, PROPOSAL, outcome("e-0"), SCORE, extra=extra
        )
        failed = Outcome(experiment_id="e-1", status="failed_machine", message="tripped")
        unscored = Score(value=None, reward=0.0, reason="machine")
        store.record_experiment(
            campaign_id, episode_id, 1, OTHER_PROPOSAL, failed, unscored, extra={"mixed": 0.5}
        )
        store.record_submission(campaign_id, episode_id, 2, PROPOSAL, experiment_id="e-2")
        yield store


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_csv_says_what_was_asked_and_found(store, tmp_path):
    first, second, third = rows_of(store.export("latest", tmp_path / "out.csv", "csv"))
    assert first["operation_1.precursor_1.substance"] == "BaCO3"
    assert float(first["operation_1.precursor_1.mass_kg"]) == 0.001973
    assert float(first["operation_1.precursor_2.amount_mol"]) == 0.01
    assert float(first["operation_3.segment_1.hold_s"]) == 21600.0
    assert float(first["operation_3.atmosphere.o2_pa"]) == 20000.0
    assert first["operation_4.scan_time_s"] == "480.0"
    assert first["weight_fraction_uncertainty.ba2tio4"] == "0.02"
    assert (first["score"], first["success"]) == ("0.5", "false")
    assert first["extra.note"] == 'a "quoted", line\nand α'
    assert (second["status"], second["score"], second["reason"]) == (
        "failed_machine",
        "",
        "machine",
    )
    assert second["operation_2.pressure_pa"] == "100000000.0"
    assert (third["status"], third["recorded_at_utc"]) == ("pending", "")


def test_what_came_after_the_limit_of_lab_time_is_late(store, tmp_path):
    path = tmp_path / "out.csv"
    finished_s = store.experiments("latest")[0].outcome.finished_s
    assert finished_s > 0
    for limit_s, first in ((finished_s, "false"), (finished_s / 2, "true")):
        rows = rows_of(store.export("latest", path, "csv", lab_time_limit_s=limit_s))
        assert [row["late"] for row in rows] == [first, "false", ""]


def test_columns_read_in_order(store, tmp_path):
    path = store.export("latest", tmp_path / "out.csv", "csv")
    header = path.read_text(encoding="utf-8").splitlines()[0].split(",")
    assert len(set(header)) == len(header)
    assert header[:4] == ["campaign_id", "episode_id", "experiment_index", "experiment_id"]
    operations = [name.split(".")[0] for name in header if name.startswith("operation_")]
    assert operations == sorted(operations)
    assert header[-1].startswith("extra.")
    assert ordered_columns(["operation_10.op", "operation_2.op"])[-2:] == [
        "operation_2.op",
        "operation_10.op",
    ]


def test_parquet_has_the_same_rows_with_types(store, tmp_path):
    rows = rows_of(store.export("latest", tmp_path / "out.csv", "csv"))
    table = pyarrow.parquet.read_table(store.export("latest", tmp_path / "out.parquet", "parquet"))
    assert table.column_names == list(rows[0])
    content = table.to_pylist()
    assert content[0]["operation_3.segment_1.target_k"] == 1373.15
    assert content[0]["success"] is False
    assert content[1]["score"] is None
    assert [row["extra.mixed"] for row in content] == [1.0, 0.5, None]
    assert content[0]["extra.big"] == str(2**70)
    assert content[0]["experiment_index"] == 0


def test_an_empty_campaign_exports(tmp_path):
    with Store.open(tmp_path / "lab.db") as store:
        begin(store)
        assert rows_of(store.export("latest", tmp_path / "out.csv", "csv")) == []
        assert store.export("latest", tmp_path / "out.jsonl", "jsonl").read_bytes() == b""
        path = store.export("latest", tmp_path / "out.parquet", "parquet")
        assert pyarrow.parquet.read_table(path).num_rows == 0


def test_json_lines_are_json(store, tmp_path):
    path = store.export("latest", tmp_path / "out.jsonl", "jsonl")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line["status"] for line in lines] == ["ok", "failed_machine", "pending"]
    assert lines[0]["outcome"]["measurements"][0]["kind"] == "diffractogram"
    assert lines[2]["outcome"] is None


def test_an_unknown_format_is_refused(store, tmp_path):
    with pytest.raises(ConfigError, match="csv, parquet, jsonl"):
        store.export("latest", tmp_path / "out.xlsx", "xlsx")


def test_a_failed_export_leaves_the_old_file(store, tmp_path, monkeypatch):
    path = tmp_path / "out.csv"
    path.write_text("old", encoding="utf-8")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("labenv.store.export.flatten", fail)
    with pytest.raises(StoreError, match="No space left"):
        store.export("latest", path, "csv")
    with pytest.raises(StoreError, match="no campaign"):
        store.export("c77", path, "jsonl")
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.glob(".*")) == []


def test_a_place_that_cannot_be_written_is_explained(store, tmp_path):
    with pytest.raises(StoreError, match="folder"):
        store.export("latest", tmp_path, "csv")
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot write"):
        store.export("latest", tmp_path / "file" / "out.csv", "csv")


def test_parquet_without_pyarrow_is_explained(store, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(StoreError, match=r"labenv\[parquet\]"):
        store.export("latest", tmp_path / "out.parquet", "parquet")


def test_the_exported_file_has_ordinary_permissions(store, tmp_path):
    path = store.export("latest", tmp_path / "out.csv", "csv")
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_database_is_not_replaced(store, tmp_path):
    before = (tmp_path / "lab.db").read_bytes()
    with pytest.raises(StoreError, match="it is an SQLite database"):
        store.export("latest", tmp_path / "lab.db", "csv")
    assert (tmp_path / "lab.db").read_bytes() == before
