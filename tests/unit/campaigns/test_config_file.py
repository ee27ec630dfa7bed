"""The campaign file: what is read, and what is said about what cannot be."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from labenv.campaigns import load_campaign, parse_campaign, with_overrides
from labenv.campaigns.setup import check_campaign
from labenv.errors import ConfigError
from labenv_schemas import CampaignConfig, LabConfig

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

RECIPES = """\
name: recipes
recipes:
  - name: one
    citation: A. Author, J. Sources 1 (2000) 1
    published: {phases: {BaTiO3: null}, statement: it formed}
    proposal:
      operations:
        - op: dose
          precursors: [{substance: BaCO3, mass: 2.5 g}]
        - {op: mix, duration: 1 h}
"""


def refused(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_campaign(text, "c.yaml")
    return str(caught.value)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_every_example_is_a_campaign(path: Path) -> None:
    assert load_campaign(path).name


def test_defaults_are_filled_in() -> None:
    config = parse_campaign("name: x")
    assert (config.task, config.policy.name, config.seed) == ("batio3-synthesis", "bayesian", 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "name: x\npolicy:\n  nam: b\n",
            "c.yaml:3: policy: unknown field 'nam'; did you mean 'name'?",
        ),
        (
            "name: x\n\nlab:\n  furnacs: 3\n",
            "c.yaml:4: lab: unknown field 'furnacs'; did you mean 'furnaces'?",
        ),
        (
            "name: x\nbogus: 1\n",
            "c.yaml:2: unknown field 'bogus'; the fields are name, description, ",
        ),
        ("name: x\nseed: .nan\n", "c.yaml:2: seed: must be a finite number"),
        ("name: x\nseed: -1\n", "c.yaml:2: seed: -1 must be at least 0"),
        (
            "name: x\nbudget: {experiments: -3}\n",
            "c.yaml:2: budget.experiments: -3 must be at least 1",
        ),
        (
            "name: x\npolicy: sobol\n",
            "c.yaml:2: policy: 'sobol' is not an object with named fields; ",
        ),
        (
            "name: x\nseed: -1\ntask: batio3-synthesi\n",
            "c.yaml:3: task: no task is called 'batio3-synthesi'; did you mean 'batio3-synthesis'?",
        ),
        (
            "name: x\npolicy: {name: baysian}\n",
            "c.yaml:2: policy.name: no policy is called 'baysian'; did you mean 'bayesian'?",
        ),
        ("name: x\nrecipes: []\n", "c.yaml:2: recipes: the list is empty; leave the key out"),
        (RECIPES + "policy: {name: random}\n", "recipes are replayed without a policy"),
        ("name: x\npolicy: sobol\n", "write {name: sobol}"),
        (
            "name: x\nbudget: 5\n",
            "c.yaml:2: budget: 5 is not an object with named fields; its fiel",
        ),
        ("name: 3\n", "c.yaml:1: name: 3 is not text; if it is meant as text, put it in quotes"),
        ("name: x\nseed: a\n", "c.yaml:2: seed: 'a' is not a whole number"),
        (
            "name: x\nlab: {randomise: perhaps}\n",
            "lab.randomise: 'perhaps' is neither true nor false",
        ),
        ("name: x\nbudget:\n  lab_time: 7\n", "c.yaml:3: budget.lab_time: 7 has no unit"),
        ("name: x\nname: y\n", "c.yaml:2: the key 'name' stands twice"),
        ("seed: 1\n", "c.yaml:1: name: is missing"),
        ("a: [1\n", "c.yaml:2: not YAML: expected ',' or ']'"),
        ("name: x\n\tseed: 1\n", "indented with spaces, not tabs"),
        ("", "c.yaml: the file is empty"),
        ("- 1\n", "c.yaml: the file is a list"),
        ("name: x\n---\nname: y\n", "c.yaml:2: not YAML: but found another document"),
        ("a: &a [*a]\n", "c.yaml:1: the value contains itself"),
        ("? [1, 2]\n: x\n", "c.yaml:1: a key must be plain text"),
        ("name: !!python/object:os.system x\n", "could not determine a constructor"),
    ],
)
def test_faults_are_named_by_line(text: str, message: str) -> None:
    assert message in refused(text)


def test_faults_inside_an_operation_name_the_keys_of_that_operation() -> None:
    text = RECIPES.replace("{op: mix, duration: 1 h}", "{op: mix, durashun: 1 h}")
    message = refused(text)
    assert "c.yaml:10: recipes[0].proposal.operations[1]: unknown field 'durashun'" in message
    assert "the fields are op, method, duration" in message


def test_a_list_is_not_called_too_short_for_its_refused_items() -> None:
    message = refused(RECIPES.replace("mass: 2.5 g", "mass: 2.5"))
    assert "c.yaml:9: recipes[0].proposal.operations[0].precursors[0].mass: 2.5 has no" in message
    assert "at least 1 item" not in message


def test_an_unknown_operation_lists_the_known_ones() -> None:
    message = refused(RECIPES.replace("op: mix", "op: bake"))
    assert "c.yaml:10: recipes[0].proposal.operations[1]:" in message
    assert "'bake' is not one of dose, mix, press, heat," in message


def test_replayed_recipes_meet_the_nominal_lab_unless_the_file_says_otherwise() -> None:
    assert parse_campaign(RECIPES).lab.randomise is False
    assert parse_campaign(RECIPES + "lab: {furnaces: 3}\n").lab.randomise is False
    assert parse_campaign(RECIPES + "lab: {randomise: true}\n").lab.randomise is True
    assert parse_campaign("name: x").lab.randomise is True
    recipes = parse_campaign(RECIPES).recipes
    assert CampaignConfig(name="x", recipes=recipes, lab=LabConfig(furnaces=3)).lab.furnaces == 3
    assert not CampaignConfig(name="x", recipes=recipes, lab=LabConfig(furnaces=3)).lab.randomise
    assert CampaignConfig(name="x", recipes=recipes, lab=LabConfig(randomise=True)).lab.randomise
    config = CampaignConfig(name="x", recipes=recipes, lab=LabConfig(randomise=True))
    assert CampaignConfig.from_json(config.to_json()) == config


def test_a_misspelt_published_phase_is_named_by_line_with_the_known_ones() -> None:
    message = refused(RECIPES.replace("{BaTiO3: null}", "{BaTi03: 1.0, Ba2TiO4: null}"))
    assert message.startswith("c.yaml:5: recipes[0].published.phases.BaTi03: no phase of the task")
    assert "did you mean 'BaTiO3'? (known: " in message
    assert "BaTiO3-tetragonal" in message
    assert "Ba2TiO4:" not in message
    config = parse_campaign(RECIPES)
    data = config.model_dump(mode="json")
    data["recipes"][0]["published"]["phases"] = {"BaTi03": 1.0}
    with pytest.raises(
        ConfigError, match=r"recipes\[0\].published.phases.BaTi03: no phase of the task"
    ):
        check_campaign(CampaignConfig.model_validate(data))


def test_a_repeated_recipe_is_named_by_its_line_and_that_of_the_first() -> None:
    first, second = RECIPES, RECIPES.partition("recipes:\n")[2].partition("- name")[2]
    assert refused(first + "  - name" + second) == (
        "c.yaml:11: recipes[1].name: recipe names must differ; 'one' is that of recipes[0], line 3"
    )


def test_what_is_too_short_says_what_to_write() -> None:
    message = refused(RECIPES.replace("A. Author, J. Sources 1 (2000) 1", "ibid"))
    assert message == (
        "c.yaml:4: recipes[0].citation: 'ibid' is too short; write at least 8 characters; it is "
        "for: Authors, journal, year, DOI."
    )
    text = RECIPES[: RECIPES.index("      operations")] + "      operations: []\n"
    assert (
        refused(text)
        == "c.yaml:7: recipes[0].proposal.operations: must have at least 1 item; there are 0"
    )


def test_an_alias_bomb_is_refused_soon() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert "unfolds to too many values" in refused("\n".join(lines))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a\nseed: 2020-13-45\n", "c.yaml:2: '2020-13-45' reads as a date but is none"),
        ("name: a\nseed: !!int foo\n", "c.yaml:2: 'foo' reads as a whole number"),
        ("name: a\nseed: !!bool foo\n", "c.yaml:2: 'foo' reads as a yes or no"),
        (f"name: a\nseed: {'9' * 5000}\n", "c.yaml:2: '9999"),
        ("name: a\nseed: \x07\n", "c.yaml:2: the file has the control character U+0007"),
        (f"name: {'[' * 900}{']' * 900}", "c.yaml: blocks, lists or brackets are nested too deep"),
        (f"name: {'[' * 20_000}", "c.yaml: blocks, lists or brackets are nested too deep"),
    ],
    ids=["date", "int", "bool", "digits", "control", "nested", "unclosed"],
)
def test_what_yaml_itself_cannot_read_is_named_by_line(text: str, message: str) -> None:
    told = refused(text)
    assert told.startswith(message)
    assert len(told) < 200


def test_merge_keys_and_exponents_are_understood() -> None:
    config = parse_campaign(
        "name: x\nlab: &lab {furnaces: 3, machine_failure_rate: 1e-3}\npolicy: {options: {<<: "
        "*lab, furnaces: 4}}\n"
    )
    assert config.lab.machine_failure_rate == 1e-3
    assert config.policy.options == {"furnaces": 4, "machine_failure_rate": 1e-3}


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        ("utf-8", b""),
        ("utf-8", codecs.BOM_UTF8),
        ("utf-16-le", codecs.BOM_UTF16_LE),
        ("utf-16-be", codecs.BOM_UTF16_BE),
        ("utf-32-le", codecs.BOM_UTF32_LE),
    ],
)
def test_marked_encodings_are_read(tmp_path: Path, encoding: str, mark: bytes) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(mark + "name: Bärium\r\nseed: 3\r\n".encode(encoding))
    assert load_campaign(path).name == "Bärium"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name: x\n".encode("utf-16-le"), "UTF-16 without a byte order mark"),
        ("a: 1\nname: Bärium\n".encode("latin-1"), "c.yaml:2: the campaign file is not UTF-8"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "is not UTF-8"),
    ],
)
def test_other_encodings_are_refused_with_advice(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="save it as UTF-8") as caught:
        load_campaign(path)
    assert message in str(caught.value)


def test_missing_files_and_folders_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "batio3.yaml").write_text("name: x")
    with pytest.raises(
        ConfigError, match=r"there is no campaign file .*the folder has batio3\.yaml"
    ):
        load_campaign(tmp_path / "batio.yaml")
    with pytest.raises(ConfigError, match="is a folder"):
        load_campaign(tmp_path)
    with pytest.raises(ConfigError, match="there is no folder"):
        load_campaign(tmp_path / "no" / "x.yaml")


def test_overrides_replace_policy_budget_and_seed() -> None:
    config = parse_campaign(
        "name: x\npolicy: {name: bayesian, options: {a: 1}}\nbudget: {cost: 50}"
    )
    changed = with_overrides(config, policy="sobol", experiments=7, seed=9)
    assert changed.policy.name == "sobol"
    assert changed.policy.options == {}
    assert changed.budget is not None
    assert (changed.budget.experiments, changed.budget.cost, changed.seed) == (7, 50, 9)
    assert with_overrides(config) == config
    assert with_overrides(config, policy="bayesian") == config


def test_a_goal_ends_a_campaign_unless_it_replays_recipes_or_the_file_says_otherwise() -> None:
    assert not parse_campaign("name: x").stops_on_success
    assert parse_campaign("name: x\nstop_on_success: true").stops_on_success
    assert parse_campaign("name: x\ngoal: 0.9").stops_on_success
    assert not parse_campaign("name: x\ngoal: 0.9\nstop_on_success: false").stops_on_success
    assert not parse_campaign(RECIPES + "goal: 0.9\n").stops_on_success
    assert with_overrides(parse_campaign("name: x"), goal=0.5).stops_on_success
    assert check_campaign(parse_campaign("name: x\ngoal: 0.9")).spec.goal_fraction == 0.9
    assert "c.yaml:2: goal: 1.5 must be at most 1" in refused("name: x\ngoal: 1.5\n")
    with pytest.raises(ConfigError, match="goal"):
        with_overrides(parse_campaign("name: x"), goal=-1.0)


def test_recipes_take_no_policy() -> None:
    config = parse_campaign(RECIPES)
    with pytest.raises(ConfigError, match="replays recipes"):
        with_overrides(config, policy="sobol")


def test_faults_come_in_the_order_of_lines() -> None:
    told = refused("name: 3\ntask: nothing\nbudget: 5\nlab: {furnaces: 0}\nseed: -1\n")
    assert [line.split(":")[1] for line in told.splitlines()] == ["1", "2", "3", "4", "5"]


def test_a_budget_of_time_alone_has_no_hidden_limit_of_experiments() -> None:
    budget = parse_campaign("name: x\nbudget: {lab_time: 400 d}\n").budget
    assert budget is not None
    assert budget.experiments is None


# ------------------------------------------------------------------ tasks with a target


@pytest.mark.parametrize(
    "text", ["task: {name: synthesis, target: LiCoO2}", "task: 'synthesis:LiCoO2'"]
)
def test_a_task_may_have_a_target(text: str) -> None:
    config = parse_campaign(f"name: x\n{text}\nlab: {{system: Co-Li-C-O}}\n")
    assert config.task == "synthesis:LiCoO2"
    assert CampaignConfig.model_validate(config.model_dump(mode="json")) == config
    assert check_campaign(config).spec.target == "LiCoO2"
    assert with_overrides(config, experiments=3).task == config.task


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("{name: synthesys, target: LiCoO2}", "no task is called 'synthesys'; did you mean"),
        ("{nam: synthesis}", "a task is a name, or 'name' and 'target'; it has no nam"),
        ("{target: LiCoO2}", "'name' is missing"),
        ("{name: synthesis, target: [Li]}", "are texts without a colon"),
    ],
)
def test_a_wrong_task_is_told_by_line(task: str, message: str) -> None:
    told = refused(f"name: x\ntask: {task}\n")
    assert "c.yaml:2" in told
    assert message in told


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("synthesis:MgB2", "outside the simulator's domain: only oxides"),
        ("synthesis:SrTiO3", "set lab.system to 'Sr-Ti-C-O'"),
    ],
)
def test_a_target_must_be_known_and_of_the_lab(task: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_campaign(parse_campaign(f"name: x\ntask: '{task}'\n"))
