"""What every store must do, whatever database is under it.

The file is long because a contract is one list that its reader goes through from top to bottom.

Subclass `StoreContract` and override `store_url` with a fixture that returns the URL of an empty
database, a new one for each test::

    class TestSqlite(StoreContract):
        @pytest.fixture
        def store_url(self, tmp_path):
            return str(tmp_path / "lab.db")
"""

# ruff: noqa: D102 - the names of the tests say what they demand

from __future__ import annotations

import csv
import json
import os
import pickle
import threading
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import numpy as np
import pytest

from labenv.lab.journal import Journal, JournalEvent
from labenv.store import Store
from labenv.testing.samples import OTHER_PROPOSAL, PROPOSAL, outcome
from labenv_schemas.campaign import CampaignConfig
from labenv_schemas.errors import ConfigError, StoreError
from labenv_schemas.outcome import Outcome, Score
from labenv_schemas.proposal import Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCORE = Score(value=0.5, reward=0.25, reason="", success=False)


def begin(store: Store, name: str = "contract") -> tuple[str, str]:
    """Return the ids of a new campaign and its first episode."""
    campaign_id = store.begin_campaign(
        CampaignConfig(name=name),
        seed=7,
        versions={"labenv": "0.1.0"},
        lab_hash="lab",
        task_hash="task",
    )
    return campaign_id, store.begin_episode(campaign_id, seed=7, policy="random")


