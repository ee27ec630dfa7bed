import numpy as np
import pytest

from labenv.tasks import make_task
from labenv_schemas import Proposal
from labenv_schemas.errors import ProposalError
from labenv_schemas.proposal import Heat, Mix, Press, Regrind


@pytest.fixture(scope="module")
def space():
    return make_task("batio3-synthesis").space


def test_every_point_decodes_and_encodes_back(space):
    units = space.snap(np.random.default_rng(0).random((60, space.n)))
    assert np.allclose(space.snap(units), units, atol=1e-12)
    for unit in units:
        proposal = space.decode_unit(unit)
        assert np.array_equal(space.encode(proposal), space.values_from_unit(unit))
        assert np.allclose(space.encode_unit(Proposal.from_json(proposal.to_json())), unit)


def test_corners_decode(space):
    for unit in (np.zeros(space.n), np.ones(space.n)):
        assert np.allclose(space.snap(space.encode_unit(space.decode_unit(unit))), space.snap(unit))


def test_levels_and_units_agree(space):
    generator = np.random.default_rng(1)
    levels = generator.integers(0, space.nvec, size=(20, space.n))
    values = space.values_from_levels(levels)
    assert np.allclose(space.values_from_unit(space.unit_from_values(values)), values)


@pytest.mark.parametrize("bad", [-1, 10_000])
def test_level_that_does_not_exist_is_refused(space, bad):
    levels = np.zeros(space.n, dtype=int)
    levels[3] = bad
    with pytest.raises(ProposalError, match=r"level \S+ of milling_s lies outside 0 to 7"):
        space.values_from_levels(levels)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_action_that_is_not_finite_is_refused(space, bad):
    unit = np.full(space.n, 0.5)
    unit[0] = bad
    with pytest.raises(ProposalError, match="finite"):
        space.values_from_unit(unit)


def test_wrong_number_of_parameters_names_them(space):
    with pytest.raises(ProposalError, match="firing_k"):
        space.values_from_unit(np.zeros(3))


def test_refirings_repeat_regrinding_pressing_and_firing(space):
    unit = space.encode_unit(space.decode_unit(np.full(space.n, 0.5)))
    unit[space.names.index("refirings")] = 0.99
    unit[space.names.index("pressing_pa")] = 0.99
    kinds = [type(o) for o in space.decode_unit(unit).operations]
    assert kinds[1:-1] == [Mix, Press, Heat, Regrind, Press, Heat, Regrind, Press, Heat]


def test_plan_of_another_shape_is_refused(space):
    proposal = space.decode_unit(np.full(space.n, 0.5))
    other = Proposal(operations=(proposal.operations[0], *proposal.operations[2:]))
    with pytest.raises(ProposalError, match="no place in the task's space"):
        space.encode(other)


def test_plan_outside_the_bounds_is_refused(space):
    proposal = space.decode_unit(np.full(space.n, 0.5))
    data = proposal.model_dump()
    data["operations"][1]["duration_s"] = 10.0
    data["operations"][1].pop("duration", None)
    with pytest.raises(ProposalError):
        space.encode(Proposal.model_validate(data))


def test_features_have_one_column_a_choice(space):
    features = space.features(np.random.default_rng(2).random((50, space.n)))
    choices = [p.levels for p in space.parameters if hasattr(p, "choices")]
    assert features.shape == (50, space.n - len(choices) + sum(choices))
    assert features.min() >= 0.0
    assert features.max() <= 1.0
    assert np.allclose(features[:, : choices[0]].sum(axis=1), 1.0)


def test_describe_gives_units(space):
    records = {record["name"]: record for record in space.describe()}
    assert records["firing_k"]["unit"] == "K"
    assert "air" in records["atmosphere"]["choices"]
