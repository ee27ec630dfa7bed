"""The journal keeps what was appended, across kills in mid-write."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime

import pytest

from labenv.lab.journal import Journal, JournalEvent, JsonlJournal, MemoryJournal
from labenv_schemas.errors import StoreError


def event(number, **data):
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    return JournalEvent(number, "submitted", f"e-{number}", 0.1 * number, data, moment)


def test_an_event_survives_its_json():
    one = event(3, proposal={"größe": [1.0, 0.1 + 0.2]})
    assert JournalEvent.from_json(one.to_json()) == one


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), {1, 2}])
def test_what_json_cannot_say_is_refused(bad):
    with pytest.raises(StoreError, match="event 0"):
        event(0, value=bad).to_json()


@pytest.mark.parametrize("line", ["", "{}", "[1]", '{"sequence": 1, "kind": "danced"}'])
def test_a_line_that_is_no_event_is_refused(line):
    with pytest.raises(StoreError, match="not a journal event"):
        JournalEvent.from_json(line)


@pytest.mark.parametrize("fsync", [False, True])
def test_a_file_keeps_events_in_order(tmp_path, fsync):
    journal = JsonlJournal(tmp_path / "deep" / "journal.jsonl", fsync=fsync)
    assert isinstance(journal, Journal)
    assert list(journal.events()) == []
    for number in range(3):
        journal.append(event(number))
    assert [e.sequence for e in JsonlJournal(journal.path).events()] == [0, 1, 2]
    journal.close()
    journal.close()
    journal.append(event(3))
    assert len(list(journal.events())) == 4
    journal.close()


def test_a_torn_last_line_is_dropped_and_overwritten(tmp_path):
    path = tmp_path / "journal.jsonl"
    journal = JsonlJournal(path)
    for number in range(2):
        journal.append(event(number))
    journal.close()
    whole = path.read_bytes()
    for cut in range(len(event(0).to_json()) + 2, len(whole)):
        path.write_bytes(whole[:cut])
        journal = JsonlJournal(path)
        assert [e.sequence for e in journal.events()] == [0]
        journal.append(event(1))
        journal.close()
        assert [e.sequence for e in journal.events()] == [0, 1]


def test_a_broken_line_elsewhere_is_reported_with_its_number(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_text(event(0).to_json() + "\nrubbish\n" + event(1).to_json() + "\n")
    with pytest.raises(StoreError, match="line 2"):
        list(JsonlJournal(path).events())


def test_a_file_that_cannot_be_written_is_a_store_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        JsonlJournal(tmp_path / "file" / "journal.jsonl").append(event(0))


def test_journals_pickle(tmp_path):
    journal = JsonlJournal(tmp_path / "j")
    journal.append(event(0))
    copy = pickle.loads(pickle.dumps(journal))
    assert list(copy.events()) == [event(0)]
    journal.close()
    memory = MemoryJournal([event(0)])
    assert pickle.loads(pickle.dumps(memory)).events() == memory.events()
