"""The runner: everything is written down, and a crash at any write changes nothing in the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from labenv.campaigns import CampaignRunner, comparisons, parse_campaign, summarise
from labenv.errors import ConfigError, PolicyError, StoreError
from labenv.policies import Policy
from labenv.store import Store, StoreJournal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from labenv.campaigns import Progress
    from labenv_schemas import CampaignConfig, Outcome, Proposal, Score


class Crash(BaseException):
    """Stands for a power cut: nothing may catch it."""


class CrashingStore:
    """A store whose n-th write kills the process, just before or just after it is done."""

    def __init__(self, store: Store, crash_at: int, *, after: bool) -> None:
        self.store = store
        self.writes = 0
        self._crash_at = crash_at
        self._after = after

    def count(self, write: Any, *args: Any, **options: Any) -> Any:
        self.writes += 1
        crash = self.writes == self._crash_at
        if crash and not self._after:
            raise Crash
        answer = write(*args, **options)
        if crash:
            raise Crash
        return answer

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.store, name)
        if name in {"record_submission", "record_experiment", "begin_episode", "finish_campaign"}:
            return lambda *args, **options: self.count(value, *args, **options)
        return value

    def journal(self, campaign_id: str) -> Any:
        return CrashingJournal(self, self.store.journal(campaign_id))


class CrashingJournal:
    def __init__(self, store: CrashingStore, journal: StoreJournal) -> None:
        self._store = store
        self._journal = journal

    def append(self, event: Any) -> None:
        self._store.count(self._journal.append, event)

    def events(self) -> Any:
        return self._journal.events()


def content(store: Store, campaign: str) -> list[Any]:
    """Return what a campaign came to, without names and wall-clock times."""
    found: list[Any] = []
    for record in store.experiments(campaign, order="completion", with_measurements=True):
        assert record.outcome is not None
        outcome = record.outcome.model_dump(
            mode="json", exclude={"experiment_id", "sample", "recorded_at"}
        )
        for measurement in outcome["measurements"]:
            del measurement["measured_at"], measurement["sample_id"]
        found.append((record.index, record.proposal, outcome, record.score))
    return found


def test_a_campaign_is_written_down_whole(store: Store, small_campaign: CampaignConfig) -> None:
    told: list[Progress] = []
    campaign_id = CampaignRunner.begin(store, small_campaign, on_progress=told.append).run()
    record = store.campaign(campaign_id)
    assert (record.status, record.experiments, record.pending) == ("finished", 5, 0)
    assert record.lease is None
    assert record.lab_hash
    assert record.task_hash
    assert record.versions["labenv"]
    experiments = store.experiments(campaign_id)
    assert [item.index for item in experiments] == list(range(5))
    assert [item.experiment_id for item in experiments][:2] == ["c00001-0000", "c00001-0001"]
    assert next(step.kind for step in told) == "begun"
    assert [step.kind for step in told][-1] == "finished"
    assert sum(step.kind == "result" for step in told) == 5
    assert max(step.submitted - step.finished for step in told) == 2
    last = told[-1]
    assert last.best_value == record.best_value
    assert set(store.truth(campaign_id)) <= {item.experiment_id for item in experiments}


@pytest.mark.parametrize("task", ["batio3-synthesis", "synthesis:LiCoO2"])
def test_a_stated_goal_ends_the_campaign_of_any_task(store: Store, task: str) -> None:
    system = "Ba-Ti-C-O" if task.startswith("batio3") else "Co-Li-C-O"
    config = parse_campaign(
        f"name: x\ntask: {task}\ngoal: 0.02\nparallelism: 1\npolicy: {{name: sobol}}\n"
        f"budget: {{experiments: 30}}\nlab: {{system: {system}}}\n"
    )
    told: list[Progress] = []
    campaign_id = CampaignRunner.begin(store, config, on_progress=told.append).run()
    experiments = store.experiments(campaign_id)
    assert len(experiments) < 30
    successes = [item.score is not None and item.score.success for item in experiments]
    assert successes == [False] * (len(experiments) - 1) + [True]
    assert told[-1].message == "the goal is reached"
    assert store.campaign(campaign_id).status_reason == "the goal is reached"
    summary = summarise(store, campaign_id)
    assert summary.goal_fraction == 0.02
    assert summary.provenance["ended because"] == "the goal is reached"


def test_what_is_in_flight_at_the_goal_is_carried_out(store: Store) -> None:
    text = "name: x\ngoal: 0.02\nparallelism: 3\npolicy: {name: sobol}\nbudget: {experiments: 30}\n"
    campaign_id = CampaignRunner.begin(store, parse_campaign(text)).run()
    record = store.campaign(campaign_id)
    assert (record.status, record.pending) == ("finished", 0)
    assert 3 <= record.experiments < 30


def test_without_a_stated_goal_the_budget_ends_the_campaign(store: Store) -> None:
    text = "name: x\ngoal: 0.02\nstop_on_success: false\npolicy: {name: sobol}\n"
    text += "budget: {experiments: 6}\n"
    campaign_id = CampaignRunner.begin(store, parse_campaign(text)).run()
    assert store.campaign(campaign_id).experiments == 6
    assert store.campaign(campaign_id).status_reason == "the budget is used up"


def test_two_experiments_are_under_way_at_once(
    store: Store, small_campaign: CampaignConfig
) -> None:
    summary = summarise(store, CampaignRunner.begin(store, small_campaign).run())
    fired = [use for use in summary.uses if use.op == "heat"]
    assert any(
        one.started_s < other.finished_s and other.started_s < one.finished_s
        for one in fired
        for other in fired
        if one.index < other.index
    )


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_crash_at_any_write_changes_nothing_in_the_end(
    store: Store, small_campaign: CampaignConfig, tmp_path: Path, after: bool
) -> None:
    counting = CrashingStore(store, 0, after=after)
    plain = CampaignRunner.begin(counting, small_campaign).run()  # type: ignore[arg-type]
    expected = content(store, plain)
    assert counting.writes > 60
    for crash_at in range(1, counting.writes + 1, 7):
        with Store.open(tmp_path / f"{crash_at}.sqlite") as other:
            broken = CrashingStore(other, crash_at, after=after)
            runner = CampaignRunner.begin(broken, small_campaign)  # type: ignore[arg-type]
            with pytest.raises(Crash):
                runner.run()
            assert other.campaign("latest").status in {"interrupted", "finished"}
            CampaignRunner(other, "latest").run()
            assert content(other, "latest") == expected, crash_at


def test_a_campaign_survives_a_crash_of_its_resumption(
    store: Store, small_campaign: CampaignConfig, tmp_path: Path
) -> None:
    expected = content(store, CampaignRunner.begin(store, small_campaign).run())
    with Store.open(tmp_path / "other.sqlite") as other:
        broken = CrashingStore(other, 9, after=True)
        runner = CampaignRunner.begin(broken, small_campaign)  # type: ignore[arg-type]
        with pytest.raises(Crash):
            runner.run()
        for _ in range(30):
            broken = CrashingStore(other, 12, after=False)
            try:
                CampaignRunner(broken, "latest").run()  # type: ignore[arg-type]
                break
            except Crash:
                continue
        assert content(other, "latest") == expected


class Forgetful(Policy):
    """Proposes something else at every run of a campaign."""

    runs = 0

    def reset(self, task: Any, seed: int) -> None:
        Forgetful.runs += 1
        self._space = task.space
        self._n = 0

    def propose(self, pending: Sequence[Proposal] = ()) -> Proposal:
        import numpy as np

        self._n += 1
        point = np.random.default_rng([Forgetful.runs, self._n]).random(self._space.n)
        return self._space.decode_unit(point)

    def observe(self, proposal: Proposal, outcome: Outcome, score: Score) -> None:
        if score.value is None:
            raise ZeroDivisionError("no score")


def use_policy(monkeypatch: pytest.MonkeyPatch, policy: Policy) -> None:
    monkeypatch.setattr("labenv.campaigns.runner.policy_of", lambda config: policy)


def test_a_policy_that_does_not_repeat_itself_loses_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_policy(monkeypatch, Forgetful())
    config = parse_campaign("name: x\nbudget: {experiments: 4}")
    broken = CrashingStore(store, 30, after=True)
    with pytest.raises(Crash):
        CampaignRunner.begin(broken, config).run()  # type: ignore[arg-type]
    before = {item.index: item.proposal for item in store.experiments("latest")}
    told: list[Progress] = []
    CampaignRunner(store, "latest", on_progress=told.append).run()
    after = {item.index: item.proposal for item in store.experiments("latest")}
    assert len(after) == 4
    assert {index: after[index] for index in before} == before
    warnings = [step.message for step in told if step.kind == "warning"]
    assert any("did not repeat itself" in message for message in warnings)


def test_a_failing_policy_is_named_and_the_campaign_can_go_on(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_policy(monkeypatch, Forgetful())
    config = parse_campaign(
        "name: x\nlab: {machine_failure_rate: 1.0}\npolicy: {name: sobol}\nbudget: {experiments: 3}"
    )
    with pytest.raises(PolicyError, match=r"'sobol' failed to learn: ZeroDivisionError"):
        CampaignRunner.begin(store, config).run()
    assert store.campaign("latest").status == "interrupted"
    monkeypatch.undo()
    CampaignRunner(store, "latest").run()
    assert store.campaign("latest").status == "finished"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("policy: {name: clever}", ConfigError),
        ("policy: {name: sobol, options: {bogus: 1}}", ConfigError),
        ("task: gold-synthesis", ConfigError),
        ("lab: {system: Y-Ba-Cu-O}", ConfigError),
    ],
)
def test_a_wrong_campaign_leaves_no_trace(store: Store, text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        CampaignRunner.begin(store, parse_campaign(f"name: x\n{text}"))
    assert store.campaigns() == []


def test_a_campaign_that_another_leads_is_refused(
    store: Store, small_campaign: CampaignConfig
) -> None:
    runner = CampaignRunner.begin(store, small_campaign)
    lease = store.lease(runner.campaign_id, "somebody else")
    with pytest.raises(StoreError, match="somebody else"):
        runner.run()
    store.release(lease)
    runner.run()


def test_a_lost_lease_stops_the_campaign(
    store: Store, small_campaign: CampaignConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(lease: object) -> None:
        raise StoreError("taken by another")

    monkeypatch.setattr(store, "renew", lost)
    with pytest.raises(StoreError, match="taken over by another process"):
        CampaignRunner.begin(
            store, small_campaign.model_copy(update={"budget": None}), lease_ttl_s=0.003
        ).run()


def test_changes_since_the_beginning_are_told(
    store: Store, small_campaign: CampaignConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = CrashingStore(store, 40, after=True)
    with pytest.raises(Crash):
        CampaignRunner.begin(broken, small_campaign).run()  # type: ignore[arg-type]
    monkeypatch.setattr("labenv.campaigns.provenance.versions", lambda: {"labenv": "9"})
    told: list[Progress] = []
    CampaignRunner(store, "latest", on_progress=told.append).run()
    warnings = [step.message for step in told if step.kind == "warning"]
    assert len(warnings) == 1
    assert "9 now" in warnings[0]


def test_recipes_are_replayed_in_order_and_compared(store: Store) -> None:
    recipe = """
  - name: {name}
    citation: A. Author, J. Sources 1 (2000) 1
    published: {{phases: {{BaTiO3: 1.0}}, statement: single phase}}
    proposal:
      operations:
        - op: dose
          precursors:
            - {{substance: BaCO3, amount: 10 mmol}}
            - {{substance: anatase, amount: 10 mmol}}
        - {{op: mix, duration: 12 h}}
        - {{op: heat, segments: [{{target: {target}, hold: 6 h}}]}}
        - {{op: measure}}"""
    text = "name: recipes\nlab: {randomise: false}\nrecipes:"
    text += recipe.format(name="hot", target="1200 degC")
    text += recipe.format(name="cold", target="500 degC")
    campaign_id = CampaignRunner.begin(store, parse_campaign(text)).run()
    hot, cold = comparisons(store, campaign_id)
    assert (hot.name, hot.agrees) == ("hot", True)
    assert (cold.name, cold.agrees) == ("cold", False)
    assert cold.differences["BaTiO3"] < -0.9
    summary = summarise(store, campaign_id)
    assert [row.recipe for row in summary.rows] == ["hot", "cold"]
    assert summary.policy == "recipes"