class StoreContract:
    """Tests that every store passes; override `store_url`."""

    @pytest.fixture
    def store_url(self) -> str:
        """Return the URL of an empty database."""
        raise NotImplementedError("override the fixture store_url")

    @pytest.fixture
    def store(self, store_url: str) -> Iterator[Store]:
        """Yield a store in an empty database."""
        with Store.open(store_url) as store:
            yield store

    # ------------------------------------------------------------------ records come back

    def test_an_experiment_comes_back_equal(self, store: Store) -> None:
        campaign_id, episode_id = begin(store)
        given = outcome("e-0")
        store.record_experiment(
            campaign_id, episode_id, 0, PROPOSAL, given, SCORE, extra={"loss": 0.1}
        )
        record = store.experiment("e-0")
        assert record.outcome == given
        assert record.proposal == PROPOSAL
        assert record.score == SCORE
        assert record.extra == {"loss": 0.1}
        assert (record.status, record.index, record.completion) == ("ok", 0, 0)
        assert (record.campaign_id, record.episode_id) == (campaign_id, episode_id)

    def test_arrays_come_back_bit_for_bit(self, store: Store) -> None:
        campaign_id, episode_id = begin(store)
        given = outcome("e-0", seed=3)
        store.record_experiment(campaign_id, episode_id, 0, PROPOSAL, given, None)
        for before, after in zip(given.measurements, store.measurements("e-0"), strict=True):
            assert type(before) is type(after)
            for name in type(before).model_fields:
                value = getattr(before, name)
                if isinstance(value, np.ndarray):
                    restored = getattr(after, name)
                    assert restored.dtype == value.dtype
                    assert restored.tobytes() == value.tobytes()
                else:
                    assert getattr(after, name) == value

    def test_measurements_are_loaded_only_when_asked_for(self, store: Store) -> None:
        campaign_id, episode_id = begin(store)
        given = outcome("e-0")
        store.record_experiment(campaign_id, episode_id, 0, PROPOSAL, given, SCORE)
        light = store.experiments(campaign_id)[0]
        full = store.experiments(campaign_id, with_measurements=True)[0]
        assert light.outcome is not None
        assert light.outcome.measurements == ()
        assert light.measurement_count == len(given.measurements)
        assert full.outcome == given

    def test_a_campaign_carries_its_provenance(self, store: Store) -> None:
        campaign_id, episode_id = begin(store, "provenance")
        record = store.campaign(campaign_id)
        assert record.config == CampaignConfig(name="provenance")
        assert (record.seed, record.versions) == (7, {"labenv": "0.1.0"})
        assert (record.lab_hash, record.task_hash) == ("lab", "task")
        assert record.created_at.utcoffset() == timedelta(0)
        episodes = store.episodes(campaign_id)
        assert [(e.episode_id, e.seed, e.policy) for e in episodes] == [(episode_id, 7, "random")]

    def test_moments_are_utc(self, store: Store) -> None:
        campaign_id, episode_id = begin(store)
        tokyo = datetime(2026, 3, 1, 21, 0, 0, 123456, tzinfo=timezone(timedelta(hours=9)))
        given = Outcome(experiment_id="e-0", status="ok", recorded_at=tokyo)
        store.record_experiment(campaign_id, episode_id, 0, PROPOSAL, given, None)
        restored = store.experiment("e-0").outcome
        assert restored is not None
        assert restored.recorded_at is not None
        assert restored.recorded_at == datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
        assert restored.recorded_at.utcoffset() == timedelta(0)

    def test_awkward_text_comes_back(self, store: Store) -> None:
        text = "Ba₂TiO₄ — 1100 °C, 'quoted', \"double\"\n🧪 ; DROP TABLE campaign; --"
        campaign_id, episode_id = begin(store, text)
        proposal = PROPOSAL.model_copy(update={"rationale": text})
        given = Outcome(experiment_id="e-0", status="invalid", message=text)
        store.record_experiment(campaign_id, episode_id, 0, proposal, given, None)
        record = store.experiment("e-0")
        assert record.proposal == proposal
        assert record.outcome == given
        assert store.campaign(campaign_id).name == text

    def test_a_nul_in_a_message_does_not_end_the_campaign(self, store: Store) -> None:
        campaign_id, episode_id = begin(store)
        given = Outcome(experiment_id="e-0", status="invalid", message="no such thing")
        object.__setattr__(given, "message", "no such thing: \x00")  # past validation
        store.record_experiment(campaign_id, episode_id, 0, PROPOSAL, given, None)
        restored = store.experiment("e-0").outcome
        assert restored is not None
        assert restored.message == "no such thing: ␀"

    # ------------------------------------------------------------------ written once

    def test_recording_again_changes_nothing(self, store: Store) -> None:
        campaign_id, episode_id = begin(store)
        given = outcome("e-0")
        for _ in range(2):
            store.record_submission(campaign_id, episode_id, 0, PROPOSAL, experiment_id="e-0")
        for _ in range(2):
            store.record_experiment(campaign_id, episode_id, 0, PROPOSAL, given, SCORE)
        store.record_submission(campaign_id, episode_id, 0, PROPOSAL, experiment_id="e-0")
        assert len(store.experiments(campaign_id)) == 1
        assert store.experiment("e-0").outcome == given

    def test_recording_again_at_another_wall_clock_changes_nothing(self, store: Store) -> None:
        campaign_id, episode_id = begin(store)
        for hour in (1, 2):
            moment = datetime(2026, 1, 1, hour, tzinfo=UTC)
            given = outcome("e-0").model_copy(update={"recorded_at": moment})
            store.record_experiment(campaign_id, episode_id, 0, PROPOSAL, given, SCORE)
        restored = store.experiment("e-0").outcome
        assert restored is not None
        assert restored.recorded_at == datetime(2026, 1, 1, 1, tzinfo=UTC)

    @pytest.mark.parametrize("change", ["counts", "score", "extra", "proposal", "name", "cost"])
    def test_recording_something_else_under_the_index_is_refused(
        self, store: Store, change: str
    ) -> None:
        campaign_id, episode_id = begin(store)
        given = outcome("e-0")
        store.record_experiment(campaign_id, episode_id, 0, PROPOSAL, given, SCORE)
        other, proposal, score, extra = given, PROPOSAL, SCORE, None
        if change == "counts":
            other = outcome("e-0", seed=99)
        elif change == "score":
            score = Score(value=0.6, reward=0.25)
        elif change == "extra":
            extra = {"loss": 1.0}
        elif change == "proposal":
            proposal = OTHER_PROPOSAL
        elif change == "name":
            other = outcome("e-1")
        else:
            other = given.model_copy(update={"cost": given.cost + 1.0})
        with pytest.raises(StoreError, match="experiment 0 of"):
            store.record_experiment(campaign_id, episode_id, 0, proposal, other, score, extra=extra)
        assert store.experiment("e-0").outcome == given

    def test_a_name_belongs_to_one_experiment(self, store: Store) -> None:
        campaign_id, episode_id = begin(store)
        store.record_submission(campaign_id, episode_id, 0, PROPOSAL, experiment_id="e-0")
        with pytest.raises(StoreError, match="contradicts"):
            store.record_submission(campaign_id, episode_id, 1, PROPOSAL, experiment_id="e-0")

    def test_a_submission_is_pending_until_its_outcome_comes(self, store: Store) -> None:
        campaign_id, episode_id = begin(store)
        for index in range(3):
            store.record_submission(
                campaign_id, episode_id, index, PROPOSAL, experiment_id=f"e-{index}"
            )
        for index in (2, 0):
            given = outcome(f"e-{index}")
            store.record_experiment(campaign_id, episode_id, index, PROPOSAL, given, SCORE)
        by_index = store.experiments(campaign_id)
        assert [record.status for record in by_index] == ["ok", "pending", "ok"]
        assert by_index[1].outcome is None
        by_completion = store.experiments(campaign_id, order="completion")
        assert [record.index for record in by_completion] == [2, 0, 1]
        campaign = store.campaign(campaign_id)
        assert (campaign.experiments, campaign.pending) == (2, 1)

    def test_an_episode_belongs_to_its_campaign(self, store: Store) -> None:
        first, _ = begin(store)
        _, episode_of_second = begin(store)
        with pytest.raises(StoreError, match="no episode"):
            store.record_submission(first, episode_of_second, 0, PROPOSAL, experiment_id="e-0")

    # ------------------------------------------------------------------ nothing undefined

    @pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
    def test_numbers_that_are_not_finite_are_refused(self, store: Store, number: float) -> None:
        campaign_id, episode_id = begin(store)
        given = outcome("e-0")
        with pytest.raises(StoreError, match=r"extra\.deep\[1\]"):
            store.record_experiment(
                campaign_id, episode_id, 0, PROPOSAL, given, SCORE, extra={"deep": [0.0, number]}
            )
        smuggled = Score.model_construct(value=0.5, reward=number)  # past validation
        with pytest.raises(StoreError, match="not finite"):
            store.record_experiment(campaign_id, episode_id, 0, PROPOSAL, given, smuggled)
        event = JournalEvent(0, "outcome", "e-0", 0.0, {"x": number})
        with pytest.raises(StoreError, match="not finite"):
            store.journal(campaign_id).append(event)
        assert store.experiments(campaign_id) == []
        assert store.journal(campaign_id).events() == ()

    def test_an_undefined_value_has_a_reason(self, store: Store) -> None:
        campaign_id, episode_id = begin(store)
        given = Outcome(experiment_id="e-0", status="failed_machine", message="furnace tripped")
        silent = Score(value=None, reward=0.0)
        store.record_experiment(campaign_id, episode_id, 0, PROPOSAL, given, silent)
        score = store.experiment("e-0").score
        assert score is not None
        assert score.value is None
        assert "furnace tripped" in score.reason

    def test_a_failed_machine_has_no_value_and_failed_chemistry_may(self, store: Store) -> None:
        campaign_id, episode_id = begin(store)
        machine = Outcome(experiment_id="e-0", status="failed_machine", message="tripped")
        with pytest.raises(StoreError, match="says nothing about the proposal"):
            store.record_experiment(campaign_id, episode_id, 0, PROPOSAL, machine, SCORE)
        chemistry = Outcome(experiment_id="e-0", status="failed_chemistry", message="it melted")
        zero = Score(value=0.0, reward=0.0)
        store.record_experiment(campaign_id, episode_id, 0, PROPOSAL, chemistry, zero)
        assert store.experiment("e-0").score == zero

    def test_a_refused_experiment_leaves_nothing(self, store: Store) -> None:
        campaign_id, episode_id = begin(store)
        given = outcome("e-0")
        object.__setattr__(given.operations[-1], "cost", float("nan"))  # past validation
        with pytest.raises(StoreError):
            store.record_experiment(campaign_id, episode_id, 0, PROPOSAL, given, SCORE)
        assert store.experiments(campaign_id) == []

    # ------------------------------------------------------------------ finding

    def test_campaigns_are_found_by_number_beginning_name_and_age(self, store: Store) -> None:
        ids = [begin(store, f"campaign {n}")[0] for n in range(3)]
        assert ids == sorted(set(ids))
        assert [record.campaign_id for record in store.campaigns()] == ids
        assert store.campaign("c2").campaign_id == ids[1]
        assert store.campaign("3").campaign_id == ids[2]
        assert store.campaign("campaign 1").campaign_id == ids[1]
        assert store.campaign("latest").campaign_id == ids[2]

    def test_unknown_and_ambiguous_campaigns_are_listed(self, store: Store) -> None:
        with pytest.raises(StoreError, match="no campaigns"):
            store.campaign("c1")
        ids = [begin(store, name)[0] for name in ("one", "two", "two")]
        with pytest.raises(StoreError, match=r"'c9'.*one"):
            store.campaign("c9")
        with pytest.raises(StoreError, match=f"several campaigns: {ids[1]}, {ids[2]}"):
            store.campaign("two")
        with pytest.raises(StoreError, match="several"):
            store.campaign("c0")

    def test_experiments_are_found_by_name_beginning_and_index(self, store: Store) -> None:
        first, episode_of_first = begin(store)
        second, episode_of_second = begin(store)
        for campaign_id, episode_id in ((first, episode_of_first), (second, episode_of_second)):
            for index in range(2):
                store.record_submission(
                    campaign_id, episode_id, index, PROPOSAL, experiment_id=f"e-{index}0"
                )
        assert store.experiment("e-1", campaign_id=second).campaign_id == second
        assert store.experiment("c1/1").experiment_id == "e-10"
        with pytest.raises(StoreError, match=f"{first}/1, {second}/1"):
            store.experiment("e-10")
        with pytest.raises(StoreError, match="no experiment 'x'"):
            store.experiment("x")

    def test_the_best_experiment_is_known(self, store: Store) -> None:
        campaign_id, episode_id = begin(store)
        for index, value in enumerate((0.2, 0.9, None, 0.9)):
            score = Score(value=value, reward=0.0, reason="unidentified")
            given = Outcome(experiment_id=f"e-{index}", status="ok")
            store.record_experiment(campaign_id, episode_id, index, PROPOSAL, given, score)
        record = store.campaign(campaign_id)
        assert (record.best_value, record.best_experiment_id) == (0.9, "e-1")

    # ------------------------------------------------------------------ how a campaign ends

    def test_a_campaign_without_a_leader_is_interrupted(self, store: Store) -> None:
        campaign_id, _ = begin(store)
        lease = store.lease(campaign_id, "test")
        assert store.campaign(campaign_id).status == "running"
        assert store.campaign(campaign_id).lease == lease
        store.release(lease)
        assert store.campaign(campaign_id).status == "interrupted"

    def test_a_campaign_ends_and_is_reopened(self, store: Store) -> None:
        campaign_id, _ = begin(store)
        store.finish_campaign(campaign_id, "stopped", reason="Ctrl-C")
        record = store.campaign(campaign_id)
        assert (record.status, record.status_reason) == ("stopped", "Ctrl-C")
        assert record.finished_at is not None
        store.reopen_campaign(campaign_id)
        record = store.campaign(campaign_id)
        assert (record.status, record.finished_at) == ("interrupted", None)

    def test_an_unknown_status_is_refused(self, store: Store) -> None:
        campaign_id, _ = begin(store)
        with pytest.raises(ConfigError, match="finished, stopped, failed"):
            store.finish_campaign(campaign_id, "done")  # type: ignore[arg-type]
        with pytest.raises(StoreError, match="no campaign c00099"):
            store.finish_campaign("c00099", "finished")

    def test_a_lease_excludes_others_until_it_expires(self, store: Store) -> None:
        campaign_id, _ = begin(store)
        lease = store.lease(campaign_id, "first", ttl_s=60.0)
        with pytest.raises(StoreError, match="being run by 'first'") as refusal:
            store.lease(campaign_id, "second")
        assert refusal.value.retryable
        assert store.renew(lease).expires_at > lease.expires_at
        store.release(lease)
        short = store.lease(campaign_id, "third", ttl_s=1e-6)
        taken = store.lease(campaign_id, "fourth")
        with pytest.raises(StoreError, match="lost") as loss:
            store.renew(short)
        assert not loss.value.retryable
        store.release(short)  # harmless
        assert store.campaign(campaign_id).lease == taken

    # ------------------------------------------------------------------ journal and truth

    def test_the_journal_comes_back(self, store: Store) -> None:
        campaign_id, _ = begin(store)
        other, _ = begin(store)
        journal = store.journal(campaign_id)
        assert isinstance(journal, Journal)
        moment = datetime(2026, 1, 1, tzinfo=UTC)
        events = tuple(
            JournalEvent(n, "operation_finished", "e-0", 3600.5 * n, {"counts": [1.5, n]}, moment)
            for n in range(3)
        )
        for event in (*events, events[1]):  # the same event again changes nothing
            journal.append(event)
        assert tuple(store.journal(campaign_id).events()) == events
        assert tuple(store.journal(other).events()) == ()
        with pytest.raises(StoreError, match="event 1 is already"):
            journal.append(JournalEvent(1, "outcome", "e-0", 0.0, {}))

    def test_truth_is_kept_apart(self, store: Store, tmp_path: Path) -> None:
        campaign_id, episode_id = begin(store)
        given = Outcome(experiment_id="e-0", status="ok")
        store.record_experiment(campaign_id, episode_id, 0, PROPOSAL, given, SCORE)
        store.record_truth("e-0", {"batio3": 0.8125, "ba2tio4": 0.1875}, campaign_id=campaign_id)
        assert store.truth(campaign_id) == {"e-0": {"batio3": 0.8125, "ba2tio4": 0.1875}}
        for format in ("csv", "jsonl"):
            path = store.export(campaign_id, tmp_path / f"out.{format}", format)
            assert "8125" not in path.read_text(encoding="utf-8")
        with pytest.raises(StoreError, match="between 0 and 1"):
            store.record_truth("e-0", {"batio3": float("nan")})

    # ------------------------------------------------------------------ exports

    def test_json_lines_hold_everything(self, store: Store, tmp_path: Path) -> None:
        campaign_id, episode_id = begin(store)
        given = outcome("e-0")
        store.record_experiment(campaign_id, episode_id, 0, PROPOSAL, given, SCORE)
        path = store.export(campaign_id, tmp_path / "new" / "out.jsonl", "jsonl")
        (line,) = path.read_text(encoding="utf-8").splitlines()
        content = json.loads(line)
        assert Outcome.model_validate(content["outcome"]) == given
        assert Proposal.model_validate(content["proposal"]) == PROPOSAL
        assert Score.model_validate(content["score"]) == SCORE

    def test_csv_has_one_row_an_experiment_with_units_in_its_names(
        self, store: Store, tmp_path: Path
    ) -> None:
        campaign_id, episode_id = begin(store)
        store.record_experiment(campaign_id, episode_id, 0, PROPOSAL, outcome("e-0"), SCORE)
        store.record_submission(campaign_id, episode_id, 1, OTHER_PROPOSAL, experiment_id="e-1")
        path = store.export(campaign_id, tmp_path / "out.csv", "csv")
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["experiment_id"] for row in rows] == ["e-0", "e-1"]
        assert float(rows[0]["operation_3.segment_1.target_k"]) == 1373.15
        assert rows[0]["weight_fraction.batio3"] == "0.875"
        assert (rows[1]["status"], rows[1]["score"]) == ("pending", "")
        assert not path.read_bytes().startswith(b"\xef\xbb\xbf")
        assert [item.name for item in tmp_path.glob(".*")] == []

    # ------------------------------------------------------------------ threads and processes

    def test_threads_share_a_store(self, store: Store) -> None:
        campaign_id, episode_id = begin(store)
        faults: list[BaseException] = []

        def write(first: int) -> None:
            try:
                for index in range(first, first + 5):
                    given = Outcome(experiment_id=f"e-{index}", status="ok")
                    store.record_experiment(campaign_id, episode_id, index, PROPOSAL, given, SCORE)
            except BaseException as fault:  # noqa: BLE001 - shown below
                faults.append(fault)

        threads = [threading.Thread(target=write, args=(5 * n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert faults == []
        records = store.experiments(campaign_id, order="completion")
        assert {record.index for record in records} == set(range(30))
        assert [record.completion for record in records] == list(range(30))

    def test_a_store_pickles_by_its_address(self, store: Store) -> None:
        campaign_id, _ = begin(store)
        with pickle.loads(pickle.dumps(store)) as copy:
            assert copy.campaign(campaign_id) == store.campaign(campaign_id)

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
    @pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
    def test_a_store_survives_a_fork(self, store: Store) -> None:
        campaign_id, episode_id = begin(store)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                store.record_submission(campaign_id, episode_id, 0, PROPOSAL, experiment_id="a")
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        store.record_submission(campaign_id, episode_id, 1, PROPOSAL, experiment_id="b")
        assert [r.experiment_id for r in store.experiments(campaign_id)] == ["a", "b"]

    def test_closing_twice_is_safe_and_reopening_finds_everything(
        self, store: Store, store_url: str
    ) -> None:
        campaign_id, _ = begin(store)
        store.close()
        store.close()
        with Store.open(store_url, create=False) as again:
            assert again.campaigns() == store.campaigns()
            assert again.campaign("latest").campaign_id == campaign_id
